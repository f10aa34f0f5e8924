import numpy as np
import pytest

from upwind.report.calibration import _pooled, reliability
from upwind.report.records import finished


def test_one_run_alone_has_the_error_of_its_record(comparison):
    result = finished(comparison)[0].results[0]
    count, confidence, right = _pooled([result], "test")
    error = float((count / count.sum() * np.abs(right - confidence)).sum())
    assert error == pytest.approx(result["calibration"]["test"]["error"])


def test_runs_are_pooled_by_their_predictions():
    def result(count, confidence, accuracy):
        curve = {"count": count, "confidence": confidence, "accuracy": accuracy}
        return {"calibration": {"test": curve}}

    one = result([0, 1], [0.0, 0.8], [0.0, 1.0])
    two = result([0, 3], [0.0, 0.6], [0.0, 0.0])
    count, confidence, right = _pooled([one, two], "test")
    assert count.tolist() == [4]
    assert confidence == pytest.approx([0.65])
    assert right == pytest.approx([0.25])


def test_a_dot_for_each_bin_that_has_predictions(comparison):
    method = finished(comparison)[1]
    bins = len(_pooled(method.results, "test")[0])
    chart = reliability(method, {"test": "OOD test"}).chart
    assert chart.count("<circle") == bins > 1
