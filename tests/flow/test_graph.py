import copy
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.flow.graphs import dense, graphs, undirected
from upwind import Graph, InputError, InputWarning


@given(graphs())
def test_it_is_symmetric_and_sorted_without_loops_or_duplicates(graph):
    matrix = dense(graph)
    assert np.array_equal(matrix, matrix.T)
    assert not np.diag(matrix).any()
    row, col = graph.edge_index
    order = row * max(graph.num_nodes, 1) + col
    assert (order.diff() > 0).all()
    assert graph.rowptr.dtype == graph.col.dtype == torch.int32


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30))
def test_parallel_edges_are_summed_and_the_larger_direction_counts_for_both(pairs):
    edge_index = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T
    counts = np.zeros((6, 6))
    for i, j in pairs:
        counts[i, j] += i != j
    if np.array_equal(counts, counts.T):
        graph = Graph.from_edge_index(edge_index, 6)
    else:
        with pytest.warns(InputWarning, match="the graph is directed"):
            graph = Graph.from_edge_index(edge_index, 6)
    assert np.array_equal(dense(graph), np.maximum(counts, counts.T))


def test_a_directed_input_warns_once():
    with pytest.warns(InputWarning) as caught:
        Graph.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 0]]))
    assert len(caught) == 1


def test_weights_summed_in_another_order_are_no_direction():
    weight = torch.tensor([0.1, 0.2, 0.3, 0.3, 0.2, 0.1, 1e-9, 1e-9])
    edge_index = torch.tensor([[0, 0, 0, 1, 1, 1, 0, 1], [1, 1, 1, 0, 0, 0, 1, 0]])
    graph = Graph.from_edge_index(edge_index, edge_weight=weight)
    assert graph.weight[0] == graph.weight[1]


def test_weights_of_one_are_not_stored_and_weights_of_zero_are_no_edges():
    both = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    assert Graph.from_edge_index(both, edge_weight=torch.ones(4)).weight is None
    graph = Graph.from_edge_index(both, edge_weight=torch.tensor([1.0, 1.0, 0.0, 0.0]))
    assert graph.num_edges == 2
    assert graph.num_components == 2


@given(graphs())
def test_components_are_those_of_scipy(graph):
    csgraph = pytest.importorskip("scipy.sparse.csgraph")
    count, labels = csgraph.connected_components(dense(graph))
    assert graph.num_components == count
    same = graph.component[:, None] == graph.component[None, :]
    assert np.array_equal(same.numpy(), labels[:, None] == labels[None, :])


@given(graphs(), st.randoms())
def test_a_subgraph_keeps_the_edges_among_its_nodes(graph, random):
    nodes = [i for i in range(graph.num_nodes) if random.random() < 0.5]
    random.shuffle(nodes)
    nodes = torch.tensor(nodes, dtype=torch.long)
    assert np.array_equal(dense(graph.subgraph(nodes)), dense(graph)[np.ix_(nodes, nodes)])


@pytest.mark.parametrize(
    ("nodes", "sentence"),
    [
        (torch.tensor([0, 7]), "node 7 is not in the graph, whose 3 nodes are numbered 0 to 2"),
        (torch.tensor([-1]), "node -1 is not in the graph"),
        (torch.tensor([2, 0, 2]), "node 2 is named twice"),
        (torch.tensor([True, False, True]), r"not torch.bool of shape \[3\]; for a mask, pass"),
        (torch.tensor([0.0]), "must be a vector of node ids, not torch.float32"),
        ([0, 1], "must be a vector of node ids, not list"),
    ],
)
def test_a_subgraph_of_what_is_no_set_of_nodes_is_refused(nodes, sentence):
    graph = undirected([(0, 1), (1, 2)], 3)
    with pytest.raises(InputError, match=sentence):
        graph.subgraph(nodes)
    assert graph.subgraph(torch.tensor([2, 1])).num_edges == 2  # no trace is left


def test_it_can_be_copied_with_all_that_is_cached_on_it():
    graph = undirected([(0, 1), (1, 2)], 3, torch.tensor([1.0, 2.0]))
    graph.adjacency(torch.float32), graph.layout(torch.float32)
    for other in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        assert np.array_equal(dense(other), dense(graph))


def test_strided_input_and_any_integers_give_the_same_graph():
    edges = torch.tensor([[0, 1], [1, 0], [1, 2], [2, 1]])
    weight = torch.tensor([[1.0, 9], [1, 9], [2, 9], [2, 9]], requires_grad=True)[:, 0]
    expected = dense(undirected([(0, 1), (1, 2)], 3, torch.tensor([1.0, 2.0])))
    for kind in (torch.uint8, torch.int16, torch.int32, torch.int64):
        assert np.array_equal(dense(Graph.from_edge_index(edges.to(kind).t(), 3, weight)), expected)


def test_it_cannot_be_changed():
    graph = undirected([(0, 1)], 2)
    with pytest.raises(AttributeError):
        graph.col = graph.col + 1


EDGES = torch.tensor([[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((torch.tensor([[0, 1], [1, 5]]), 2), "edge 1 joins nodes 1 and 5, but the graph has 2"),
        ((torch.tensor([[0, -1], [1, 0]]), 2), "edge 1 joins nodes -1 and 0"),
        ((torch.tensor([0, 1]), 2), r"shape \[2, num_edges\], not \[2\]"),
        ((torch.zeros(3, 4, dtype=torch.long), 2), r"not \[3, 4\]"),
        ((torch.zeros(2, 4), 2), "tensor of integers, not torch.float32"),
        (([[0], [1]], 2), "tensor of integers, not list"),
        ((EDGES, -1), "num_nodes must be a whole number of at least 0, not -1"),
        ((EDGES, 2.5), "num_nodes must be a whole number"),
        ((EDGES, float("nan")), "num_nodes must be a whole number"),
        ((EDGES, 2**62), "a graph of 4611686018427387904 nodes and 2 edges does not fit"),
        ((torch.tensor([[0, 2**62], [2**62, 0]]),), "does not fit into memory"),
        ((EDGES, 2, torch.tensor([1.0, -2.0])), r"weight 1 is -2\.0"),
        ((EDGES, 2, torch.tensor([torch.nan, 1.0])), "weight 0 is nan"),
        ((EDGES, 2, torch.tensor([torch.inf, 1.0])), "weight 0 is inf"),
        ((EDGES, 2, torch.ones(3)), r"each of the 2 edges, but its shape is \[3\]"),
        ((EDGES, 2, [1.0, 1.0]), "edge_weight must be a tensor of real numbers, not list"),
    ],
)
def test_bad_input_is_named_in_one_sentence(arguments, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        Graph.from_edge_index(*arguments)
    assert "\n" not in str(caught.value)


def test_weights_that_do_not_fit_the_precision_are_refused():
    graph = undirected([(0, 1)], 2, torch.tensor([1e300], dtype=torch.float64))
    with pytest.raises(InputError, match=r"1e\+300 do not fit torch.float32"):
        graph.weight_as(torch.float32)
    heavy = undirected([(0, 1), (0, 2)], 3, torch.full((2,), 1.7e308, dtype=torch.float64))
    with pytest.raises(InputError, match="node 0 add up to infinity"):
        _ = heavy.max_strength
