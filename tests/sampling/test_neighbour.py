import numpy as np
import pytest
import torch
from torch_geometric.loader import NodeLoader

from upwind import sampling
from upwind.sampling import _kernels
from upwind.sampling.neighbour import CompiledSampler


def test_every_training_node_is_a_seed_once_an_epoch(small):
    sampler = sampling.Neighbour(small, seed=0, batch_size=7, fanout=2, layers=2)
    seeds = torch.cat([batch.n_id[batch.seeds] for batch in sampler.epoch()])
    assert torch.equal(seeds.sort().values, small.train_mask.nonzero().flatten())


def test_the_loss_is_the_mean_over_the_seeds(small):
    for batch in sampling.Neighbour(small, seed=0, batch_size=7, fanout=2, layers=2).epoch():
        assert torch.isclose(batch.node_norm[batch.mask].sum(), torch.tensor(1.0))


@pytest.mark.parametrize("fanout", [1, 3, -1])
def test_a_layer_hears_from_that_many_distinct_in_neighbours(small, fanout):
    seeds = torch.tensor([4, 9, 59])
    sampler = CompiledSampler(small.edge_index, 60, (fanout,), seed=0)
    drawn = next(iter(NodeLoader(small, sampler, input_nodes=seeds, batch_size=3)))
    assert drawn.n_id[:3].tolist() == [4, 9, 59]
    for row, seed in enumerate(seeds):
        incoming = (small.edge_index[1] == seed).nonzero().flatten().tolist()
        edges = drawn.e_id[drawn.edge_index[1] == row].tolist()
        assert len(set(edges)) == len(edges) == min(len(incoming), fanout % (10**6))
        assert set(edges) <= set(incoming)
    assert torch.equal(drawn.n_id[drawn.edge_index], small.edge_index[:, drawn.e_id])


def test_without_a_limit_the_subgraph_is_the_whole_neighbourhood(small):
    """A slow transcription: breadth first against the edges, each node's edges once."""
    seeds, nodes, edges = [4, 9], {4, 9}, set()
    frontier = {4, 9}
    for _ in range(2):
        heard = [e for e in range(small.num_edges) if int(small.edge_index[1, e]) in frontier]
        edges |= set(heard)
        frontier = {int(small.edge_index[0, e]) for e in heard} - nodes
        nodes |= frontier
    sampler = CompiledSampler(small.edge_index, 60, (-1, -1), seed=0)
    drawn = NodeLoader(small, sampler)(torch.tensor(seeds))
    assert set(drawn.n_id.tolist()) == nodes
    assert sorted(drawn.e_id.tolist()) == sorted(edges)


def test_every_subset_of_neighbours_is_as_likely():
    rowptr = np.array([0, 4])
    draws = np.random.default_rng(0).random((6000, 2))
    rows, slots = _kernels.pick(rowptr, 2, np.zeros(6000, np.int64), draws)
    assert rows.tolist() == np.repeat(np.arange(6000), 2).tolist()
    pairs = np.sort(slots.reshape(-1, 2), 1)
    _, count = np.unique(pairs, axis=0, return_counts=True)
    assert len(count) == 6
    assert abs(count - 1000).max() < 130  # over four standard deviations


def test_edges_that_are_sorted_already_are_read_where_they_are(small):
    """As they are in an imported graph: the same draws, and not a copy of them."""
    order = np.lexsort((small.edge_index[0], small.edge_index[1]))
    small.edge_index = small.edge_index[:, order].int()
    options = {"seed": 0, "batch_size": 7, "fanout": 2, "layers": 2}
    sorted_anew = list(sampling.Neighbour(small, **options).epoch())
    small.rowptr = torch.cat([torch.zeros(1).long(), small.edge_index[1].bincount().cumsum(0)])
    small.rowptr = torch.nn.functional.pad(
        small.rowptr, (0, 61 - len(small.rowptr)), value=int(small.rowptr[-1])
    )
    as_they_are = sampling.Neighbour(small, **options)
    for one, other in zip(sorted_anew, as_they_are.epoch(), strict=True):
        for name in ("n_id", "edge_index", "x", "mask", "seeds"):
            assert torch.equal(getattr(one, name), getattr(other, name)), name
    sampler = as_they_are._loader.node_sampler
    assert sampler._col.base is not None
    assert sampler._position is None


def test_batches_of_given_nodes_have_their_rows_in_order(small):
    nodes = torch.tensor([3, 8, 21, 40, 59])
    batches = sampling.Neighbour(small, seed=0, batch_size=2, fanout=2, layers=2).batches(nodes)
    assert torch.equal(torch.cat([batch.n_id[batch.seeds] for batch in batches]), nodes)
