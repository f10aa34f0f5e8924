import pytest

from upwind.report.verdict import under_shift, verdict
from upwind.runs import Row
from upwind.runs.statistics import Difference, describe

TEST = "the OOD test nodes"


def row(method, mean=None, p=None, pairs=5, **changed):
    difference = None if mean is None else Difference(pairs, mean, p)
    plain = {"test": describe([0.5, 0.6]), "id_test": None, "ece": describe([0.1])}
    return Row(
        method=method,
        difference=difference,
        seconds=1.0,
        balanced=None,
        macro_f1=None,
        **{**plain, **changed},
    )


@pytest.mark.parametrize(
    ("mean", "p", "claim"),
    [
        (0.02, 0.01, "tar is better than erm on the OOD test nodes: +2.0 points (p = 0.010"),
        (-0.02, 0.01, "tar is worse than erm on the OOD test nodes: −2.0 points (p = 0.010"),
        (0.02, 0.3, "tar is not shown to differ from erm on the OOD test nodes: +2.0 points"),
    ],
)
def test_one_method_against_the_baseline(mean, p, claim):
    (sentence,) = verdict([row("erm"), row("tar", mean, p)], "erm", TEST)
    assert sentence.startswith(claim)
    assert "5 paired seeds" in sentence


def test_more_comparisons_ask_for_a_smaller_p():
    rows = [row("erm"), row("tar", 0.02, 0.03)]
    assert "tar is better" in verdict(rows, "erm", TEST)[0]
    both = verdict([*rows, row("tar_n", 0.01, 0.5)], "erm", TEST)
    assert both[0] == f"tar and tar_n are not shown to differ from erm on {TEST}."
    assert both[1].startswith("tar +2.0 points (p = 0.030, 5 paired seeds); tar_n +1.0 points")


def test_what_is_better_comes_before_what_is_worse():
    rows = [row("erm"), row("a", -0.02, 0.001), row("b", 0.02, 0.0001)]
    first, second = verdict(rows, "erm", TEST)
    assert first.startswith("b is better")
    assert "p < 0.001" in first
    assert second.startswith("a is worse")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (row("tar", 0.02, None, pairs=1), "one pair says nothing about chance"),
        (row("tar", 0.0, None), "scores the same as erm"),
        (row("tar", 0.02, None), "by +2.0 points on every seed"),
        (row("tar"), "share no finished seed"),
        (row("tar", float("nan"), float("nan")), "a run has no score on the OOD test nodes"),
    ],
)
def test_what_cannot_be_tested_is_said(other, words):
    (sentence,) = verdict([row("erm"), other], "erm", TEST)
    assert words in sentence


def test_the_loss_under_shift_is_said_with_both_scores():
    shifted = row("erm", id_test=describe([0.9, 0.9]))
    said = under_shift(shifted, TEST, "the ID test nodes")
    assert said == (
        "erm loses 35.0 points from the ID test nodes (90.0 ± 0.0) to the OOD test nodes "
        "(55.0 ± 7.1)."
    )
    assert under_shift(row("erm"), TEST, "the ID test nodes") is None
