import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.flow.graphs import (
    barabasi_albert,
    dense,
    graphs,
    losses_for,
    path,
    plain_euler,
    star,
    undirected,
)
from upwind import Graph, InputError, gradient_flow

BACKENDS = ["torch", "cpu"]  # the kernel for GPUs is held to them in test_cuda.py
PRECISIONS = [torch.float32, torch.float64]

backends = pytest.mark.parametrize("backend", BACKENDS)
precisions = pytest.mark.parametrize("dtype", PRECISIONS)
step_sizes = st.sampled_from([0.0, 1e-4, 1e-2, 0.05, 1.0, 1e10, 1e38])
betas = st.sampled_from([0.0, 1e-3, 0.1, 1.0, 100.0])


@backends
@precisions
@given(st.data())
def test_without_a_limited_donor_it_is_the_equation(backend, dtype, data):
    graph = data.draw(graphs())
    loss = data.draw(losses_for(graph)).to(dtype)
    beta = data.draw(betas)
    n = graph.num_nodes
    prior = data.draw(st.sampled_from([None, torch.linspace(1, 3, n, dtype=dtype)]))
    tau = 0.3 / (1 + graph.max_strength * (6 + 20 * beta))
    flow = gradient_flow(graph, loss, steps=3, tau=tau, beta=beta, prior=prior, backend=backend)
    pi = np.full(n, 1 / max(n, 1)) if prior is None else (prior / prior.sum()).double().numpy()
    expected, steepest = plain_euler(dense(graph), loss.double().numpy(), pi, 3, tau, beta, pi)
    assert steepest < 0.99
    assert flow.limited_steps == flow.limited_donors == 0
    eps = torch.finfo(dtype).eps
    assert np.allclose(flow.weights, expected, rtol=0, atol=200 * eps / max(n, 1))


@backends
@precisions
@given(st.data())
def test_weights_stay_positive_and_mass_constant_at_any_step_size(backend, dtype, data):
    graph = data.draw(graphs())
    loss = data.draw(losses_for(graph, high=data.draw(st.sampled_from([3.0, 1e6])))).to(dtype)
    flow = gradient_flow(
        graph,
        loss,
        steps=data.draw(st.integers(0, 8)),
        tau=data.draw(step_sizes),
        beta=data.draw(betas),
        backend=backend,
    )
    assert torch.isfinite(flow.weights).all()
    assert (flow.weights > 0).all()
    assert flow.mass_error < 20 * torch.finfo(dtype).eps
    assert graph.num_nodes == 0 or abs(float(flow.weights.double().sum()) - 1) < 1e-5


@pytest.mark.parametrize(("backend", "steps"), [("torch", 50), ("cpu", 1000)])
@precisions
@pytest.mark.parametrize("tau", [0.01, 1.0])
def test_hubs_on_which_plain_euler_explodes_keep_positive_weights(backend, steps, dtype, tau):
    graph = undirected(barabasi_albert(3000, 5, seed=0), 3000)
    loss = 3 * torch.rand(3000, dtype=dtype, generator=torch.Generator().manual_seed(0))
    row, col = graph.edge_index
    wild = torch.full_like(loss, 1 / 3000)
    for _ in range(30):
        phi = loss - 0.1 * wild.log()
        v = phi[row] - phi[col]
        flux = v * torch.where(v > 0, wild[col], wild[row])
        wild = wild + tau * torch.zeros_like(wild).index_add(0, row, flux)
    assert not (wild > 0).all()
    flow = gradient_flow(graph, loss, steps=steps, tau=tau, beta=0.1, backend=backend)
    assert flow.limited_steps > 0
    assert (flow.weights > 0).all()
    assert flow.mass_error < 30 * torch.finfo(dtype).eps


@backends
@precisions
def test_extreme_losses_and_weights_do_not_overflow(backend, dtype):
    largest = torch.finfo(dtype).max
    graph = undirected(star(6), 6, torch.tensor([1, 1e30, 1, 1e-30, 1], dtype=torch.float64))
    loss = torch.tensor([0, largest, -largest, 1, largest / 2, 0], dtype=dtype)
    flow = gradient_flow(graph, loss, steps=5, tau=1e30, beta=1e30, backend=backend)
    assert (flow.weights > 0).all()
    assert torch.isfinite(flow.weights).all()
    assert flow.mass_error < 20 * torch.finfo(dtype).eps


@backends
@precisions
@given(st.data())
def test_numbers_of_any_size_keep_weights_positive_through_many_limited_steps(backend, dtype, data):
    """A limited donor offers mass / rate, which once lost its digits where rates were huge."""
    graph = data.draw(graphs())
    loss = data.draw(losses_for(graph)).to(dtype)
    mass = data.draw(st.sampled_from([1e-3, 1.0, 1e15]))
    flow = gradient_flow(
        graph,
        loss * data.draw(st.sampled_from([1e-37, 1e-20, 1.0, 1e15, 1e30, 1e38])),
        steps=20,
        tau=data.draw(st.sampled_from([1e-30, 1.0, 1e6, 1e38, 1e300])),
        beta=data.draw(st.sampled_from([0.0, 1e-30, 0.1, 1e30])),
        start=torch.full_like(loss, mass),
        backend=backend,
    )
    assert torch.isfinite(flow.weights).all()
    assert (flow.weights > 0).all()
    assert flow.mass_error < 40 * torch.finfo(dtype).eps


@backends
@precisions
@pytest.mark.parametrize("power", [-100, -90, 40, 90])
def test_losses_and_entropy_scaled_by_a_power_of_two_give_the_same_weights(backend, dtype, power):
    graph = undirected(star(6), 6, torch.linspace(0.5, 2, 5))
    loss = torch.linspace(0, 3, 6, dtype=dtype)
    options = {"steps": 30, "backend": backend}
    for tau in (1e-3, 1.0):
        here = gradient_flow(graph, loss, tau=tau, beta=0.25, **options)
        scale = 2.0**power
        there = gradient_flow(graph, loss * scale, tau=tau / scale, beta=0.25 * scale, **options)
        assert torch.equal(here.weights, there.weights)
        assert here.limited_donors == there.limited_donors


def test_a_prior_near_the_largest_number_is_normalised_all_the_same():
    graph, loss = undirected(path(3), 3), torch.ones(3)
    flow = gradient_flow(graph, loss, prior=torch.tensor([3e38, 1e38, 1e38]))
    assert torch.allclose(flow.weights, torch.tensor([0.6, 0.2, 0.2]))


def test_heun_ends_however_far_it_is_sent():
    graph, loss = undirected(star(9), 9), torch.linspace(0, 1, 9)
    flow = gradient_flow(graph, loss, steps=1, tau=1e6, integrator="heun", rtol=0.0)
    assert flow.steps < 4 * 2**12
    assert (flow.weights > 0).all()


def test_without_entropy_a_drained_node_still_holds_something():
    graph = undirected(path(3), 3)
    flow = gradient_flow(graph, torch.tensor([0.0, 1.0, 2.0]), steps=1000, tau=100, beta=0)
    assert (flow.weights > 0).all()
    assert flow.weights[2] > 0.999


@backends
@given(st.data())
def test_limiting_does_not_touch_a_step_in_which_no_donor_gives_too_much(backend, data):
    """One long step that is limited, against the same step cut into two that are not."""
    graph = data.draw(graphs())
    loss = data.draw(losses_for(graph))
    tau = 0.4 / (1 + 6 * graph.max_strength)
    whole = gradient_flow(graph, loss, steps=2, tau=tau, beta=0, backend=backend)
    first = gradient_flow(graph, loss, steps=1, tau=tau, beta=0, backend=backend)
    second = gradient_flow(
        graph, loss, steps=1, tau=tau, beta=0, start=first.weights, backend=backend
    )
    assert whole.limited_steps == 0
    assert torch.equal(whole.weights, second.weights)


@pytest.mark.parametrize("backend", ["torch", "cpu"])
def test_the_limit_of_a_donor_does_not_change_the_bits_of_the_others(backend):
    """Two components: what happens in one is no business of the other."""
    wild = [(0, i) for i in range(1, 9)]
    calm = [(9 + i, 10 + i) for i in range(4)]
    loss = torch.tensor([0.0] + [3.0] * 8 + [0.1, 0.2, 0.1, 0.3, 0.1], dtype=torch.float64)
    both = gradient_flow(undirected(wild + calm, 14), loss, steps=9, tau=0.2, backend=backend)
    alone = gradient_flow(undirected(calm, 14), loss, steps=9, tau=0.2, backend=backend)
    assert both.limited_donors > 0
    assert alone.limited_donors == 0
    assert torch.allclose(both.weights[9:], alone.weights[9:], rtol=1e-14, atol=0)


@backends
@given(st.data())
def test_the_energy_rises_for_small_steps(backend, data):
    graph = data.draw(graphs())
    loss = data.draw(losses_for(graph))
    beta = data.draw(st.sampled_from([0.0, 0.1, 1.0]))
    tau = 0.1 / (1 + graph.max_strength * (6 + 10 * beta)) / (1 + beta)
    flow = gradient_flow(
        graph, loss, steps=5, tau=tau, beta=beta, energy=True, trajectory=True, backend=backend
    )
    assert flow.energy.shape == (6,)
    assert flow.trajectory.shape == (6, graph.num_nodes)
    assert (flow.energy.diff() >= -1e-12).all()
    assert torch.equal(flow.trajectory[-1], flow.weights)


@backends
@given(st.data())
def test_relabelling_the_nodes_permutes_the_weights(backend, data):
    graph = data.draw(graphs())
    loss = data.draw(losses_for(graph))
    n = graph.num_nodes
    order = torch.tensor(data.draw(st.permutations(range(n))), dtype=torch.long)
    place = torch.empty_like(order)
    place[order] = torch.arange(n)
    other = Graph.from_edge_index(place[graph.edge_index], n, graph.weight)
    arguments = {"steps": 4, "tau": 0.01, "beta": 0.1, "backend": backend}
    here = gradient_flow(graph, loss, **arguments).weights
    there = gradient_flow(other, loss[order], **arguments).weights
    assert torch.allclose(here[order], there, rtol=1e-9, atol=1e-15)


@backends
@given(st.data())
def test_a_constant_on_all_losses_changes_nothing(backend, data):
    graph = data.draw(graphs())
    loss = data.draw(losses_for(graph))
    here = gradient_flow(graph, loss, steps=4, tau=0.01, backend=backend).weights
    there = gradient_flow(graph, loss + 7.0, steps=4, tau=0.01, backend=backend).weights
    assert torch.allclose(here, there, rtol=1e-9, atol=1e-15)


@backends
def test_components_exchange_nothing_and_an_isolated_node_keeps_its_weight(backend):
    graph = undirected([(0, 1), (1, 2), (3, 4)], 6)
    loss = torch.tensor([0.0, 5.0, 1.0, 2.0, 0.0, 9.0], dtype=torch.float64)
    q = gradient_flow(graph, loss, steps=50, tau=0.05, backend=backend).weights
    assert float(q[:3].sum()) == pytest.approx(0.5, abs=1e-15)
    assert float(q[3:5].sum()) == pytest.approx(1 / 3, abs=1e-15)
    assert q[5] == 1 / 6


@backends
def test_parallel_edges_act_as_one_of_their_summed_weight(backend):
    loss = torch.tensor([0.0, 1.0, 0.5], dtype=torch.float64)
    many = undirected([(0, 1), (0, 1), (0, 1), (1, 2), (2, 2)], 3)
    one = undirected([(0, 1), (1, 2)], 3, torch.tensor([3.0, 1.0]))
    assert torch.equal(
        gradient_flow(many, loss, backend=backend).weights,
        gradient_flow(one, loss, backend=backend).weights,
    )


def test_a_hub_longer_than_a_segment_and_many_chunks_give_the_same_weights():
    n = 60_000
    pairs = torch.tensor([(0, i) for i in range(1, n)] + path(n))
    graph = undirected(pairs, n)
    assert len(graph.layout(torch.float64).chunk_row) > 3
    loss = torch.rand(n, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    fast = gradient_flow(graph, loss, steps=3, tau=1e-5, backend="cpu")
    slow = gradient_flow(graph, loss, steps=3, tau=1e-5, backend="torch")
    assert torch.allclose(fast.weights, slow.weights, rtol=1e-10, atol=0)


def test_the_flow_leaves_the_number_of_threads_as_it_was():
    # In a process of its own: it is the first start of numba's threads that could change it.
    program = """
import torch, upwind
torch.set_num_threads(1)
graph = upwind.Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
upwind.gradient_flow(graph, torch.rand(2))
print(torch.get_num_threads())
"""
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "1"


def test_the_number_of_threads_does_not_change_a_bit(monkeypatch):
    from upwind.flow import cpu

    monkeypatch.setattr(cpu, "PARALLEL_EDGES", 0)
    graph = undirected(barabasi_albert(20_000, 5, seed=3), 20_000)
    loss = torch.rand(20_000, generator=torch.Generator().manual_seed(3))
    before = torch.get_num_threads()
    try:
        weights = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            weights.append(gradient_flow(graph, loss, tau=0.01).weights)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*weights)


@precisions
def test_the_same_input_gives_the_same_bits(dtype):
    graph = undirected(barabasi_albert(500, 4, seed=4), 500)
    loss = torch.rand(500, generator=torch.Generator().manual_seed(4)).to(dtype)
    first, second = (gradient_flow(graph, loss, tau=0.1).weights for _ in range(2))
    assert torch.equal(first, second)


def test_the_flow_takes_half_precision_losses_in_float32():
    graph = undirected(path(4), 4)
    loss = torch.rand(4)
    assert gradient_flow(graph, loss.bfloat16()).weights.dtype == torch.float32
    assert gradient_flow(graph, loss.double()).weights.dtype == torch.float64


def test_nothing_happens_without_nodes_edges_steps_or_step_size():
    nothing = Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.long))
    assert gradient_flow(nothing, torch.zeros(0)).weights.shape == (0,)
    lonely = Graph.from_edge_index(torch.zeros(2, 0, dtype=torch.long), 1)
    assert gradient_flow(lonely, torch.ones(1)).weights.tolist() == [1.0]
    graph, loss = undirected(path(3), 3), torch.tensor([0.0, 1.0, 2.0])
    uniform = torch.full((3,), 1 / 3)
    assert torch.equal(gradient_flow(graph, loss, steps=0).weights, uniform)
    assert torch.equal(gradient_flow(graph, loss, tau=0).weights, uniform)


@settings(max_examples=10)
@given(st.data())
def test_heun_reaches_the_same_end_more_closely_than_euler(data):
    graph = data.draw(graphs())
    assume(graph.num_edges and graph.max_strength < 100)
    loss = data.draw(losses_for(graph))
    tau = 0.2 / (1 + 10 * graph.max_strength)
    arguments = {"beta": 0.1}
    exact = gradient_flow(graph, loss, steps=1000, tau=tau / 100, **arguments).weights
    euler = gradient_flow(graph, loss, steps=10, tau=tau, **arguments).weights
    heun = gradient_flow(graph, loss, steps=10, tau=tau, integrator="heun", rtol=1e-3, **arguments)
    error = (heun.weights - exact).abs().max()
    assert error <= max((euler - exact).abs().max(), 1e-3 * exact.max())
    assert heun.mass_error < 1e-14


def test_heun_keeps_weights_positive_at_any_step_size():
    graph = undirected(star(50), 50)
    loss = torch.linspace(0, 3, 50)
    flow = gradient_flow(graph, loss, steps=10, tau=1.0, integrator="heun")
    assert (flow.weights > 0).all()
    assert flow.mass_error < 1e-5


GRAPH = undirected([(0, 1)], 3)
LOSS = torch.tensor([0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("loss", "options", "sentence"),
    [
        (torch.tensor([0.0, torch.nan, 1.0]), {}, "the loss of node 1 is nan"),
        (torch.tensor([0.0, 0.0, torch.inf]), {}, "the loss of node 2 is inf"),
        (torch.zeros(2), {}, r"each of the 3 nodes, but their shape is \[2\]"),
        (torch.zeros(3, dtype=torch.long), {}, "floating-point numbers, not torch.int64"),
        (LOSS, {"tau": -1.0}, r"tau must be finite and not negative, not -1\.0"),
        (LOSS, {"tau": float("nan")}, "tau must be finite"),
        (LOSS, {"beta": float("inf")}, "beta must be finite"),
        (LOSS, {"steps": -1}, "steps must be a whole number"),
        (LOSS, {"steps": 1.5}, "steps must be a whole number"),
        (LOSS, {"steps": float("nan")}, "steps must be a whole number"),
        (LOSS, {"steps": True}, "steps must be a whole number"),
        (LOSS, {"tau": "0.1"}, "tau must be finite and not negative, not '0.1'"),
        (LOSS, {"tau": None}, "tau must be finite and not negative, not None"),
        (LOSS, {"integrator": "heun", "rtol": -1.0}, "rtol must be finite and not negative"),
        (LOSS, {"start": torch.full((3,), 1e30)}, r"start adds up to 3e\+30, too far from one"),
        (LOSS, {"start": torch.full((3,), 1e-40)}, "start adds up to 3e-40, too far from one"),
        (LOSS, {"start": torch.tensor([1.0, 0.0, 1.0])}, r"start .* is 0\.0 at node 1"),
        (LOSS, {"prior": torch.tensor([1.0, 1.0, -2.0])}, r"prior .* is -2\.0 at node 2"),
        (LOSS, {"prior": torch.ones(2)}, r"prior must have shape \[3\], not \[2\]"),
        (LOSS, {"backend": "gpu"}, "backend must be"),
        (LOSS, {"integrator": "rk4"}, "integrator must be"),
    ],
)
def test_bad_input_is_named_in_one_sentence(loss, options, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        gradient_flow(GRAPH, loss, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_kernel_that_was_just_compiled_gives_the_bits_of_the_cached_one(tmp_path):
    program = (
        "import torch, upwind\n"
        "torch.manual_seed(0)\n"
        "edges = torch.randint(0, 500, (2, 3000))\n"
        "graph = upwind.Graph.from_edge_index(torch.cat([edges, edges.flip(0)], 1), 500)\n"
        "flow = upwind.gradient_flow(graph, torch.rand(500), steps=30, tau=0.02)\n"
        "print(flow.limited_steps, flow.weights.numpy().tobytes().hex())"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert said[0] == said[1]
