"""How fast the flow is, against plain torch, PyTorch Geometric and the memory of the machine.

    python -m benchmarks.flow

Both sides of a ratio take turns in one process. Prints tables and writes ``out/bench/flow.json``.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.nn import MessagePassing

from upwind import Graph, gradient_flow, harmonic_extension
from upwind.data.raw import RawFiles
from upwind.errors import InputError
from upwind.flow import Flow

OUT = Path("out/bench/flow.json")
STEPS, TAU, BETA = 10, 1e-4, 0.1
SHORT = 1e-7  # a step in which no donor is limited


def main() -> None:
    torch.manual_seed(0)
    processor = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "unknown processor",
    )
    record: dict[str, Any] = {
        "processor": processor,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load": os.getloadavg()[0],
        "rows": [],
    }
    print(f"{processor}, {record['cores']} cores, load {record['load']:.1f} at the start")
    print(f"{'what':72} {'value':>9} {'target':>9}")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        for row in part():
            record["rows"].append(row)
            print(
                f"{row['what']:72} {row['value']:9.3g} {row['target']:>9}   {row['unit']}",
                flush=True,
            )
        OUT.write_text(json.dumps(record, indent=2))  # what is measured is kept


def alternating(*sides: Callable[[], object], repeats: int = 9) -> list[float]:
    """The median seconds of each side, which take turns, after one turn that does not count."""
    seconds: list[list[float]] = [[] for _ in sides]
    for turn in range(repeats + 1):
        for side, taken in zip(sides, seconds, strict=True):
            begin = time.perf_counter()
            side()
            if turn:
                taken.append(time.perf_counter() - begin)
    return [float(np.median(taken)) for taken in seconds]


def row(what: str, value: float, unit: str, target: str = "") -> dict[str, Any]:
    return {"what": what, "value": value, "unit": unit, "target": target}


def scattered(nodes: int, edges: int) -> Tensor:
    """Both directions of uniformly random edges: neighbours are anywhere in memory."""
    half = torch.randint(0, nodes, (2, edges // 2))
    return torch.cat([half, half.flip(0)], 1)


def heavy_tailed(nodes: int, edges: int) -> Tensor:
    """Both directions of edges whose ends follow a power law, as in social networks."""
    ends = (nodes * torch.rand(2, edges // 2, dtype=torch.float64) ** 3).long()
    ends = torch.randperm(nodes)[ends]
    return torch.cat([ends, ends.flip(0)], 1)


def twitch() -> tuple[str, Tensor, int]:
    """The Twitch graph of the benchmark, or one of its size."""
    from upwind.data.twitch import twitch as read_twitch

    try:
        data = read_twitch(RawFiles())
    except InputError:
        return "Twitch-sized", heavy_tailed(34_120, 858_226), 34_120
    return "Twitch", data.edge_index, int(data.num_nodes or 0)


def torch_flow(edge_index: Tensor, weight: Tensor, loss: Tensor) -> Tensor:
    """What one writes in plain torch."""
    i, j = edge_index
    q = torch.full_like(loss, 1 / len(loss))
    for _ in range(STEPS):
        phi = loss - BETA * q.log()
        v = phi[i] - phi[j]
        flux = weight * v * torch.where(v > 0, q[j], q[i])
        q = q + TAU * torch.zeros_like(q).index_add_(0, i, flux)
    return q


class FlowLayer(MessagePassing):  # type: ignore[misc]
    """What one writes in PyTorch Geometric."""

    def forward(self, edge_index: Tensor, weight: Tensor, loss: Tensor) -> Tensor:
        q = torch.full_like(loss, 1 / len(loss))[:, None]
        for _ in range(STEPS):
            phi = loss[:, None] - BETA * q.log()
            q = q + TAU * self.propagate(edge_index, phi=phi, q=q, weight=weight[:, None])
        return q[:, 0]

    def message(
        self, phi_i: Tensor, phi_j: Tensor, q_i: Tensor, q_j: Tensor, weight: Tensor
    ) -> Tensor:
        v = phi_i - phi_j
        return weight * v * torch.where(v > 0, q_j, q_i)


def against_torch_and_pyg() -> list[dict[str, Any]]:
    name, edge_index, n = twitch()
    graph = Graph.from_edge_index(edge_index, n)
    i, j = graph.edge_index
    half = torch.rand(graph.num_edges) + 0.5
    order = torch.argsort(j * n + i)
    graph = replace(graph, weight=(half + half[order]) / 2)
    edge_index, weight = graph.edge_index, graph.weight
    assert weight is not None
    loss = 2 * torch.rand(n)

    def ours() -> Tensor:
        return gradient_flow(graph, loss, steps=STEPS, tau=TAU, beta=BETA).weights

    layer = FlowLayer()
    plain = torch_flow(edge_index, weight, loss)
    assert torch.allclose(ours(), plain, rtol=1e-4)
    assert torch.allclose(layer(edge_index, weight, loss), plain, rtol=1e-4)
    rows = []
    for threads in sorted({1, torch.get_num_threads()}):
        torch.set_num_threads(threads)
        fast, slow, pyg = alternating(
            ours,
            lambda: torch_flow(edge_index, weight, loss),
            lambda: layer(edge_index, weight, loss),
        )
        size = f"{name}, {n:,} nodes, {graph.num_edges:,} edges, T_in 10, {threads} threads"
        rows += [
            row(f"flow, {size}", 1e3 * fast, "ms"),
            row("  times as fast as torch index_add_", slow / fast, "x", ">= 20"),
            row("  times as fast as PyG MessagePassing", pyg / fast, "x", ">= 20"),
        ]
    return rows


def growth() -> list[dict[str, Any]]:
    """Time per directed edge and step, and how near it is to what memory can deliver.

    In steps so short that no donor is limited; what a limited one costs is a row of its own.
    """
    rows = []
    bandwidth = copy_bandwidth()
    rows.append(row("copy bandwidth (read and write)", bandwidth / 1e9, "GB/s"))
    for kind, make in (("scattered", scattered), ("heavy-tailed", heavy_tailed)):
        per_edge = []
        for edges in (100_000, 1_000_000, 10_000_000):
            n = edges // 25
            graph = Graph.from_edge_index(make(n, edges), n)
            loss = 2 * torch.rand(n)

            def flow(tau: float, graph: Graph = graph, loss: Tensor = loss) -> Flow:
                return gradient_flow(graph, loss, steps=STEPS, tau=tau, beta=BETA)

            assert flow(SHORT).limited_steps == 0
            seconds, limited = alternating(
                lambda: flow(SHORT),
                lambda: flow(TAU),
                repeats=9 if edges < 10**7 else 3,
            )
            per_edge.append(seconds / STEPS / graph.num_edges)
            # A step reads each column once, and reads or writes five numbers a node.
            touched = 4 * graph.num_edges + 4 * 8 * n
            rows += [
                row(f"step, {kind}, {edges:,} edges", 1e3 * seconds / STEPS, "ms"),
                row("  per directed edge", 1e9 * per_edge[-1], "ns"),
                row("  of copy bandwidth", STEPS * touched / seconds / bandwidth, ""),
            ]
            if steps := flow(TAU).limited_steps:
                what = f"  at tau {TAU:g}, where {steps} of {STEPS} steps are limited, against it"
                rows.append(row(what, limited / seconds, "x"))
        rows.append(
            row(f"growth per edge, {kind}, 1e5 to 1e7", per_edge[-1] / per_edge[0], "x", "<= 3")
        )
    return rows


def copy_bandwidth() -> float:
    source = torch.ones(50_000_000)
    target = torch.empty_like(source)
    return 8 * len(source) / alternating(lambda: target.copy_(source))[0]


def accuracy_per_work() -> list[dict[str, Any]]:
    """Euler and Heun to the same end time: passes over the edges against error."""
    name, edge_index, n = twitch()
    graph = Graph.from_edge_index(edge_index, n)
    loss = 2 * torch.rand(n, dtype=torch.float64)
    rows = []
    for end in (1e-3, 1e-2):
        exact = gradient_flow(graph, loss, steps=2000, tau=end / 2000).weights

        def error(weights: Tensor, exact: Tensor = exact) -> float:
            return float(((weights - exact).abs() / exact).max())

        for steps in (10, 100):
            flow = gradient_flow(graph, loss, steps=steps, tau=end / steps)
            rows.append(
                row(f"{name}, to t = {end}: Euler, {flow.steps} passes", error(flow.weights), "")
            )
        for rtol in (1e-1, 1e-2):
            flow = gradient_flow(graph, loss, steps=1, tau=end, integrator="heun", rtol=rtol)
            what = f"{name}, to t = {end}: Heun, rtol {rtol}, {flow.steps} passes"
            rows.append(row(what, error(flow.weights), "relative error"))
    return rows


def harmonic_against_flow() -> list[dict[str, Any]]:
    _, edge_index, n = twitch()
    graph = Graph.from_edge_index(edge_index, n)
    known = torch.rand(n) < 0.4
    before = torch.rand(n)
    loss = before + 0.05 * torch.randn(n)
    guess = harmonic_extension(graph, before, known)
    flow, warm = alternating(
        lambda: gradient_flow(graph, loss, steps=STEPS, tau=TAU, beta=BETA),
        lambda: harmonic_extension(graph, loss, known, guess=guess),
    )
    return [row("harmonic extension, warm, against the flow at T_in 10", warm / flow, "x", "<= 1")]


def build() -> list[dict[str, Any]]:
    edge_index = scattered(1_000_000, 10_000_000)
    seconds = alternating(lambda: Graph.from_edge_index(edge_index, 1_000_000), repeats=3)[0]
    return [row("graph of 10,000,000 directed edges", seconds, "s", "< 3")]


def memory() -> list[dict[str, Any]]:
    """The peak of the process over what stood before the flow."""
    program = """
import torch
from upwind import Graph, gradient_flow
n = 4_000_000
path = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
graph = Graph.from_edge_index(torch.cat([path, path.flip(0)], 1), n)
loss = torch.rand(n)
graph.layout(loss.dtype), graph.max_strength
small = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
def status(name):
    return next(int(l.split()[1]) for l in open('/proc/self/status') if l.startswith(name))
gradient_flow(small, loss[:2])
del path
open('/proc/self/clear_refs', 'w').write('5')
before = status('VmRSS')
gradient_flow(graph, loss, steps=10)
print((status('VmHWM') - before) * 1024 / (4 * n))
"""
    # Vectors go back to the system when they are freed, so none hides in what another one left.
    vectors = float(_python(program, MALLOC_MMAP_THRESHOLD_="65536"))
    return [row("memory beyond the inputs, 4,000,000 nodes", vectors, "vectors", "<= 3")]


def first_call() -> list[dict[str, Any]]:
    """What the first graph and flow of a process cost beyond the second, kernels on disk."""
    program = """
import time, torch, torch_geometric, upwind.flow
edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
def call():
    begin = time.perf_counter()
    upwind.gradient_flow(upwind.Graph.from_edge_index(edges), torch.rand(3))
    return time.perf_counter() - begin
first = call()
print(first - call())
"""
    _python(program)
    extra = min(float(_python(program)) for _ in range(3))
    return [row("first graph and flow of a process, kernels cached on disk", extra, "s", "< 0.5")]


def _python(program: str, **variables: str) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | variables
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout


PARTS: tuple[Callable[[], list[dict[str, Any]]], ...] = (
    against_torch_and_pyg,
    first_call,
    memory,
    build,
    harmonic_against_flow,
    growth,
    accuracy_per_work,
)

if __name__ == "__main__":
    main()
