import base64
import dataclasses

import numpy as np
import pytest

from tests.report.conftest import QUICK
from upwind.report import picture as module
from upwind.report.picture import picture
from upwind.report.records import finished, trace
from upwind.runs.compare import fan_out, plan
from upwind.train import load_data, weights


@pytest.fixture
def drawing(comparison):
    return picture(comparison, finished(comparison), None)


def unpacked(text, kind):
    return np.frombuffer(base64.b64decode(text), kind)


def test_the_bytes_are_the_mean_weights_of_the_records(comparison, drawing):
    method = drawing["methods"][0]
    assert (method["name"], method["runs"]) == ("tar:tau=0.05", 2)
    runs = finished(comparison)[1].runs.values()
    expected = np.mean([trace(run)[1] for run in runs], axis=0)
    shown = unpacked(method["frames"], np.uint8).reshape(expected.shape)
    log = (shown - 127.0) / 127 * np.where(shown < 127, drawing["low"], drawing["high"])
    wanted = np.log2(expected)
    inside = (-drawing["low"] < wanted) & (wanted < drawing["high"])
    assert inside.mean() > 0.99
    half_a_step = 0.51 / 127 * max(drawing["low"], drawing["high"])
    assert np.all(np.abs(log - wanted)[inside] <= half_a_step)
    assert method["epochs"] == list(range(12))


def test_the_graph_is_the_data(comparison, drawing):
    data = load_data(comparison.asked)
    ends = unpacked(drawing["ends"], "<u2").reshape(-1, 2).T
    both = np.concatenate([ends, ends[::-1]], axis=1).astype(np.int64)
    assert {*map(tuple, both.T)} == {*map(tuple, data.edge_index.numpy().T)}
    assert np.array_equal(unpacked(drawing["class"], "<i2"), data.y.numpy())
    assert np.array_equal(unpacked(drawing["part"], "<u1") == 0, data.train_mask.numpy())
    degree = np.bincount(data.edge_index[0].numpy(), minlength=700)
    assert np.array_equal(unpacked(drawing["degree"], "<u4"), degree)
    assert drawing["nodes"] == drawing["of"] == 700


def test_of_very_many_edges_some_are_drawn(comparison, monkeypatch):
    monkeypatch.setattr(module, "_MOST_EDGES", 50)
    drawing = picture(comparison, finished(comparison), None)
    assert drawing["drawn_edges"] == 50 < drawing["edges"]
    assert len(unpacked(drawing["ends"], "<u2")) == 100


def test_a_trace_of_some_nodes_is_drawn_on_the_graph_among_them(comparison, monkeypatch):
    nodes = np.array([5, 7, 300, 301, 302])

    def some(run):
        found = trace(run)
        return found and (found[0], found[1][:, nodes], nodes)

    monkeypatch.setattr(module, "trace", some)
    drawing = picture(comparison, finished(comparison), None)
    assert (drawing["nodes"], drawing["of"]) == (5, 700)
    assert unpacked(drawing["ids"], "<u4").tolist() == nodes.tolist()
    data = load_data(comparison.asked)
    inside = np.isin(data.edge_index.numpy(), nodes).all(0).sum()
    assert drawing["edges"] == inside / 2


def test_a_graph_without_edges_is_drawn(comparison, monkeypatch):
    data = load_data(comparison.asked)
    monkeypatch.setattr(module, "facts", lambda _: finished(comparison)[0].runs[1].data)
    data.edge_index = data.edge_index[:, :0]
    drawing = picture(comparison, finished(comparison), data)
    assert (drawing["nodes"], drawing["edges"], drawing["ends"]) == (700, 0, "")


def test_methods_without_weights_leave_no_picture(comparison):
    assert "keep no trace" in picture(comparison, finished(comparison)[:1], None)


def test_data_that_is_gone_is_said(comparison):
    gone = dataclasses.replace(comparison, asked={"source": "gone.npz"})
    assert "gone.npz" in picture(gone, finished(comparison), None)


def test_data_that_has_changed_is_not_drawn(comparison):
    data = load_data(comparison.asked)
    data.x = data.x + 1
    assert "no longer what the runs were trained on" in picture(
        comparison, finished(comparison), data
    )


def test_the_trace_of_a_large_graph_is_drawn_as_a_sample(tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "_MOST_NODES", 100)
    monkeypatch.setattr(weights, "_SAMPLED", 60)
    data = load_data(QUICK)
    made = plan(QUICK, ["tar"], [1], tmp_path, data)
    assert fan_out(made) == []
    drawing = picture(made, finished(made), data)
    assert (drawing["nodes"], drawing["of"]) == (60, 700)
    assert drawing["edges"] >= 59
    assert len(unpacked(drawing["methods"][0]["frames"], np.uint8)) == 12 * 60
