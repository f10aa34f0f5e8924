import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from tests.flow.graphs import barabasi_albert, path, undirected
from upwind import InputError, geometric_wasserstein, gradient_flow, reach


def transport_cost(graph, p, q):
    """The optimal transport cost with hops as distance, as a linear program."""
    row, col = graph.edge_index.numpy()
    edges = np.arange(len(row))
    out = sp.csr_array((np.ones(len(row)), (row, edges)), shape=(graph.num_nodes, len(row)))
    into = sp.csr_array((np.ones(len(row)), (col, edges)), shape=(graph.num_nodes, len(row)))
    return linprog(np.ones(len(row)), A_eq=out - into, b_eq=(p - q).numpy()).fun


@given(st.integers(0, 50), st.sampled_from([path(12), barabasi_albert(30, 2, 0)]))
def test_its_bounds_enclose_the_optimal_transport(seed, pairs):
    graph = undirected(pairs, max(map(max, pairs)) + 1)
    random = np.random.default_rng(seed)
    p, q = (torch.from_numpy(random.dirichlet(np.ones(graph.num_nodes))) for _ in range(2))
    found = reach(graph, p, q, tolerance=0.01, max_iterations=5000)
    moved = float((p - q).abs().sum()) / 2
    cost = transport_cost(graph, p, q)
    assert found.mass == pytest.approx(moved)
    assert found.edges_at_least * moved <= cost * (1 + 1e-9)
    assert cost * (1 - 1e-9) <= found.edges * moved
    assert found.edges <= 1.01 * found.edges_at_least


def test_one_step_of_the_flow_moves_mass_by_one_edge():
    graph = undirected(barabasi_albert(60, 2, 0), 60)
    loss = torch.arange(60, dtype=torch.float64).remainder(7)
    flow = gradient_flow(graph, loss, steps=1, tau=1e-3)
    found = reach(graph, torch.ones(60), flow.weights)
    assert 0 < found.mass < 0.1
    assert found.edges == pytest.approx(1, abs=0.3)


def test_mass_times_edges_is_at_most_the_distance_times_the_root_of_the_degree():
    graph = undirected(barabasi_albert(20, 2, 0), 20)
    random = np.random.default_rng(0)
    p, q = (torch.from_numpy(random.dirichlet(np.ones(20))) for _ in range(2))
    found = reach(graph, p, q)
    distance = geometric_wasserstein(graph, p, q, steps=32).distance
    assert found.mass * found.edges_at_least <= distance * graph.max_strength**0.5


def test_weights_that_did_not_move_reach_nowhere():
    graph = undirected(path(3), 3)
    found = reach(graph, torch.ones(3), torch.full((3,), 1 / 3))
    assert (found.mass, found.edges) == (0, 0)


def test_it_says_what_a_practitioner_understands():
    graph = undirected(path(3), 3)
    found = reach(graph, torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.3, 0.5]))
    assert "up to 30.00% of the mass moves by 2.0 edges" in str(found)


def test_weights_that_jumped_between_components_are_refused():
    graph = undirected([(0, 1), (2, 3)], 4)
    with pytest.raises(InputError, match="component"):
        reach(graph, torch.ones(4), torch.tensor([1.0, 2.0, 0.5, 0.5]))


def test_rounding_of_a_long_training_is_no_jump():
    graph = undirected([(0, 1), (2, 3)], 4)
    found = reach(graph, torch.ones(4), torch.tensor([0.9, 1.1, 1.0001, 1.0001]))
    assert found.mass == pytest.approx(0.025, rel=1e-2)
