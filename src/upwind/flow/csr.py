"""Compiled, linear-time work on the edges: symmetric CSR and connected components."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.floating[Any]]
Rows = tuple[Ints, Ints, Floats]  # rowptr, col, weight


def symmetric(
    source: Ints, target: Ints, weight: Floats | None, num_nodes: int
) -> tuple[Ints, Ints, Floats | None, bool]:
    """Return ``rowptr, col, weight`` of the symmetric graph, and whether the input was directed.

    Two counting sorts, by target and then by source, put the edges in order in linear time; a
    third gives the reversed graph, which equals the graph if and only if it is symmetric.
    """
    ones = np.empty(0, np.float32)
    index = np.int32(0) if num_nodes < 2**31 else np.int64(0)
    by_target = _by_target(source, target, ones if weight is None else weight, num_nodes, index)
    forth = _sum_parallel(*_reversed(*by_target))
    back = _reversed(*forth)
    same_edges = np.array_equal(forth[0], back[0]) and np.array_equal(forth[1], back[1])
    same_weights = same_edges and np.array_equal(forth[2], back[2])
    # Parallel edges may have been summed in another order in the other direction: no direction.
    directed = not (same_edges and np.allclose(forth[2], back[2], rtol=1e-5, atol=0))
    rowptr, col, value = forth if same_weights else _union(*forth, *back)
    if len(col) < 2**31:
        rowptr = rowptr.astype(np.int32)
    return rowptr, col, None if np.all(value == 1) else value, directed


@numba.njit(cache=True)
def _by_target(source: Ints, target: Ints, weight: Floats, num_nodes: int, index: Any) -> Rows:
    """Gather each node's sources, in the order given; drop self-loops and edges of no weight."""
    weighted = len(weight) > 0
    start = np.zeros(num_nodes + 1, np.int64)
    for e in range(len(source)):
        if source[e] != target[e] and (not weighted or weight[e] > 0):
            start[target[e] + 1] += 1
    for i in range(num_nodes):
        start[i + 1] += start[i]
    place = start[:-1].copy()
    col = np.empty(start[-1], type(index))
    value = np.ones(start[-1], weight.dtype)
    for e in range(len(source)):
        if source[e] != target[e] and (not weighted or weight[e] > 0):
            p = place[target[e]]
            place[target[e]] += 1
            col[p] = source[e]
            if weighted:
                value[p] = weight[e]
    return start, col, value


@numba.njit(cache=True)
def _reversed(rowptr: Ints, col: Ints, weight: Floats) -> Rows:
    """Reverse every edge; the columns of the result are sorted."""
    n = len(rowptr) - 1
    start = np.zeros(n + 1, np.int64)
    for j in col:
        start[j + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    place = start[:-1].copy()
    other = np.empty_like(col)
    value = np.empty_like(weight)
    for i in range(n):
        for e in range(rowptr[i], rowptr[i + 1]):
            p = place[col[e]]
            place[col[e]] += 1
            other[p] = i
            value[p] = weight[e]
    return start, other, value


@numba.njit(cache=True)
def _sum_parallel(rowptr: Ints, col: Ints, weight: Floats) -> Rows:
    """Make equal neighbours of a row one edge, in place."""
    kept = 0
    begin = rowptr[0]
    for i in range(len(rowptr) - 1):
        first = kept
        for e in range(begin, rowptr[i + 1]):
            if kept > first and col[kept - 1] == col[e]:
                weight[kept - 1] += weight[e]
            else:
                col[kept] = col[e]
                weight[kept] = weight[e]
                kept += 1
        begin = rowptr[i + 1]
        rowptr[i + 1] = kept
    return rowptr, col[:kept], weight[:kept]


@numba.njit(cache=True)
def _union(
    rowptr_a: Ints, col_a: Ints, weight_a: Floats, rowptr_b: Ints, col_b: Ints, weight_b: Floats
) -> Rows:
    """Merge two sorted graphs row by row; where both have an edge, the larger weight counts."""
    n = len(rowptr_a) - 1
    rowptr = np.zeros(n + 1, np.int64)
    col = np.empty(len(col_a) + len(col_b), col_a.dtype)
    weight = np.empty(len(col), weight_a.dtype)
    kept = 0
    for i in range(n):
        a, b = rowptr_a[i], rowptr_b[i]
        while a < rowptr_a[i + 1] or b < rowptr_b[i + 1]:
            only_b = a == rowptr_a[i + 1] or (b < rowptr_b[i + 1] and col_b[b] < col_a[a])
            only_a = not only_b and (b == rowptr_b[i + 1] or col_a[a] < col_b[b])
            col[kept] = col_b[b] if only_b else col_a[a]
            if only_a:
                weight[kept] = weight_a[a]
            elif only_b:
                weight[kept] = weight_b[b]
            else:
                weight[kept] = max(weight_a[a], weight_b[b])
            a += 0 if only_b else 1
            b += 0 if only_a else 1
            kept += 1
        rowptr[i + 1] = kept
    return rowptr, col[:kept].copy(), weight[:kept].copy()


@numba.njit(cache=True)
def components(rowptr: Ints, col: Ints) -> Ints:
    """Label the connected components by breadth-first search, numbered by their first node."""
    n = len(rowptr) - 1
    label = np.full(n, -1, np.int64)
    queue = np.empty(n, np.int64)
    found = 0
    for seed in range(n):
        if label[seed] >= 0:
            continue
        label[seed] = found
        queue[0] = seed
        head, tail = 0, 1
        while head < tail:
            i = queue[head]
            head += 1
            for e in range(rowptr[i], rowptr[i + 1]):
                if label[col[e]] < 0:
                    label[col[e]] = found
                    queue[tail] = col[e]
                    tail += 1
        found += 1
    return label


@numba.njit(cache=True)
def first_repeat(nodes: Ints, place: Ints) -> int:
    """Where the first node stands that stood before; -1 if none. ``place`` as in ``induced``."""
    repeat = -1
    for k in range(len(nodes)):
        if place[nodes[k]] >= 0:
            repeat = k
            break
        place[nodes[k]] = k
    for i in nodes:
        place[i] = -1
    return repeat


@numba.njit(cache=True)
def induced(rowptr: Ints, col: Ints, weight: Floats, nodes: Ints, place: Ints) -> Rows:
    """Keep the edges among ``nodes``, renumbered in their order.

    ``place`` has an entry of -1 for each node of the graph, and has so again at the end. The
    columns of the result are sorted only where ``nodes`` is.
    """
    for k in range(len(nodes)):
        place[nodes[k]] = k
    start = np.zeros(len(nodes) + 1, np.int64)
    most = 0
    for i in nodes:
        most += rowptr[i + 1] - rowptr[i]
    other = np.empty(most, col.dtype)
    value = np.empty(most if len(weight) else 0, weight.dtype)
    kept = 0
    for k in range(len(nodes)):
        for e in range(rowptr[nodes[k]], rowptr[nodes[k] + 1]):
            j = place[col[e]]
            if j >= 0:
                other[kept] = j
                if len(weight):
                    value[kept] = weight[e]
                kept += 1
        start[k + 1] = kept
    for i in nodes:
        place[i] = -1
    return start, other[:kept].copy(), value[: kept if len(weight) else 0].copy()
