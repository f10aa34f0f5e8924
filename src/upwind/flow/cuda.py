"""The flow on NVIDIA GPUs, in Triton: each node pulls from its neighbours.

A step is three launches, none of which waits for the host: potential and mass of each node, side
by side; a pass over the edges that ends in plain Euler, in what each node offers, and in a count of
the limited donors; and, where that count is not zero, a second pass that moves what was offered.
Sums of floats are made in one order, so the same input gives the same bits. Beyond its inputs the
flow holds three vectors: the pairs and the offers.
"""
# mypy: disable-error-code="no-untyped-def"
# Triton reads an annotation as part of the program, and knows none but its own.

import os

import torch
from torch import Tensor

from upwind.flow.problem import KEEP, Limited, Problem

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None


def available(device: torch.device) -> bool:
    """Whether the kernels can run there; Triton's interpreter runs them on the CPU, slowly."""
    if triton is None:
        return False
    return device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"


ROWS = 32  # rows side by side in a program
LONG = 2048  # a row longer than this is read by a whole program at once, in lines of so many edges
PROGRAMS = 2048  # of the second pass, which most often has nothing to do

if triton is not None:

    @triton.jit
    def _potential(loss, q, pair, n, terms, donors, block: tl.constexpr):
        """Write ``phi = scale loss - shift - beta log q`` and ``q`` side by side."""
        program = tl.program_id(0)
        if program == 0:
            tl.store(donors, 0)
        i = program.to(tl.int64) * block + tl.arange(0, block)
        inside = i < n
        scale = tl.load(terms)
        shift = tl.load(terms + 1)
        beta = tl.load(terms + 2)
        mass = tl.load(q + i, mask=inside, other=1.0)
        lost = tl.load(loss + i, mask=inside, other=0.0)
        tl.store(pair + 2 * i, (scale * lost - shift) - beta * tl.log(mass), mask=inside)
        tl.store(pair + 2 * i + 1, mass, mask=inside)

    @triton.jit
    def _over_row(
        row,
        rowptr,
        col,
        weight,
        pair,
        offer,
        stride: tl.constexpr,
        weighted: tl.constexpr,
        block: tl.constexpr,
    ):
        """What the node takes in, and what it would give away per unit of its mass."""
        begin = tl.load(rowptr + row).to(tl.int64)
        end = tl.load(rowptr + row + 1).to(tl.int64)
        mine = tl.load(pair + 2 * row)
        taken = tl.zeros([block], mine.dtype)
        given = tl.zeros([block], mine.dtype)
        for at in range(begin, end, block):
            e = at + tl.arange(0, block)
            inside = e < end
            j = tl.load(col + e, mask=inside, other=0).to(tl.int64)
            v = mine - tl.load(pair + 2 * j, mask=inside, other=0.0)
            if weighted:
                v = v * tl.load(weight + e, mask=inside, other=0.0)
            v = tl.where(inside, v, 0.0)
            gain = tl.maximum(v, 0.0)
            taken += gain * tl.load(offer + stride * j, mask=inside, other=0.0)
            given += gain - v
        return tl.sum(taken, 0), tl.sum(given, 0)

    @triton.jit
    def _over_rows(
        i,
        n,
        rowptr,
        col,
        weight,
        pair,
        offer,
        stride: tl.constexpr,
        weighted: tl.constexpr,
        rows: tl.constexpr,
        block: tl.constexpr,
        long: tl.constexpr,
    ):
        """The same for ``rows`` nodes side by side; long rows are read one by one after that."""
        real = i < n
        begin = tl.load(rowptr + i, mask=real, other=0).to(tl.int64)
        end = tl.load(rowptr + i + 1, mask=real, other=0).to(tl.int64)
        mine = tl.load(pair + 2 * i, mask=real, other=0.0)
        taken = tl.zeros([rows, block], mine.dtype)
        given = tl.zeros([rows, block], mine.dtype)
        length = end - begin
        is_long = length > long
        length = tl.where(is_long, 0, length)
        longest = tl.max(length, 0)
        lane = tl.arange(0, block)
        for at in range(0, longest, block):
            inside = (at + lane)[None, :] < length[:, None]
            e = begin[:, None] + (at + lane)[None, :]
            j = tl.load(col + e, mask=inside, other=0).to(tl.int64)
            v = mine[:, None] - tl.load(pair + 2 * j, mask=inside, other=0.0)
            if weighted:
                v = v * tl.load(weight + e, mask=inside, other=0.0)
            v = tl.where(inside, v, 0.0)
            gain = tl.maximum(v, 0.0)
            taken += gain * tl.load(offer + stride * j, mask=inside, other=0.0)
            given += gain - v
        took = tl.sum(taken, 1)
        gave = tl.sum(given, 1)
        if tl.max(is_long.to(tl.int32), 0) > 0:
            first = tl.min(i, 0)
            for k in range(rows):
                row = tl.minimum(first + k, n - 1)
                if tl.load(rowptr + row + 1) - tl.load(rowptr + row) > long:
                    row_took, row_gave = _over_row(
                        row, rowptr, col, weight, pair, offer, stride, weighted, long
                    )
                    took = tl.where(i == row, row_took, took)
                    gave = tl.where(i == row, row_gave, gave)
        return took, gave

    @triton.jit
    def _plain(
        rowptr,
        col,
        weight,
        pair,
        offer,
        q,
        n,
        terms,
        donors,
        weighted: tl.constexpr,
        rows: tl.constexpr,
        block: tl.constexpr,
        long: tl.constexpr,
    ):
        """``q <- q + tau dq/dt``, and what each node can offer per unit of what it would give."""
        i = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
        real = i < n
        inflow, outflow = _over_rows(
            i, n, rowptr, col, weight, pair, pair + 1, 2, weighted, rows, block, long
        )
        tau = tl.load(terms + 3)
        keep = tl.load(terms + 4)
        floor = tl.load(terms + 5)
        mass = tl.load(pair + 2 * i + 1, mask=real, other=1.0)
        least = tl.maximum(keep * mass, floor)
        kept = mass - mass * (tau * outflow)
        too_much = real & (outflow > 0) & ((kept >= least) == 0)
        most = tau * mass
        capped = tl.maximum(mass - least, 0.0) / tl.where(too_much, outflow, 1.0)
        tl.store(q + i, kept + tau * inflow, mask=real)
        tl.store(offer + i, tl.where(too_much, tl.minimum(capped, most), most), mask=real)
        count = tl.sum(too_much.to(tl.int32), 0)
        if count > 0:
            tl.atomic_add(donors, count)  # of integers: their order does not show

    @triton.jit
    def _limited(
        rowptr,
        col,
        weight,
        pair,
        offer,
        q,
        n,
        donors,
        weighted: tl.constexpr,
        rows: tl.constexpr,
        block: tl.constexpr,
        long: tl.constexpr,
    ):
        """Where a donor is limited, do the step again with what each node offers."""
        if tl.load(donors) > 0:
            for tile in range(tl.program_id(0), tl.cdiv(n, rows), tl.num_programs(0)):
                i = tl.arange(0, rows).to(tl.int64) + tile * rows
                real = i < n
                inflow, outflow = _over_rows(
                    i, n, rowptr, col, weight, pair, offer, 1, weighted, rows, block, long
                )
                mass = tl.load(pair + 2 * i + 1, mask=real, other=1.0)
                mine = tl.load(offer + i, mask=real, other=0.0)
                tl.store(q + i, (mass - mine * outflow) + inflow, mask=real)


def euler(problem: Problem, q: Tensor, steps: int, limited: Limited) -> None:
    """Take ``steps`` limited Euler steps, in place."""
    if q.numel() and steps:
        donors = torch.empty(steps, dtype=torch.int32, device=q.device)
        launch(problem, q, terms_of(problem, q), donors)
        for count in donors.tolist():
            if count:
                limited.add(count)


def terms_of(problem: Problem, q: Tensor) -> Tensor:
    """The numbers of a problem where the kernels can read them in the precision of ``q``."""
    values = (problem.scale, problem.shift, problem.beta, problem.tau, KEEP, problem.floor)
    return torch.tensor(values, dtype=q.dtype, device=q.device)


def launch(problem: Problem, q: Tensor, terms: Tensor, donors: Tensor) -> None:
    """Queue a step for each entry of ``donors``, which will hold how many donors were limited.

    Nothing here waits for the device or copies to it, so a CUDA graph can record it.
    """
    graph, n = problem.graph, q.numel()
    weight = graph.weight_as(q.dtype)
    pair, offer = q.new_empty(2 * n), torch.empty_like(q)
    edges = (graph.rowptr, graph.col, q if weight is None else weight, pair, offer, q, n)
    block = min(max(triton.next_power_of_2(graph.num_edges // n), 8), 64)
    shape = {"weighted": weight is not None, "rows": ROWS, "block": block, "long": LONG}
    tiles = triton.cdiv(n, ROWS)
    with torch.cuda.device_of(q):  # type: ignore[no-untyped-call]  # torch leaves it untyped
        for step in range(len(donors)):
            count = donors[step:]
            _potential[(triton.cdiv(n, 1024),)](problem.loss, q, pair, n, terms, count, block=1024)
            _plain[(tiles,)](*edges, terms, count, **shape)
            _limited[(min(tiles, PROGRAMS),)](*edges, count, **shape)
