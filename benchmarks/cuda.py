"""How fast the flow is on a GPU, against the torch reference and the memory of the machine.

    python -m benchmarks.cuda

Both sides of a ratio take turns in one process. Prints a table and writes ``out/bench/cuda.json``,
or the file that the environment variable OUT names.
"""

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

import upwind
from upwind import Graph, gradient_flow
from upwind.flow import cuda, reference
from upwind.flow.problem import Limited, Problem

OUT = Path(os.environ.get("OUT", "out/bench/cuda.json"))
SIZES = tuple(int(float(x)) for x in os.environ.get("SIZES", "1e4 1e5 1e6 1e7 1e8").split())
STEPS, TAU, BETA = 10, 1e-4, 0.1
DEVICE = os.environ.get("DEVICE", "cuda")  # "cpu" goes through the motions in the interpreter
Row = dict[str, Any]


def main() -> None:
    """Measure, print, and write it down."""
    real = DEVICE == "cuda"
    if real and not (torch.cuda.is_available() and cuda.available(torch.device(DEVICE))):
        print("left out cuda: this machine has no GPU that torch and Triton can use")
        return
    torch.manual_seed(0)
    name = torch.cuda.get_device_name() if real else "interpreter"
    bandwidth = copy_bandwidth()
    print(f"{name}, torch {torch.__version__}; copy bandwidth {bandwidth / 1e9:.0f} GB/s")
    print(
        f"{'graph':>12} {'edges':>11} {'limited':>8} {'kernel ms':>9} {'graph ms':>9} "
        f"{'torch ms':>9} {'faster':>7} {'of memory':>9} {'error':>8} {'same bits':>9}"
    )
    rows = []
    for kind in ("uniform", "heavy-tailed"):
        for edges in SIZES:
            rows += [flow_row(kind, edges, tau, bandwidth) for tau in (TAU, 1.0)]
    training = training_step(max(SIZES[0], min(SIZES[-1], 10**6)))
    print(json.dumps(training))
    OUT.parent.mkdir(parents=True, exist_ok=True)
    record = {"device": name, "torch": torch.__version__, "copy_bandwidth": bandwidth}
    OUT.write_text(json.dumps(record | {"flow": rows, "training": training}, indent=1) + "\n")


def milliseconds(*sides: Callable[[], object], budget: float = 300.0) -> list[float]:
    """The median time of each side on the device; they take turns, for about ``budget`` ms each."""
    first = [_once(side) for side in sides for _ in range(2)][1::2]  # the first turn compiles
    turns = max(3, min(50, int(budget / max([*first, 1e-3])))) if DEVICE == "cuda" else 1
    spent: list[list[float]] = [[] for _ in sides]
    for _ in range(turns):
        for side, times in zip(sides, spent, strict=True):
            times.append(_once(side))
    return [median(times) for times in spent]


def _once(side: Callable[[], object]) -> float:
    if DEVICE != "cuda":
        side()
        return 1.0
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    side()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end))


def copy_bandwidth() -> float:
    """Bytes read and written per second by a copy within the device."""
    source = torch.ones(2**30 // 4 if DEVICE == "cuda" else 2**10, device=DEVICE)
    target = torch.empty_like(source)
    (taken,) = milliseconds(lambda: target.copy_(source))
    return 8e3 * source.numel() / taken


def generated(kind: str, edges: int) -> Graph:
    """A symmetric weighted graph of mean degree 25, made where it is used; a few edges repeat.

    Uniform ends, or ends whose degrees follow a power law and whose places are shuffled.
    """
    n = max(edges // 25, 2)
    rank = torch.rand(2, edges // 2, device=DEVICE, dtype=torch.float64)
    ends = ((rank if kind == "uniform" else rank**2) * n).to(torch.int32).clamp_(max=n - 1)
    if kind != "uniform":
        ends = torch.randperm(n, device=DEVICE, dtype=torch.int32)[ends]
    low, high = ends.min(0).values.long(), ends.max(0).values.long()
    low, high = low[low < high], high[low < high]
    weight = torch.rand(len(low), device=DEVICE) + 0.5
    key, order = torch.cat([low * n + high, high * n + low]).sort()
    row, col = key // n, (key % n).to(torch.int32)
    count = torch.bincount(row, minlength=n)
    rowptr = torch.cat([count.new_zeros(1), count.cumsum(0)]).to(torch.int32)
    return Graph(rowptr, col, weight.repeat(2)[order])


def flow_row(kind: str, edges: int, tau: float, bandwidth: float) -> Row:
    """Time a flow of ten steps by each way, and compare what comes out."""
    graph = generated(kind, edges)
    n = graph.num_nodes
    loss = 2 * torch.rand(n, device=DEVICE)
    graph.max_strength, graph.row  # noqa: B018  # once for a graph, as the reference's rows are
    problem = Problem.scaled(graph, loss, tau=tau, beta=BETA)
    uniform = torch.full_like(loss, 1 / n)
    q = uniform.clone()
    terms = cuda.terms_of(problem, q)
    donors = torch.zeros(STEPS, dtype=torch.int32, device=DEVICE)

    def kernels() -> None:
        q.copy_(uniform)
        cuda.launch(problem, q, terms, donors)

    def plain() -> None:
        reference.euler(problem, uniform.clone(), STEPS, Limited())

    replay = captured(kernels)
    kernel, graphed, torch_ms = milliseconds(kernels, replay, plain)
    flow, again = (gradient_flow(graph, loss, tau=tau, backend="cuda") for _ in range(2))
    there = gradient_flow(graph, loss, tau=tau, backend="torch")
    replay()
    same = torch.equal(flow.weights, again.weights) and torch.equal(flow.weights, q)
    error = float(((flow.weights - there.weights).abs() / there.weights).max())
    # A step reads a column and a weight an edge; it reads or writes about nine numbers a node. Two
    # passes over the edges where a donor is limited.
    passes = STEPS + flow.limited_steps
    touched = passes * (8 * graph.num_edges + 36 * n)
    limit = 1e3 * touched / bandwidth
    row = {
        "graph": kind,
        "nodes": n,
        "edges": graph.num_edges,
        "largest_degree": int(graph.rowptr.diff().max()),
        "tau": tau,
        "limited_donors": flow.limited_donors,
        "kernel_ms": kernel,
        "cuda_graph_ms": graphed,
        "torch_ms": torch_ms,
        "times_as_fast": torch_ms / min(kernel, graphed),
        "of_memory_limit": limit / min(kernel, graphed),
        "mass_error": flow.mass_error,
        "largest_relative_error": error,
        "same_bits": same,
    }
    print(
        f"{kind:>12} {graph.num_edges:11,} {flow.limited_donors:8} {kernel:9.3f} {graphed:9.3f} "
        f"{torch_ms:9.3f} {row['times_as_fast']:7.1f} {row['of_memory_limit']:9.2f} "
        f"{error:8.1e} {same!s:>9}",
        flush=True,
    )
    if not (math.isfinite(error) and float(flow.weights.min()) > 0):
        raise AssertionError(f"the flow on the {kind} graph of {edges} edges is wrong")
    return row


def captured(work: Callable[[], None]) -> Callable[[], object]:
    """Record the launches as a CUDA graph, after a run that compiles them."""
    if DEVICE != "cuda":
        return work
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


class GCN(nn.Module):
    """Three layers of the benchmark's width."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(GCNConv(a, b) for a, b in ((128, 300), (300, 300), (300, 40)))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Return the logits."""
        for layer in self.layers[:-1]:
            x = F.relu(layer(x, edge_index))
        return self.layers[-1](x, edge_index)


def training_step(edges: int) -> Row:
    """A training step with the plug-in over one with the mean of the losses."""
    graph = generated("heavy-tailed", edges)
    edge_index, n = graph.edge_index, graph.num_nodes
    x, y = torch.randn(n, 128, device=DEVICE), torch.randint(0, 40, (n,), device=DEVICE)
    mask = torch.arange(n, device=DEVICE) % 2 == 0
    model = GCN().to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    tar = upwind.TAR(
        edge_index, labeled=mask, tau=1e-3, backend="cuda" if DEVICE == "cuda" else "torch"
    ).to(DEVICE)

    def step(weigh: Callable[[Tensor], Tensor]) -> None:
        optimizer.zero_grad()
        losses = F.cross_entropy(model(x, edge_index)[mask], y[mask], reduction="none")
        weigh(losses).backward()
        optimizer.step()

    with_tar, without = milliseconds(lambda: step(tar), lambda: step(torch.mean), budget=3000.0)
    return {"edges": edges, "tar_ms": with_tar, "erm_ms": without, "ratio": with_tar / without}


if __name__ == "__main__":
    main()
