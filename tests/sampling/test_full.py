import pytest
import torch

from upwind import sampling


def test_the_step_is_the_graph_and_its_loss_the_mean_over_training_nodes(small):
    (batch,) = sampling.Full(small, seed=0).epoch()
    assert batch.is_whole
    assert torch.equal(batch.edge_index, small.edge_index)
    assert torch.isclose(batch.node_norm[batch.mask].sum(), torch.tensor(1.0))


def test_what_is_derived_from_it_is_kept(small):
    sampler = sampling.Full(small, seed=0)
    (first,), (second,) = sampler.epoch(), sampler.epoch()
    assert first is second


def test_nodes_that_a_long_tail_removed_are_left_out(small):
    small.kept_nodes = torch.arange(60) < 50
    among = (small.edge_index < 50).all(0)
    small.edge_index = small.edge_index[:, among]
    small.train_mask[50:] = False
    batch = sampling.whole(small)
    assert batch.n_id.tolist() == list(range(50))
    assert (batch.n_id[batch.edge_index] == small.edge_index).all()
    assert float(batch.node_norm[batch.mask].sum()) == pytest.approx(1)
