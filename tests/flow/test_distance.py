import subprocess
import sys
from time import process_time

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_bvp

from tests.flow.graphs import barabasi_albert, dense, path, star, undirected
from upwind import InputError, geometric_wasserstein, gibbs, gradient_flow

TWO = undirected([(0, 1)], 2)
SOLVERS = ["admm", "cvxpy"]


def density(*values):
    return torch.tensor(values, dtype=torch.float64)


@st.composite
def transports(draw, densities=2):
    """A small connected graph with weights, and positive densities on it."""
    n = draw(st.integers(3, 8))
    pairs = draw(st.sampled_from([path(n), star(n), barabasi_albert(n, 2, 1)]))
    weight = draw(st.lists(st.floats(0.5, 4), min_size=len(pairs), max_size=len(pairs)))
    graph = undirected(pairs, n, torch.tensor(weight, dtype=torch.float64))
    part = st.lists(st.floats(0.2, 1), min_size=n, max_size=n)
    drawn = [torch.tensor(draw(part), dtype=torch.float64) for _ in range(densities)]
    return graph, *[d / d.sum() for d in drawn]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("weight", [1.0, 4.0])
def test_on_two_nodes_it_is_the_difference_of_the_donors_roots(solver, weight):
    graph = undirected([(0, 1)], 2, torch.tensor([weight]))
    found = geometric_wasserstein(graph, density(0.6, 0.4), density(0.3, 0.7), solver=solver)
    assert found.distance == pytest.approx(2 * (0.6**0.5 - 0.3**0.5) / weight**0.5, rel=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_where_every_leaf_of_a_star_gives_to_the_hub_each_leaf_pays_by_itself(solver):
    weight = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    p, q = density(0.1, 0.4, 0.3, 0.2), density(0.5, 0.2, 0.2, 0.1)
    found = geometric_wasserstein(undirected(star(4), 4, weight), p, q, solver=solver)
    square = (4 * (p[1:].sqrt() - q[1:].sqrt()) ** 2 / weight).sum()
    assert found.distance == pytest.approx(float(square) ** 0.5, rel=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_on_a_path_it_is_the_length_of_the_geodesic(solver):
    # With x = q_0 falling, y = q_2 rising and z = 1 - x - y: the action is x'^2 / x + y'^2 / z.
    def geodesic(_t, s):
        x, y, u, v = s
        z = 1 - x - y
        return [u, v, u**2 / (2 * x) + x * v**2 / (2 * z**2), v**2 / (2 * z) - v * (u + v) / z]

    ends = (0.6, 0.1), (0.1, 0.6)
    time = np.linspace(0, 1, 50)
    guess = [0.6 - 0.5 * time, 0.1 + 0.5 * time, -0.5 + 0 * time, 0.5 + 0 * time]
    curve = solve_bvp(
        geodesic,
        lambda a, b: [a[0] - ends[0][0], a[1] - ends[0][1], b[0] - ends[1][0], b[1] - ends[1][1]],
        time,
        guess,
        tol=1e-8,
    )
    x, y, u, v = curve.sol(np.linspace(0, 1, 2001))
    expected = np.trapezoid(u**2 / x + v**2 / (1 - x - y), dx=1 / 2000) ** 0.5
    p, q = density(0.6, 0.3, 0.1), density(0.1, 0.3, 0.6)
    found = geometric_wasserstein(undirected(path(3), 3), p, q, steps=32, solver=solver)
    assert curve.success
    assert found.distance == pytest.approx(expected, rel=1e-3)


def test_its_error_falls_with_the_square_of_the_time_step():
    exact = 2 * (0.9**0.5 - 0.1**0.5)
    p, q = density(0.9, 0.1), density(0.1, 0.9)
    error = [
        abs(geometric_wasserstein(TWO, p, q, steps=k, solver="cvxpy").distance - exact)
        for k in (8, 16, 32, 64)
    ]
    rates = np.log2(np.divide(error[:-1], error[1:]))
    assert (abs(rates - 2) < 0.15).all(), rates


@settings(max_examples=10)
@given(transports())
def test_two_solvers_agree_and_both_certify_it(drawn):
    graph, p, q = drawn
    own = geometric_wasserstein(graph, p, q, steps=8, tolerance=1e-4)
    other = geometric_wasserstein(graph, p, q, steps=8, solver="cvxpy")
    assert other.gap < 1e-6
    assert own.gap < 1e-4
    assert own.distance == pytest.approx(other.distance, rel=1e-4)
    # Either's lower bound is a bound for the other.
    assert own.distance * (1 - own.gap) ** 0.5 <= other.distance * (1 + 1e-7)
    assert other.distance * (1 - other.gap) ** 0.5 <= own.distance * (1 + 1e-7)


@settings(max_examples=10)
@given(transports(), st.sampled_from(SOLVERS))
def test_its_path_changes_by_exactly_what_flows_and_costs_what_is_said(drawn, solver):
    graph, p, q = drawn
    found = geometric_wasserstein(graph, p, q, steps=6, solver=solver)
    row, col = graph.edge_index
    change = torch.zeros(6, graph.num_nodes, dtype=torch.float64)
    change.index_add_(1, col, found.flux).index_add_(1, row, -found.flux)
    assert torch.allclose(found.path.diff(dim=0) * 6, change, atol=1e-12)
    assert torch.allclose(found.path[0], p, atol=1e-12)
    assert torch.allclose(found.path[-1], q, atol=1e-12)
    assert (found.flux >= 0).all()
    assert (found.path >= 0).all()
    weight = torch.from_numpy(dense(graph))[row, col]
    donor = ((found.path[1:] + found.path[:-1]) / 2)[:, row]
    assert found.distance**2 == pytest.approx(float((found.flux**2 / weight / donor).sum() / 6))


@settings(max_examples=10)
@given(transports())
def test_it_is_zero_if_and_only_if_the_densities_are_equal(drawn):
    graph, p, q = drawn
    assert geometric_wasserstein(graph, p, p).distance == 0
    assert (geometric_wasserstein(graph, p, q).distance == 0) == bool((p == q).all())


@settings(max_examples=10)
@given(transports(densities=3))
def test_a_detour_is_no_shorter(drawn):
    graph, p, q, r = drawn

    def d(a, b):
        return geometric_wasserstein(graph, a, b, tolerance=1e-4).distance

    assert d(p, r) <= (d(p, q) + d(q, r)) * (1 + 1e-3)


def test_it_is_not_symmetric_because_the_donor_pays():
    p, q = density(1.0, 0.0), density(0.25, 0.75)
    there = geometric_wasserstein(TWO, p, q, steps=64).distance
    back = geometric_wasserstein(TWO, q, p, steps=64).distance
    assert there == pytest.approx(1.0, rel=1e-2)
    assert back == pytest.approx(3**0.5, rel=3e-2)


def test_a_symmetry_of_the_graph_that_swaps_the_densities_makes_it_symmetric():
    p, q = density(0.6, 0.3, 0.1), density(0.1, 0.3, 0.6)
    graph = undirected(path(3), 3)
    there = geometric_wasserstein(graph, p, q, tolerance=1e-6).distance
    assert geometric_wasserstein(graph, q, p, tolerance=1e-6).distance == pytest.approx(there)


def test_it_is_finite_only_where_every_component_keeps_its_mass():
    graph = undirected([(0, 1), (2, 3)], 5)
    p = density(0.2, 0.2, 0.2, 0.2, 0.2)
    apart = geometric_wasserstein(graph, p, density(0.3, 0.2, 0.1, 0.2, 0.2))
    assert apart.distance == float("inf")
    assert apart.path is None
    within = geometric_wasserstein(graph, p, density(0.3, 0.1, 0.1, 0.3, 0.2), tolerance=1e-6)
    parts = [
        geometric_wasserstein(TWO, density(0.2, 0.2), density(*q), tolerance=1e-6).distance
        for q in ([0.3, 0.1], [0.1, 0.3])
    ]
    assert within.distance**2 == pytest.approx(parts[0] ** 2 + parts[1] ** 2, rel=1e-4)


def test_mass_can_pass_through_a_node_that_has_none():
    graph = undirected(path(3), 3)
    p, q = density(1.0, 0.0, 0.0), density(0.0, 0.0, 1.0)
    own = geometric_wasserstein(graph, p, q, tolerance=1e-2)
    other = geometric_wasserstein(graph, p, q, solver="cvxpy")
    assert own.distance == pytest.approx(other.distance, rel=5e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_components_and_nodes_without_mass_are_no_trouble(solver):
    graph = undirected([(0, 1), (2, 3), (3, 4)], 6)
    p, q = density(0.6, 0.4, 0, 0, 0, 0), density(0.3, 0.7, 0, 0, 0, 0)
    found = geometric_wasserstein(graph, p, q, solver=solver)
    assert found.distance == pytest.approx(2 * (0.6**0.5 - 0.3**0.5), rel=1e-3)


def test_a_graph_without_nodes_has_one_density():
    assert geometric_wasserstein(undirected([], 0), density(), density()).distance == 0


@settings(max_examples=10)
@given(transports())
def test_the_flow_goes_no_further_than_its_gain_in_energy_allows(drawn):
    """GW^2(q(0), q(t)) <= t (L(q(t)) - L(q(0))), and nearly as far while t is small."""
    graph, start, loss = drawn
    loss = 3 * loss / loss.max()
    options = {"start": start, "beta": 0.2, "steps": 1, "integrator": "heun", "rtol": 1e-4}
    for time in (1e-3, 0.1):
        flow = gradient_flow(graph, loss, tau=time, energy=True, **options)
        gain = float(flow.energy[-1] - flow.energy[0])
        square = geometric_wasserstein(graph, start, flow.weights, tolerance=1e-4).distance ** 2
        assert square <= time * gain * (1 + 2e-3)
        if time == 1e-3:
            assert square >= time * gain * 0.98


@pytest.mark.slow
def test_two_thousand_nodes_and_ten_thousand_edges_take_no_minute():
    random = np.random.default_rng(0)
    pairs = list({tuple(sorted(pair)) for pair in random.integers(0, 2000, (10_050, 2)).tolist()})
    graph = undirected(pairs, 2000)
    p = torch.full((2000,), 1 / 2000, dtype=torch.float64)
    q = gibbs(graph, torch.from_numpy(random.random(2000)) * 3, 1.0, start=p)
    before = process_time()
    found = geometric_wasserstein(graph, p, q)
    assert process_time() - before < 60
    assert found.gap < 1e-3


def test_weights_of_the_flow_can_be_given_as_they_are():
    graph = undirected(path(4), 4)
    flow = gradient_flow(graph, torch.tensor([0.0, 1.0, 2.0, 0.5]), tau=1e-2)
    assert flow.weights.dtype == torch.float32
    assert geometric_wasserstein(graph, torch.full((4,), 0.25), flow.weights).gap < 1e-3


@pytest.mark.parametrize(
    ("p", "options", "says"),
    [
        (density(0.5, 0.5, 0.0), {}, "p must have shape"),
        (density(-0.5, 1.5), {}, "at node 0"),
        (density(0.5, 0.6), {}, "same mass"),
        (density(0.5, 0.5), {"steps": 1}, "steps must be"),
        (density(0.5, 0.5), {"solver": "simplex"}, "solver must be"),
        (density(0.5, 0.5), {"tolerance": 0}, "tolerance must"),
    ],
)
def test_bad_input_gets_one_sentence(p, options, says):
    with pytest.raises(InputError, match=says):
        geometric_wasserstein(TWO, p, density(0.25, 0.75), **options)


def test_the_own_solver_needs_neither_cvxpy_nor_scipy():
    program = """
import sys
for name in ("cvxpy", "scipy", "clarabel"): sys.modules[name] = None
import torch, upwind
graph = upwind.Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
p, q = torch.tensor([0.5, 0.5]), torch.tensor([0.25, 0.75])
print(round(upwind.geometric_wasserstein(graph, p, q).distance, 2))
try: upwind.geometric_wasserstein(graph, p, q, solver="cvxpy")
except upwind.InputError as error: print(error)
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert answer.stdout.splitlines()[0] == "0.41", answer.stderr
    assert "upwind[theory]" in answer.stdout
