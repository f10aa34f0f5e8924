"""The flow on CPUs, compiled.

One step is a pass over the nodes (potential and mass of each, side by side in memory) and a pass
over the edges (what each node takes in and what it would give away per unit of its mass). Where
that pass finds a donor that would give more than it has, a second one moves what is offered
instead. Beyond its inputs the flow holds three vectors: the pairs and the weights.
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
from numba.core import cgutils
from numba.extending import intrinsic, overload
from torch import Tensor

from upwind.flow.csr import Floats, Ints
from upwind.flow.layout import LANES
from upwind.flow.problem import KEEP, Limited, Problem

PARALLEL_EDGES = 500_000  # below, waiting for a second thread costs more than it saves


def _place(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    wide = ir.IntType(64)
    at = index if index.type == wide else builder.sext(index, wide)
    return builder.gep(data, [at], inbounds=True)


@intrinsic
def _take(typing_context: Any, array: Any, index: Any) -> Any:
    """``array[index]`` without numba's support for negative indices, which costs half the speed."""
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_place(context, builder, signature.args[0], *args))

    return array.dtype(array, index), generate


@intrinsic
def _put(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """``array[index] = value``, likewise."""
    del typing_context, value

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _place(context, builder, signature.args[0], *args[:2]))
        return context.get_dummy_value()

    return types.none(array, index, array.dtype), generate


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


@intrinsic
def _exchange(
    typing_context: Any,
    pair: Any,
    row: Any,
    slab: Any,
    col: Any,
    weight: Any,
    begin: Any,
    end: Any,
    taken: Any,
    given: Any,
) -> Any:
    """Write what the rows of a slab take in and what they would give, a lane each.

    Potential and mass of a neighbour lie side by side: one load for both, and shuffles that sort
    lanes, take half the time of the two gather instructions that a compiler makes of such a loop.
    """
    del typing_context
    signature = types.none(pair, row, slab, col, weight, begin, end, taken, given)
    weighted = not isinstance(weight, types.NoneType)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def data(k: int) -> Any:
            return context.make_array(signature.args[k])(context, builder, args[k]).data

        def lanes_at(array: Any, at: Any, kind: Any) -> Any:
            return builder.bitcast(builder.gep(array, [at], inbounds=True), kind.as_pointer())

        def shuffled(a: Any, b: Any, lanes: range) -> Any:
            mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))
            return builder.shuffle_vector(a, b, mask)

        def potential_and_mass(index: Any, begin: Any) -> tuple[Any, Any]:
            parts = []
            for k in range(LANES):
                at = builder.add(begin, begin.type(k))
                j = builder.load(builder.gep(index, [at], inbounds=True))
                j = j if j.type == wide else builder.sext(j, wide)
                parts.append(builder.load(lanes_at(pairs, j, of_two), align=align))
            while len(parts) > 2:
                both = range(2 * parts[0].type.count)
                parts = [shuffled(a, b, both) for a, b in zip(parts[::2], parts[1::2], strict=True)]
            left, right = parts
            even, odd = (range(first, 2 * LANES, 2) for first in (0, 1))
            return shuffled(left, right, even), shuffled(left, right, odd)

        pairs, rows, cols = data(0), data(1), data(3)
        wide, align = ir.IntType(64), pair.dtype.bitwidth // 8
        real = context.get_value_type(pair.dtype)
        of_two, of_lanes = ir.VectorType(real, 2), ir.VectorType(real, LANES)
        zero = ir.Constant(of_lanes, [0.0] * LANES)
        own, _ = potential_and_mass(rows, builder.mul(args[2], args[2].type(LANES)))
        inflow, outflow = (cgutils.alloca_once_value(builder, zero) for _ in range(2))
        step = args[5].type(LANES)
        with cgutils.for_range_slice(builder, args[5], args[6], step) as (e, _):
            phi, mass = potential_and_mass(cols, e)
            v = builder.fsub(own, phi)
            if weighted:
                v = builder.fmul(v, builder.load(lanes_at(data(4), e, of_lanes), align=align))
            # Not ``gain - v``, which rounds: both ends of an edge must see the same flow.
            gain = builder.select(builder.fcmp_ordered(">", v, zero), v, zero)
            lost = builder.select(builder.fcmp_ordered("<", v, zero), builder.fneg(v), zero)
            moved = builder.fmul(gain, mass)
            for total, more in ((inflow, moved), (outflow, lost)):
                builder.store(builder.fadd(builder.load(total), more), total)
        for k, total in ((7, inflow), (8, outflow)):
            at = lanes_at(data(k), wide(0), of_lanes)
            builder.store(builder.load(total), at, align=align)
        return context.get_dummy_value()

    return signature, generate


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


@numba.njit(cache=True, parallel=True)
def _prepare(
    chunk_row: Ints, loss: Floats, shift: Any, scale: Any, beta: Any, q: Floats, pair: Floats
) -> None:
    """Write each node's potential ``phi = l - beta log q`` and its mass side by side."""
    for c in prange(len(chunk_row) - 1):
        for i in range(chunk_row[c], chunk_row[c + 1]):
            mass = _take(q, i)
            _put(pair, 2 * i, (scale * _take(loss, i) - shift) - beta * _log(mass))
            _put(pair, 2 * i + 1, mass)


@numba.njit(cache=True, error_model="numpy")
def _settle(
    second: bool,
    low: int,
    inflow: Floats,
    outflow: Floats,
    offer: Floats,
    q: Floats,
    tau: Any,
    keep: Any,
    floor: Any,
) -> int:
    """Turn what a chunk of nodes takes and gives into weights; count the limited donors.

    The first pass writes ``q + tau dq/dt``, which is positive; for a donor that would keep too
    little it writes what it can offer per unit of outflow instead, as a negative number. The second
    moves what was offered.
    """
    limited = 0
    zero = tau - tau
    for i in range(len(inflow)):
        at = low + i
        mass, taken, given = _take(offer, 2 * at), _take(inflow, i), _take(outflow, i)
        least = max(keep * mass, floor)
        lost = mass * (tau * given)
        too_much = given > zero and not mass - lost >= least
        if second:
            _put(q, at, (_take(q, at) - mass * given) + taken)
        else:
            offered = min(max(mass - least, zero) / given, tau * mass)
            _put(q, at, -offered if too_much else (mass - lost) + tau * taken)
            limited += too_much
    return limited


@numba.njit(cache=True, parallel=True)
def _over_edges(
    second: bool,
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
        low = chunk_row[c]
        inflow = np.zeros(chunk_row[c + 1] - low, pair.dtype)
        outflow = np.zeros(chunk_row[c + 1] - low, pair.dtype)
        taken = np.empty(LANES, pair.dtype)
        given = np.empty(LANES, pair.dtype)
        for s in range(chunk_slab[c], chunk_slab[c + 1]):
            _exchange(pair, row, s, col, weight, start[s], start[s + 1], taken, given)
            for k in range(LANES):
                i = (_take(row, s * LANES + k) >> 1) - low
                _put(inflow, i, _take(inflow, i) + _take(taken, k))
                _put(outflow, i, _take(outflow, i) + _take(given, k))
        limited += _settle(second, low, inflow, outflow, offer, q, tau, keep, floor)
    return limited


@numba.njit(cache=True)
def _offer(offer: Floats, q: Floats, tau: Any) -> None:
    """Put the masses back where they were and what is offered beside the potentials."""
    for i in range(len(q)):
        mass = offer[2 * i]
        offer[2 * i] = tau * mass if q[i] > 0 else -q[i]
        q[i] = mass


def euler(problem: Problem, q: Tensor, steps: int, limited: Limited) -> None:
    """Take ``steps`` limited Euler steps, in place."""
    graph, dtype = problem.graph, q.dtype
    layout = graph.layout(dtype)
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
            donors = _over_edges(False, *layout, *bounds)
            if donors:
                _offer(pair[1:], weights, tau)
                _over_edges(True, *layout, *bounds)
                limited.add(donors)


@contextmanager
def _threads(num_edges: int) -> Iterator[None]:
    of_torch = torch.get_num_threads()
    before = numba.get_num_threads()
    torch.set_num_threads(of_torch)  # the first start of numba's threads changes it
    wanted = of_torch if num_edges >= PARALLEL_EDGES else 1
    numba.set_num_threads(min(wanted, numba.config.NUMBA_NUM_THREADS))
    try:
        yield
    finally:
        numba.set_num_threads(before)
