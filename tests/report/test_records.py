import dataclasses
import json

import numpy as np
import pytest

from upwind import InputError
from upwind.report import open_records
from upwind.report.records import band, finished, score, trace, unfinished
from upwind.runs import Run


def test_a_comparison_and_a_run_are_both_opened_by_their_path(comparison):
    assert open_records(comparison.path) == comparison
    run = comparison.members()[0]
    alone = open_records(run.folder)
    assert alone.runs == {"erm": [run.id]}
    assert alone.seeds == [1]
    assert alone.table()[0].test.mean == run.result["scores"]["test"]["accuracy"]


def test_methods_keep_their_place_when_the_baseline_has_no_run(copied):
    for id in copied.runs["erm"]:
        (copied.root / id / "done").unlink()
    found = finished(copied)
    assert [(method.slot, list(method.runs)) for method in found] == [(1, [1, 2]), (2, [1])]


def test_what_is_missing_is_named(copied):
    begun = copied.root / copied.runs["erm"][1]
    (begun / "done").unlink()
    assert unfinished(copied) == [
        f"erm: seed 2 (stopped after 12 epochs, {begun})",
        "tar_n: seed 2",
    ]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda _: None, "there is no comparison"),
        (lambda path: path.write_text("{"), "is damaged"),
        (lambda path: path.write_text('{"a": 1}'), "is no comparison"),
        (lambda path: path.mkdir(), "is no run"),
    ],
)
def test_what_is_no_record_is_said(tmp_path, make, sentence):
    make(tmp_path / "compare-1.json")
    with pytest.raises(InputError, match=sentence):
        open_records(tmp_path / "compare-1.json")


def test_without_a_finished_run_there_is_nothing_to_report(comparison, tmp_path):
    with pytest.raises(InputError, match="no run of this comparison is finished"):
        finished(dataclasses.replace(comparison, root=tmp_path))


def test_without_test_nodes_there_is_nothing_to_report(copied):
    path = copied.members()[0].folder / "result.json"
    result = json.loads(path.read_text())
    del result["scores"]["test"]
    path.write_text(json.dumps(result))
    with pytest.raises(InputError, match="no labelled test nodes"):
        finished(copied)


def test_a_damaged_trace_is_said(tmp_path):
    (tmp_path / "weights.npz").write_bytes(b"nonsense")
    with pytest.raises(InputError, match=r"weights.npz is damaged"):
        trace(Run(tmp_path))


def test_a_trace_that_holds_objects_is_refused(tmp_path):
    np.savez(tmp_path / "weights.npz", epochs=np.array([object()]), weights=np.ones((1, 1)))
    with pytest.raises(InputError, match="damaged"):
        trace(Run(tmp_path))


def test_a_band_is_mean_and_deviation_where_all_runs_have_a_number():
    runs = [[(0, 1.0), (1, 2.0), (2, 3.0)], [(0, 3.0), (1, float("nan")), (2, 3.0)]]
    found = band(runs)
    assert found.epochs.tolist() == [0, 2]
    assert found.mean.tolist() == [2, 3]
    assert found.deviation == pytest.approx([2**0.5, 0])
    assert band([[(0, None)]]) is None
    assert band([]) is None


def test_a_score_that_no_run_has_is_none():
    assert score([{"scores": {"test": {"roc_auc": float("nan")}}}], "test", "roc_auc") is None
    assert score([{"scores": {}}], "test", "accuracy") is None
    assert score([{"scores": {"test": {"accuracy": 0.5}}}], "test", "accuracy").mean == 0.5
