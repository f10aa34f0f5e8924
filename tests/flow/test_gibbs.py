import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.flow.graphs import graphs, losses_for, path, undirected
from upwind import InputError, gibbs, gradient_flow


@settings(max_examples=6)
@given(st.data())
def test_the_flow_tends_to_it_on_every_component(data):
    graph = data.draw(graphs(max_nodes=5))
    assume(graph.max_strength < 50)
    loss = data.draw(losses_for(graph, high=1.0))
    n = graph.num_nodes
    options = data.draw(
        st.sampled_from([{}, {"prior": torch.linspace(1, 3, n, dtype=torch.float64)}])
    )
    beta = data.draw(st.sampled_from([0.5, 2.0]))
    tau = 0.2 / (1 + graph.max_strength * (2 + 3 * beta))
    start = torch.linspace(2, 1, n, dtype=torch.float64)
    flow = gradient_flow(graph, loss, steps=10_000, tau=tau, beta=beta, start=start, **options)
    limit = gibbs(graph, loss, beta, start=start, **options)
    assert torch.allclose(flow.weights, limit, rtol=1e-5, atol=1e-7)


@given(st.data())
def test_it_is_the_softmax_of_each_component_with_the_mass_of_the_start(data):
    graph = data.draw(graphs())
    loss = data.draw(losses_for(graph))
    n = graph.num_nodes
    start = torch.linspace(1, 2, n, dtype=torch.float64)
    limit = gibbs(graph, loss, 0.7, start=start)
    for c in range(graph.num_components):
        inside = graph.component == c
        expected = start[inside].sum() * torch.softmax(loss[inside] / 0.7, 0)
        assert torch.allclose(limit[inside], expected, rtol=1e-12, atol=0)


def test_losses_far_beyond_the_range_of_exp_are_no_trouble():
    graph = undirected(path(3), 3)
    limit = gibbs(graph, torch.tensor([0.0, 1e30, -1e30]), 1e-6)
    assert limit.tolist() == [0.0, 1.0, 0.0]
    limit = gibbs(graph, torch.tensor([1e30, 1e30, 0.0]), 5e-324, prior=torch.tensor([1.0, 3, 1]))
    assert torch.allclose(limit, torch.tensor([0.25, 0.75, 0.0]))


@pytest.mark.parametrize("beta", [-1.0, float("nan"), float("inf"), "0.1"])
def test_a_beta_that_is_none_is_refused(beta):
    with pytest.raises(InputError, match="beta must be finite and not negative"):
        gibbs(undirected(path(3), 3), torch.ones(3), beta)


@settings(max_examples=6)
@given(st.data())
def test_without_entropy_weight_gathers_on_local_maxima_as_the_flow_does(data):
    graph = data.draw(graphs(max_nodes=5))
    assume(graph.max_strength < 50)
    # Distinct whole numbers: no plateau, no edge on which weight creeps.
    order = data.draw(st.permutations(range(graph.num_nodes)))
    loss = torch.tensor(order, dtype=torch.float64)
    limit = gibbs(graph, loss, 0.0)
    row, col = graph.edge_index
    below = torch.zeros(graph.num_nodes, dtype=torch.bool)
    below[row[loss[col] > loss[row]]] = True
    assert (limit[below] == 0).all()
    tau = 0.3 / (1 + graph.max_strength * graph.num_nodes)
    flow = gradient_flow(graph, loss, steps=10_000, tau=tau, beta=0.0)
    assert torch.allclose(flow.weights, limit, atol=1e-7)


def test_without_entropy_a_node_splits_in_proportion_to_weight_and_difference():
    graph = undirected([(0, 1), (0, 2)], 3, torch.tensor([1.0, 3.0]))
    limit = gibbs(graph, torch.tensor([0.0, 2.0, 1.0], dtype=torch.float64), 0.0)
    assert np.allclose(limit, [0, 1 / 3 + 2 / 15, 1 / 3 + 3 / 15])


def test_an_empty_graph_has_an_empty_limit():
    assert gibbs(undirected([], 0), torch.zeros(0), 1.0).shape == (0,)
