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
