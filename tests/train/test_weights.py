import pytest
import torch

from upwind.train import weights
from upwind.train.weights import WeightLog


def test_equal_weights_are_fully_effective_and_share_as_the_nodes_do(small):
    found = WeightLog(small, 10).record(0, torch.ones(60))
    assert found["effective_share"] == pytest.approx(1)
    for groups in found["share"].values():
        assert all(abs(weight - nodes) < 1e-12 for weight, nodes in groups.values())
        assert abs(sum(nodes for _, nodes in groups.values()) - 1) < 1e-12


def test_weight_on_one_class_is_seen_there(small):
    weights = (small.y == 1).double()
    found = WeightLog(small, 10).record(0, weights)
    assert found["share"]["class"]["1"][0] == pytest.approx(1)
    assert found["share"]["class"]["0"][0] == 0
    assert abs(found["effective_share"] - found["share"]["class"]["1"][1]) < 1e-12


def test_degrees_are_binned_by_powers_of_two(small):
    small.train_mask[:] = True
    found = WeightLog(small, 1).record(0, torch.ones(60))
    degree = small.edge_index[0].bincount(minlength=60)
    assert found["share"]["degree"]["0"][1] == pytest.approx(2 / 60)  # the isolated ones
    middle = ((degree >= 2) & (degree < 4)).double().mean()
    assert abs(found["share"]["degree"]["2"][1] - middle) < 1e-12


def test_the_trace_has_at_most_fifty_frames_from_first_to_last(small):
    log = WeightLog(small, 200)
    for epoch in range(200):
        log.record(epoch, torch.full((60,), epoch / 100))
    assert len(log.epochs) == len(log.trace) == 50
    assert (log.epochs[0], log.epochs[-1]) == (0, 199)
    assert log.trace[-1].dtype == torch.float16


def test_of_a_large_graph_neighbouring_nodes_are_traced(small, monkeypatch):
    monkeypatch.setattr(weights, "_MOST_NODES", 50)
    monkeypatch.setattr(weights, "_SAMPLED", 20)
    monkeypatch.setattr(weights, "_ROOTS", 2)
    log = WeightLog(small, 3)
    log.record(0, torch.arange(60.0) + 1)
    assert torch.equal(log.trace[0], (log.nodes + 1).half())
    assert len(set(log.nodes.tolist())) == 20
    inside = torch.isin(small.edge_index, log.nodes).all(0)
    assert inside.sum() >= 20  # of 20 nodes drawn at random it would be about 10 % of 196
    assert torch.equal(WeightLog(small, 9).nodes, log.nodes)


def test_where_edges_lead_nowhere_other_training_nodes_are_traced(small, monkeypatch):
    monkeypatch.setattr(weights, "_MOST_NODES", 50)
    monkeypatch.setattr(weights, "_ROOTS", 1)
    small.edge_index = torch.empty(2, 0, dtype=torch.long)
    nodes = WeightLog(small, 1).nodes
    assert torch.equal(nodes, small.train_mask.nonzero().flatten())
