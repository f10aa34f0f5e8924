"""The Triton kernels, in Triton's interpreter; on a machine with a GPU, on the GPU."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.flow.graphs import dense, graphs, losses_for, path, plain_euler, star, undirected
from upwind import InputError, gradient_flow
from upwind.flow import cuda

pytest.importorskip("triton")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
few = settings(max_examples=10)  # the interpreter takes milliseconds a node
precisions = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


@pytest.fixture(autouse=True)
def _the_interpreter_overflows_as_quietly_as_a_gpu():
    with np.errstate(over="ignore"):
        yield


def on_device(graph, loss, **options):
    return gradient_flow(graph.to(DEVICE), loss.to(DEVICE), backend="cuda", **options)


@precisions
@few
@given(st.data())
def test_it_agrees_with_the_reference_at_any_step_size(dtype, data):
    graph = data.draw(graphs(max_nodes=6))
    loss = data.draw(losses_for(graph)).to(dtype)
    options = {
        "steps": data.draw(st.integers(0, 3)),
        "tau": data.draw(st.sampled_from([0.0, 1e-3, 0.1, 1e10, 1e38])),
        "beta": data.draw(st.sampled_from([0.0, 0.1, 10.0])),
    }
    if data.draw(st.booleans()):
        options["prior"] = torch.linspace(1, 2, graph.num_nodes, dtype=dtype)
    here = on_device(graph, loss, **options)
    there = gradient_flow(graph, loss, backend="torch", **options)
    tolerance = 1e-3 if dtype == torch.float32 else 1e-9
    assert torch.allclose(here.weights.cpu(), there.weights, rtol=tolerance, atol=1e-30)
    assert (here.weights > 0).all()
    assert here.mass_error < 20 * torch.finfo(dtype).eps
    assert here.limited_steps == there.limited_steps
    assert here.limited_donors == there.limited_donors


@precisions
def test_without_a_limited_donor_it_is_the_equation(dtype):
    graph = undirected([*path(5), (0, 3), (5, 6)], 8, torch.linspace(0.5, 2, 6))
    loss = torch.linspace(0, 2, 8).flip(0).to(dtype)
    flow = on_device(graph, loss, steps=4, tau=0.02, beta=0.3)
    expected, _ = plain_euler(dense(graph), loss.double().numpy(), np.full(8, 1 / 8), 4, 0.02, 0.3)
    assert flow.limited_steps == 0
    assert np.allclose(flow.weights.cpu(), expected, rtol=50 * torch.finfo(dtype).eps, atol=0)


def test_a_row_longer_than_a_block_is_summed_whole():
    graph = undirected(star(40), 40)
    loss = torch.linspace(0, 1, 40, dtype=torch.float64)
    here = on_device(graph, loss, steps=1, tau=1e-2)
    there = gradient_flow(graph, loss, steps=1, tau=1e-2, backend="torch")
    assert torch.allclose(here.weights.cpu(), there.weights, rtol=1e-12, atol=0)


def test_a_long_row_is_read_by_a_whole_program(monkeypatch):
    monkeypatch.setattr(cuda, "LONG", 16)
    graph = undirected([*star(40), *path(40)], 40, torch.linspace(0.5, 2, 78))
    loss = torch.linspace(0, 1, 40, dtype=torch.float64)
    for tau in (1e-2, 1.0):
        here = on_device(graph, loss, steps=2, tau=tau)
        there = gradient_flow(graph, loss, steps=2, tau=tau, backend="torch")
        assert here.limited_donors == there.limited_donors
        assert torch.allclose(here.weights.cpu(), there.weights, rtol=1e-12, atol=0)


def test_the_kernels_compile_for_a_gpu_where_there_is_none():
    """The interpreter takes more than the compiler does."""
    program = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from upwind.flow import cuda
for real, index in (("*fp32", "*i32"), ("*fp64", "*i64")):
    kind = dict(rowptr=index, col="*i32", n="i32", donors="*i32")
    fixed = dict(block=32, rows=cuda.ROWS, long=cuda.LONG, weighted=True)
    for kernel in (cuda._potential, cuda._plain, cuda._limited):
        names = kernel.arg_names
        given = {(names.index(k),): v for k, v in fixed.items() if k in names}
        types = {k: "constexpr" if k in fixed else kind.get(k, real) for k in names}
        source = ASTSource(kernel, types, constexprs=given)
        triton.compile(source, target=GPUTarget("cuda", 90, 32))
        print(kernel.__name__)
"""
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert ran.stdout.split() == 2 * ["_potential", "_plain", "_limited"], ran.stderr


def test_the_same_input_gives_the_same_bits():
    graph, loss = undirected(star(9), 9), torch.linspace(0, 1, 9)
    first, second = (on_device(graph, loss, steps=2, tau=0.3).weights for _ in range(2))
    assert torch.equal(first, second)


def test_where_triton_cannot_run_it_is_refused_and_auto_falls_back(monkeypatch):
    monkeypatch.setattr(cuda, "triton", None)
    graph, loss = undirected(path(3), 3), torch.arange(3.0)
    with pytest.raises(InputError, match="needs Triton and losses on a GPU"):
        gradient_flow(graph, loss, backend="cuda")
    assert not cuda.available(torch.device("cuda"))
