"""The compiled inner loops of the samplers. Graphs are CSR by source node."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def compress(source: Ints, target: Ints, num_nodes: int) -> tuple[Ints, Ints, Ints]:
    """Row pointer, targets and original position of every edge, stable within a row."""
    rowptr = np.zeros(num_nodes + 1, np.int64)
    for node in source:
        rowptr[node + 1] += 1
    for node in range(num_nodes):
        rowptr[node + 1] += rowptr[node]
    free = rowptr[:-1].copy()
    col = np.empty_like(target)
    position = np.empty_like(target)
    for edge in range(len(source)):
        slot = free[source[edge]]
        free[source[edge]] += 1
        col[slot] = target[edge]
        position[slot] = edge
    return rowptr, col, position


@njit(cache=True, nogil=True)
def visit(rowptr: Ints, col: Ints, roots: Ints, draws: Floats, seen: NDArray[np.bool_]) -> Ints:
    """The distinct nodes on a walk from every root, ascending.

    Row r of ``draws`` in [0, 1) picks the neighbours of walk r. A walk stays where no edge
    leaves. ``seen`` is scratch, all false before and after.
    """
    found = np.empty(roots.size * (draws.shape[1] + 1), np.int64)
    count = 0
    for walk in range(roots.size):
        node = roots[walk]
        for step in range(draws.shape[1] + 1):
            if step > 0:
                degree = rowptr[node + 1] - rowptr[node]
                if degree == 0:
                    break
                node = col[rowptr[node] + int(draws[walk, step - 1] * degree)]
            if not seen[node]:
                seen[node] = True
                found[count] = node
                count += 1
    nodes = np.sort(found[:count])
    for node in nodes:
        seen[node] = False
    return nodes


@njit(cache=True, nogil=True)
def induce(rowptr: Ints, col: Ints, nodes: Ints, local: Ints) -> tuple[Ints, Ints]:
    """Edges between ``nodes``, as rows, and the place of each in ``col``.

    Work is linear in the edges that leave ``nodes``. ``local`` is scratch, all -1 before and
    after.
    """
    for row in range(nodes.size):
        local[nodes[row]] = row
    count = 0
    for node in nodes:
        for slot in range(rowptr[node], rowptr[node + 1]):
            count += local[col[slot]] >= 0
    edges = np.empty((2, count), np.int64)
    slots = np.empty(count, np.int64)
    count = 0
    for row in range(nodes.size):
        for slot in range(rowptr[nodes[row]], rowptr[nodes[row] + 1]):
            other = local[col[slot]]
            if other >= 0:
                edges[0, count] = row
                edges[1, count] = other
                slots[count] = slot
                count += 1
    for node in nodes:
        local[node] = -1
    return edges, slots


@njit(cache=True, nogil=True)
def pick(rowptr: Ints, degree_limit: int, nodes: Ints, draws: Floats) -> tuple[Ints, Ints]:
    """At most ``degree_limit`` distinct slots of every node's row, and the row of each.

    Robert Floyd's algorithm: uniform over the subsets, from ``degree_limit`` draws a row.
    A row with no more than the limit is taken whole. A negative limit takes all.
    """
    total = 0
    for node in nodes:
        degree = rowptr[node + 1] - rowptr[node]
        total += degree if degree_limit < 0 else min(degree, degree_limit)
    rows = np.empty(total, np.int64)
    slots = np.empty(total, np.int64)
    count = 0
    for row in range(nodes.size):
        first = rowptr[nodes[row]]
        degree = rowptr[nodes[row] + 1] - first
        start = count
        if degree_limit < 0 or degree <= degree_limit:
            for slot in range(first, first + degree):
                slots[count] = slot
                rows[count] = row
                count += 1
            continue
        for k in range(degree_limit):
            last = degree - degree_limit + k
            slot = first + int(draws[row, k] * (last + 1))
            for earlier in range(start, count):
                if slots[earlier] == slot:
                    slot = first + last
                    break
            slots[count] = slot
            rows[count] = row
            count += 1
    return rows, slots
