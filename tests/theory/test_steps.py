import numpy as np
import pytest
import torch

from upwind import gibbs, gradient_flow
from upwind.theory import proximal_step, worst_case
from upwind.theory.cases import cases, undirected
from upwind.theory.theorems import euler_errors, fitted_order

PATH, RING = cases(seed=0, sizes=(6,))


def test_one_euler_step_is_the_proximal_step_but_for_an_error_of_tau_squared():
    errors = euler_errors(RING, 0.3, (0.02, 0.01, 0.005))
    assert fitted_order(errors) == pytest.approx(2, abs=0.06)


def test_at_a_fixed_time_euler_and_the_proximal_steps_differ_by_tau():
    """Errors of tau^2 a step add up to tau."""
    apart = []
    for steps in (2, 4, 8):
        q = PATH.start
        for _ in range(steps):
            q = proximal_step(PATH.graph, PATH.losses, q, tau=0.4 / steps, beta=0.3).weights
        euler = gradient_flow(
            PATH.graph, PATH.losses, start=PATH.start, steps=steps, tau=0.4 / steps, beta=0.3
        )
        apart.append(float((q - euler.weights).abs().sum()))
    rates = np.log2(np.divide(apart[:-1], apart[1:]))
    assert (abs(rates - 1) < 0.3).all(), rates


def test_half_the_squared_distance_would_double_the_speed():
    """The factor of the cost is one per direction of an edge: with one half the flow is another."""
    euler = gradient_flow(
        PATH.graph, PATH.losses, start=PATH.start, steps=1, tau=1e-3, beta=0.3
    ).weights
    move = euler - PATH.start
    steps = [
        proximal_step(PATH.graph, PATH.losses, PATH.start, tau=tau, beta=0.3).weights - PATH.start
        for tau in (1e-3, 2e-3)
    ]
    assert float(steps[0] @ move / (move @ move)) == pytest.approx(1, abs=0.02)
    assert float(steps[1] @ move / (move @ move)) == pytest.approx(2, abs=0.05)


def test_the_weight_of_an_edge_multiplies_its_flux():
    pairs, weight = [(0, 1), (1, 2)], torch.tensor([4.0, 0.25], dtype=torch.float64)
    graph = undirected(pairs, 3)
    heavy = type(graph)(graph.rowptr, graph.col, weight[[0, 0, 1, 1]])
    losses, start = torch.tensor([0.0, 1.0, 2.0]).double(), torch.full((3,), 1 / 3).double()
    exact = proximal_step(heavy, losses, start, tau=1e-3, beta=0.1).weights - start
    euler = gradient_flow(heavy, losses, start=start, steps=1, tau=1e-3, beta=0.1).weights - start
    assert torch.allclose(exact, euler, rtol=0.01, atol=0)


def test_a_large_step_ends_in_the_limit_of_the_flow():
    step = proximal_step(RING.graph, RING.losses, RING.start, tau=1e5, beta=0.5)
    limit = gibbs(RING.graph, RING.losses, 0.5, start=RING.start)
    assert torch.allclose(step.weights, limit, atol=1e-4)


def test_the_worst_case_in_a_ball_lies_on_its_rim_until_the_ball_holds_the_limit():
    options = {"beta": 0.5, "steps": 4}
    near = worst_case(RING.graph, RING.losses, RING.start, radius=0.1, **options)
    far = worst_case(RING.graph, RING.losses, RING.start, radius=10.0, **options)
    assert near.distance == pytest.approx(0.1, abs=1e-6)
    assert torch.allclose(far.weights, RING.limit(0.5), atol=1e-4)
