"""The flow on NVIDIA GPUs, in Triton: each node pulls from its neighbours, so nothing is atomic.

A step is three launches, none of which waits for the host: potentials; what each node would give
away and therefore what it offers; what each node takes. Sums are made in one order, so the same
input gives the same bits. Beyond its inputs the flow holds three vectors and a byte a node.
"""

import os
from typing import Any

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


if triton is not None:

    @triton.jit
    def _potential(
        loss: Any,
        q: Any,
        phi: Any,
        n: Any,
        scalar: Any,
        block: tl.constexpr,
    ) -> None:
        """``phi = scale loss - shift - beta log q``."""
        i = tl.program_id(0) * block + tl.arange(0, block)
        inside = i < n
        scale = tl.load(scalar)
        shift = tl.load(scalar + 1)
        beta = tl.load(scalar + 2)
        mass = tl.load(q + i, mask=inside, other=1.0)
        tl.store(
            phi + i,
            (scale * tl.load(loss + i, mask=inside, other=0.0) - shift) - beta * tl.log(mass),
            mask=inside,
        )

    @triton.jit
    def _offer(
        rowptr: Any,
        col: Any,
        weight: Any,
        phi: Any,
        q: Any,
        offer: Any,
        outflow: Any,
        limited: Any,
        scalar: Any,
        weighted: tl.constexpr,
        block: tl.constexpr,
    ) -> None:
        """What each node would give per unit of its mass, and what it can offer."""
        i = tl.program_id(0)
        begin = tl.load(rowptr + i)
        end = tl.load(rowptr + i + 1)
        tau = tl.load(scalar + 3)
        keep = tl.load(scalar + 4)
        floor = tl.load(scalar + 5)
        mine = tl.load(phi + i)
        given = tl.zeros([block], mine.dtype)
        for at in range(begin, end, block):
            e = at + tl.arange(0, block)
            inside = e < end
            j = tl.load(col + e, mask=inside, other=0)
            v = tl.load(phi + j, mask=inside, other=0.0) - mine
            if weighted:
                v = v * tl.load(weight + e, mask=inside, other=0.0)
            given += tl.where(inside & (v > 0), v, 0.0)
        out = tl.sum(given, 0)
        mass = tl.load(q + i)
        least = tl.maximum(keep * mass, floor)
        most = tau * mass
        too_much = (out > 0) & ((mass - most * out >= least) == 0)
        divisor = tl.where(too_much, out, 1.0)
        capped = tl.minimum(tl.maximum(mass - least, 0.0) / divisor, most)
        tl.store(offer + i, tl.where(too_much, capped, most))
        tl.store(outflow + i, out)
        tl.store(limited + i, too_much.to(tl.int8))

    @triton.jit
    def _take(
        rowptr: Any,
        col: Any,
        weight: Any,
        phi: Any,
        q: Any,
        offer: Any,
        outflow: Any,
        weighted: tl.constexpr,
        block: tl.constexpr,
    ) -> None:
        """``q <- q - offer outflow + sum_j w_ij max(v_ij, 0) offer_j``."""
        i = tl.program_id(0)
        begin = tl.load(rowptr + i)
        end = tl.load(rowptr + i + 1)
        mine = tl.load(phi + i)
        taken = tl.zeros([block], mine.dtype)
        for at in range(begin, end, block):
            e = at + tl.arange(0, block)
            inside = e < end
            j = tl.load(col + e, mask=inside, other=0)
            v = mine - tl.load(phi + j, mask=inside, other=0.0)
            if weighted:
                v = v * tl.load(weight + e, mask=inside, other=0.0)
            taken += tl.where(inside & (v > 0), v * tl.load(offer + j, mask=inside, other=0.0), 0.0)
        left = tl.load(q + i) - tl.load(offer + i) * tl.load(outflow + i)
        tl.store(q + i, left + tl.sum(taken, 0))


def euler(problem: Problem, q: Tensor, steps: int, limited: Limited) -> None:
    """Take ``steps`` limited Euler steps, in place."""
    graph, n = problem.graph, q.numel()
    if n == 0 or steps == 0:
        return
    weight = graph.weight_as(q.dtype)
    terms = (problem.scale, problem.shift, problem.beta, problem.tau, KEEP, problem.floor)
    scalar = torch.tensor(terms, dtype=q.dtype, device=q.device)
    phi, offer, outflow = torch.empty_like(q), torch.empty_like(q), torch.empty_like(q)
    flag = torch.empty(n, dtype=torch.int8, device=q.device)
    donors = torch.zeros(steps, dtype=torch.int64, device=q.device)
    block = triton.next_power_of_2(min(max(graph.num_edges // n, 16), 256))
    edges = (graph.rowptr, graph.col, q if weight is None else weight, phi, q, offer, outflow)
    for step in range(steps):
        _potential[(triton.cdiv(n, 1024),)](problem.loss, q, phi, n, scalar, block=1024)
        _offer[(n,)](*edges, flag, scalar, weighted=weight is not None, block=block, num_warps=1)
        _take[(n,)](*edges, weighted=weight is not None, block=block, num_warps=1)
        donors[step] = flag.sum()
    for count in donors.tolist():
        if count:
            limited.add(count)
