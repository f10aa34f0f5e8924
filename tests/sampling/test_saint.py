import numpy as np
import pytest
import torch

from upwind import sampling
from upwind.sampling import _kernels


def slow_walk(edge_index, roots, draws):
    """The distinct nodes on the walks, straight from the definition."""
    seen = set()
    for root, row in zip(roots, draws, strict=True):
        node = int(root)
        seen.add(node)
        for draw in row:
            ways = edge_index[1][edge_index[0] == node].tolist()
            if ways:
                node = ways[int(draw * len(ways))]
                seen.add(node)
    return sorted(seen)


def slow_induced(edge_index, nodes):
    """Edges between the nodes, as rows."""
    row = {node: i for i, node in enumerate(nodes)}
    pairs = edge_index.T.tolist()
    return sorted((row[u], row[v]) for u, v in pairs if u in row and v in row)


def test_walks_and_subgraphs_are_those_of_a_slow_transcription(small):
    source, target = small.edge_index.numpy()
    rowptr, col, _ = _kernels.compress(source, target, 60)
    random = np.random.default_rng(0)
    for _ in range(20):
        roots, draws = random.integers(60, size=6), random.random((6, 3))
        nodes = _kernels.visit(rowptr, col, roots, draws, np.zeros(60, np.bool_))
        assert nodes.tolist() == slow_walk(small.edge_index, roots, draws)
        edges, _ = _kernels.induce(rowptr, col, nodes, np.full(60, -1))
        assert sorted(map(tuple, edges.T.tolist())) == slow_induced(
            small.edge_index, nodes.tolist()
        )


def test_a_walk_stays_where_no_edge_leaves():
    rowptr, col, _ = _kernels.compress(np.array([0, 2]), np.array([1, 3]), 4)
    nodes = _kernels.visit(rowptr, col, np.array([0]), np.zeros((1, 3)), np.zeros(4, np.bool_))
    assert nodes.tolist() == [0, 1]


def test_the_norms_are_their_definition(small):
    options = {"batch_size": 8, "walk_length": 2, "steps_per_epoch": 3}
    sampler = sampling.Saint(small, seed=1, coverage=5, **options)
    again = sampling.Saint(small, seed=1, coverage=0, **options)  # the same draws, not yet spent
    count = torch.zeros(60)
    pairs: dict[tuple[int, int], int] = {}
    held = subgraphs = 0
    while held < 5 * 60:
        for batch in again.epoch():
            count[batch.n_id] += 1
            held += batch.num_nodes
            subgraphs += 1
            for u, v in {*map(tuple, batch.n_id[batch.edge_index].T.tolist())}:
                pairs[u, v] = pairs.get((u, v), 0) + 1
    expected = subgraphs / torch.where(count == 0, 0.1, count) / 60
    torch.testing.assert_close(sampler.node_norm, expected)

    batch = next(sampler.epoch())
    for (u, v), norm in zip(
        batch.n_id[batch.edge_index].T.tolist(), batch.edge_weight.tolist(), strict=True
    ):
        seen = pairs.get((u, v), 0)
        defined = float(count[u]) / seen if seen else (1e4 if count[u] else 0.1)
        assert norm == pytest.approx(min(defined, 1e4))


def test_the_norm_makes_the_expected_sum_over_nodes_a_mean(small):
    sampler = sampling.Saint(
        small, seed=0, batch_size=5, walk_length=2, steps_per_epoch=500, coverage=2000
    )
    values = torch.arange(60.0)
    estimates = [float((b.node_norm * values[b.n_id]).sum()) for b in sampler.epoch()]
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - values.mean()) < 4 * error


def test_the_graphs_own_edge_weights_are_kept(small):
    options = {"batch_size": 500, "walk_length": 2, "steps_per_epoch": 1, "coverage": 3}
    (plain,) = sampling.Saint(small, seed=0, **options).epoch()
    small.edge_weight = small.edge_index.sum(0).float()
    (weighted,) = sampling.Saint(small, seed=0, **options).epoch()
    own = weighted.n_id[weighted.edge_index].sum(0)
    torch.testing.assert_close(weighted.edge_weight, plain.edge_weight * own)
