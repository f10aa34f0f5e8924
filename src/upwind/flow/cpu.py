"""The flow on CPUs, compiled.

One step is a pass over the nodes (potential and offer of each, side by side in memory) and a pass
over the edges (what each node takes in and what it would give away per unit of its mass). Where
that pass finds a donor that would give more than it has, the step is done again with offers that
are limited. Beyond its inputs the flow holds three vectors: the pairs and the weights.

The loops over edges stand in the body of ``prange`` on purpose: there numba tells LLVM that the
arrays do not overlap, without which the gathers are not vectorised.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np
import torch
from llvmlite import ir
from numba import prange, types
from numba.extending import intrinsic, overload
from torch import Tensor

from upwind.flow.csr import Floats, Ints
from upwind.flow.layout import LANES, Slabs
from upwind.flow.problem import KEEP, Limited, Problem

PARALLEL_EDGES = 500_000  # below, waiting for a second thread costs more than it saves
_FAST = {"reassoc", "nsz", "contract", "arcp"}  # sums may be reordered; infinities stay correct


@intrinsic
def _take(typing_context: Any, array: Any, index: Any) -> Any:
    """``array[index]`` without numba's support for negative indices, which costs half the speed."""
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        wide = ir.IntType(64)
        at = args[1] if args[1].type == wide else builder.sext(args[1], wide)
        return builder.load(builder.gep(data, [at], inbounds=True))

    return array.dtype(array, index), generate


def _bitcast(to: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        del context, signature
        return builder.bitcast(args[0], to)

    return generate


@intrinsic
def _bits(typing_context: Any, x: Any) -> Any:
    """The bits of a float32, as an int32."""
    del typing_context, x
    return types.int32(types.float32), _bitcast(ir.IntType(32))


@intrinsic
def _from_bits(typing_context: Any, x: Any) -> Any:
    """The float32 with these bits."""
    del typing_context, x
    return types.float32(types.int32), _bitcast(ir.FloatType())


_SQRT_HALF = int(np.float32(math.sqrt(0.5)).view(np.int32))
_MANTISSA = 0x007FFFFF
_LN2 = np.float32(math.log(2))
_SERIES = tuple(np.float32(2 / k) for k in (1, 3, 5, 7, 9))


def _log(x: Any) -> Any:
    """The natural logarithm of a positive normal number."""
    return math.log(x)


@overload(_log, inline="always")
def _log_overload(x: Any) -> Any:
    def log64(x: Any) -> Any:
        return math.log(x)

    if x != types.float32:
        return log64
    one, ln2 = np.float32(1), _LN2
    s1, s3, s5, s7, s9 = _SERIES

    def log32(x: Any) -> Any:
        # x = 2^k m with m in [sqrt(1/2), sqrt(2)), and log m = 2 artanh((m - 1) / (m + 1)): written
        # out because a call of the C library's logf would keep the loop from being vectorised.
        shifted = np.int32(_bits(x) - np.int32(_SQRT_HALF))
        m = _from_bits(np.int32((shifted & np.int32(_MANTISSA)) + np.int32(_SQRT_HALF)))
        z = (m - one) / (m + one)
        zz = z * z
        return np.float32(shifted >> np.int32(23)) * ln2 + z * (
            s1 + zz * (s3 + zz * (s5 + zz * (s7 + zz * s9)))
        )

    return log32


PLAIN, OFFER, LIMITED = 0, 1, 2  # what a pass over the edges ends in


@numba.njit(cache=True, parallel=True, fastmath=_FAST)
def _prepare(
    chunk_row: Ints, loss: Floats, shift: Any, scale: Any, beta: Any, q: Floats, pair: Floats
) -> None:
    """Write each node's potential ``phi = l - beta log q`` and its mass side by side."""
    for c in prange(len(chunk_row) - 1):
        for i in range(chunk_row[c], chunk_row[c + 1]):
            mass = _take(q, i)
            pair[2 * i] = (scale * _take(loss, i) - shift) - beta * _log(mass)
            pair[2 * i + 1] = mass


@numba.njit(cache=True, fastmath=_FAST)
def _settle(
    end: int,
    low: int,
    inflow: Floats,
    outflow: Floats,
    offer: Floats,
    q: Floats,
    tau: Any,
    keep: Any,
    floor: Any,
) -> int:
    """Turn what a chunk of nodes takes and gives into weights, or into offers; count the limited.

    PLAIN writes ``q + tau dq/dt``. OFFER writes what a donor can offer per unit of outflow: all of
    ``tau q``, or less where that would leave it too little. LIMITED moves what was offered.
    """
    limited = 0
    zero = tau - tau
    for i in range(len(inflow)):
        at = low + i
        mass = offer[2 * at]
        least = max(keep * mass, floor)
        lost = mass * (tau * outflow[i])
        too_much = outflow[i] > zero and not mass - lost >= least
        if end == PLAIN:
            limited += too_much
            q[at] = (mass - lost) + tau * inflow[i]
        elif end == OFFER:
            most = tau * mass
            q[at] = min(max(mass - least, zero) / outflow[i], most) if too_much else most
        else:
            q[at] = (q[at] - mass * outflow[i]) + inflow[i]
    return limited


@numba.njit(cache=True, parallel=True, fastmath=_FAST)
def _over_slabs(
    end: int,
    chunk_row: Ints,
    chunk_slab: Ints,
    start: Ints,
    row: Ints,
    col: Ints,
    weight: Floats | None,
    pair: Floats,
    offer: Floats,
    q: Floats,
    tau: Any,
    keep: Any,
    floor: Any,
) -> int:
    """Pass over the edges, ``LANES`` rows at a time; ``offer`` is ``pair`` from its second on."""
    limited = 0
    for c in prange(len(chunk_row) - 1):
        zero = tau - tau
        low = chunk_row[c]
        inflow = np.zeros(chunk_row[c + 1] - low, pair.dtype)
        outflow = np.zeros(chunk_row[c + 1] - low, pair.dtype)
        phi = np.empty(LANES, pair.dtype)
        taken = np.empty(LANES, pair.dtype)
        given = np.empty(LANES, pair.dtype)
        for s in range(chunk_slab[c], chunk_slab[c + 1]):
            for k in range(LANES):
                phi[k] = _take(pair, _take(row, s * LANES + k))
                taken[k] = zero
                given[k] = zero
            for e in range(start[s], start[s + 1], LANES):
                for k in range(LANES):
                    j = _take(col, e + k)
                    v = phi[k] - _take(pair, j)
                    if weight is not None:
                        v = v * _take(weight, e + k)
                    gain = v if v > zero else zero
                    taken[k] += gain * _take(offer, j)
                    given[k] += gain - v
            for k in range(LANES):
                i = (_take(row, s * LANES + k) >> 1) - low
                inflow[i] += taken[k]
                outflow[i] += given[k]
        limited += _settle(end, low, inflow, outflow, offer, q, tau, keep, floor)
    return limited


@numba.njit(cache=True, parallel=True, fastmath=_FAST)
def _over_tiles(
    end: int,
    chunk_row: Ints,
    start: Ints,
    row: Ints,
    col: Ints,
    weight: Floats | None,
    pair: Floats,
    offer: Floats,
    q: Floats,
    tau: Any,
    keep: Any,
    floor: Any,
) -> int:
    """The same pass, edge by edge within one tile after the other."""
    limited = 0
    for c in prange(len(chunk_row) - 1):
        zero = tau - tau
        low = chunk_row[c]
        inflow = np.zeros(chunk_row[c + 1] - low, pair.dtype)
        outflow = np.zeros(chunk_row[c + 1] - low, pair.dtype)
        for e in range(start[c], start[c + 1]):
            i = _take(row, e)
            j = _take(col, e)
            v = _take(pair, i) - _take(pair, j)
            if weight is not None:
                v = v * _take(weight, e)
            gain = v if v > zero else zero
            inflow[(i >> 1) - low] += gain * _take(offer, j)
            outflow[(i >> 1) - low] += gain - v
        limited += _settle(end, low, inflow, outflow, offer, q, tau, keep, floor)
    return limited


@numba.njit(cache=True)
def _swap(offer: Floats, q: Floats) -> None:
    for i in range(len(q)):
        q[i], offer[2 * i] = offer[2 * i], q[i]


def euler(problem: Problem, q: Tensor, steps: int, limited: Limited) -> None:
    """Take ``steps`` limited Euler steps, in place."""
    graph, dtype = problem.graph, q.dtype
    layout = graph.layout(dtype)
    over_edges = _over_slabs if isinstance(layout, Slabs) else _over_tiles
    kind = torch.empty((), dtype=dtype).numpy().dtype.type
    tau, shift, scale, beta = (
        kind(x) for x in (problem.tau, problem.shift, problem.scale, problem.beta)
    )
    keep, floor = kind(KEEP), kind(problem.floor)
    loss, weights = problem.loss.numpy(), q.numpy()
    pair = np.empty(2 * graph.num_nodes, kind)
    bounds = (pair, pair[1:], weights, tau, keep, floor)
    with _threads(graph.num_edges):
        for _ in range(steps):
            _prepare(layout.chunk_row, loss, shift, scale, beta, weights, pair)
            donors = over_edges(PLAIN, *layout, *bounds)
            if donors:
                over_edges(OFFER, *layout, *bounds)
                _swap(pair[1:], weights)
                over_edges(LIMITED, *layout, *bounds)
                limited.add(donors)


@contextmanager
def _threads(num_edges: int) -> Iterator[None]:
    before = numba.get_num_threads()
    wanted = torch.get_num_threads() if num_edges >= PARALLEL_EDGES else 1
    numba.set_num_threads(min(wanted, numba.config.NUMBA_NUM_THREADS))
    try:
        yield
    finally:
        numba.set_num_threads(before)
