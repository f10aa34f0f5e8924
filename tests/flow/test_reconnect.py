import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.flow.graphs import dense, graphs, path, undirected
from upwind import InputError, gradient_flow, reconnect


@given(st.data())
def test_each_labelled_node_is_joined_with_k_labelled_nodes_nearest_to_it(data):
    csgraph = pytest.importorskip("scipy.sparse.csgraph")
    graph = data.draw(graphs())
    n = graph.num_nodes
    labeled = torch.tensor(
        data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=torch.bool
    )
    k = data.draw(st.integers(1, 4))
    joined = dense(reconnect(graph, labeled, k)) > 0
    distance = csgraph.shortest_path(dense(graph) > 0, unweighted=True)
    mine = labeled.numpy()
    assert not joined[~mine].any()
    for i in np.flatnonzero(mine):
        others = np.sort(distance[i, mine & (np.arange(n) != i)])
        others = others[np.isfinite(others)]
        farthest = others[min(k, len(others)) - 1] if len(others) else 0
        nearer = mine & (distance[i] < farthest) & (np.arange(n) != i)
        assert joined[i, nearer].all()
        assert joined[i].sum() >= min(k, len(others))
        # Beyond its own k, a node is only joined by nodes that count it among theirs.
        for j in np.flatnonzero(joined[i] & (distance[i] > farthest)):
            nearer_to_j = mine & (distance[j] < distance[j, i]) & (np.arange(n) != j)
            assert nearer_to_j.sum() < k


def test_weight_flows_between_labelled_nodes_and_leaves_the_others_alone():
    labeled = torch.tensor([True, False, False, True, False])
    graph = reconnect(undirected(path(5), 5), labeled, k=2)
    q = gradient_flow(graph, torch.tensor([0.0, 9.0, 9.0, 1.0, 9.0]), tau=0.1).weights
    assert q[3] > q[0]
    assert (q[~labeled] == 0.2).all()


def test_more_neighbours_than_there_are_joins_all():
    labeled = torch.tensor([True, False, True, True])
    assert reconnect(undirected(path(4), 4), labeled, 10**15).num_edges == 6


def test_no_labelled_node_gives_no_edge():
    assert reconnect(undirected(path(3), 3), torch.zeros(3, dtype=torch.bool)).num_edges == 0


@pytest.mark.parametrize(
    ("labeled", "k", "sentence"),
    [
        (torch.ones(3), 1, "must be a tensor of bool"),
        (torch.ones(2, dtype=torch.bool), 1, r"each of the 3 nodes, but its shape is \[2\]"),
        (torch.ones(3, dtype=torch.bool), 0, "k must be a whole number of at least 1, not 0"),
    ],
)
def test_bad_input_is_named_in_one_sentence(labeled, k, sentence):
    with pytest.raises(InputError, match=sentence):
        reconnect(undirected(path(3), 3), labeled, k)
