import numpy as np
import pytest

from upwind.report import curves
from upwind.report.records import finished


@pytest.fixture
def methods(comparison):
    return finished(comparison)


def test_learning_curves_are_the_mean_over_seeds(methods):
    panels = curves.learning_curves(methods, {"test": "OOD test"}, "accuracy", "accuracy")
    shown = panels[0].series[0]
    runs = [[e["scores"]["test"]["accuracy"] for e in run] for run in methods[0].epochs]
    assert shown["mean"] == pytest.approx(100 * np.mean(runs, 0), abs=0.06)
    assert shown["deviation"] == pytest.approx(100 * np.std(runs, 0, ddof=1), abs=0.06)
    assert panels[0].title == "OOD test"


def test_a_band_is_drawn_only_where_there_is_a_spread(methods):
    panels = curves.learning_curves(methods, {"test": "OOD test"}, "accuracy", "accuracy")
    assert panels[0].chart.count('class="band') == 2  # tar_n has one run


def test_all_parts_but_training_share_a_scale(methods):
    parts = {"test": "OOD test", "id_test": "ID test", "train": "training"}
    test, id_test, train = curves.learning_curves(methods, parts, "accuracy", "accuracy")
    assert test.frame.y == id_test.frame.y != train.frame.y


def test_shares_by_degree_are_those_of_the_records(methods):
    panel, groups = curves.shares(methods[1], "degree", curves.degree_name)
    last = [run[-1]["weights"]["share"]["degree"] for run in methods[1].epochs]
    assert [group.name for group in groups] == [
        curves.degree_name(int(k)) for k in sorted(last[0], key=int)
    ]
    for group, key in zip(groups, sorted(last[0], key=int), strict=True):
        assert group.nodes == last[0][key][1]
        assert group.weight == pytest.approx(np.mean([share[key][0] for share in last]))
    ends = [series["mean"][-1] for series in panel.series]
    ratios = [
        np.mean([share[k][0] / share[k][1] for share in last]) for k in sorted(last[0], key=int)
    ]
    assert ends == pytest.approx(ratios, abs=6e-4)


def test_of_many_groups_the_farthest_are_shown(methods):
    method = methods[1]
    for run in method.epochs:
        for record in run:
            share = {str(k): [0.1, 0.1] for k in range(20)}
            share["13"], share["17"] = [0.3, 0.1], [0.05, 0.1]
            record["weights"]["share"]["class"] = share
    _, groups = curves.shares(method, "class", str)
    assert len(groups) == 7
    assert {"13", "17"} <= {group.name for group in groups}


@pytest.mark.parametrize(("bin", "name"), [(0, "0"), (1, "1"), (2, "2–3"), (7, "64–127")])
def test_degree_bins_are_those_of_the_log(bin, name):
    assert curves.degree_name(bin) == name
