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
        ((EDGES, -1), "num_nodes must not be negative"),
        ((EDGES, 2.5), "num_nodes must be a whole number"),
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
