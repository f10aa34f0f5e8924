import pytest
from scipy import stats

from upwind.runs.statistics import describe, difference

A = {110: 0.76, 207: 0.81, 304: 0.79, 401: 0.77}
B = {110: 0.75, 207: 0.77, 304: 0.80, 401: 0.71}


def test_mean_and_spread_are_scipys():
    found = describe(list(A.values()))
    assert found.mean == pytest.approx(stats.tmean(list(A.values())))
    assert found.deviation == pytest.approx(stats.tstd(list(A.values())))
    assert found.error == pytest.approx(stats.sem(list(A.values())))


def test_the_difference_is_scipys_paired_test():
    expected = stats.ttest_rel(list(A.values()), list(B.values()))
    found = difference(A, B)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.mean == pytest.approx(0.025)


def test_only_seeds_that_both_have_are_paired():
    assert difference(A, {110: 0.7, 999: 0.1}).pairs == 1
    assert difference(A, {999: 0.1}) is None


def test_a_single_run_has_no_spread_and_equal_differences_no_p():
    assert describe([0.5]).deviation is None
    assert difference(A, A).p_value is None
    assert difference({1: 0.5}, {1: 0.4}).p_value is None
