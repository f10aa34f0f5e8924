"""The compiled inner loops of GraphENS: neighbours and features of synthesised nodes.

Each node v has a stream of random numbers of its own, a function of the key and v.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from upwind.nets.dropout import draw

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

_SPAN = 2**32  # numbers of a node's stream


@njit(cache=True, nogil=True)
def _uniform(key: np.uint64, i: int) -> float:
    share: float = draw(key, i) / 2.0**32
    return share


@njit(cache=True, nogil=True)
def neighbours(
    rowptr: Ints,
    col: Ints,
    source: Ints,
    target: Ints,
    own: Floats,
    degree: Ints,
    key: np.uint64,
) -> Ints:
    """``degree`` distinct neighbours of each new node, all in one row.

    One after another from own / d_s on each neighbour of the source plus (1 - own) / d_t on
    each of the target, without those that it has. Where the target has none, the source's are
    all there is. ``degree`` is at most the source's, and ``own`` at least a half, so that this
    ends soon.
    """
    found = np.empty(degree.sum(), np.int64)
    start = 0
    for v in range(len(source)):
        count, i = 0, v * _SPAN
        alone = rowptr[target[v] + 1] == rowptr[target[v]]
        while count < degree[v]:
            of = source[v] if alone or _uniform(key, i) < own[v] else target[v]
            first = rowptr[of]
            node = col[first + int(_uniform(key, i + 1) * (rowptr[of + 1] - first))]
            i += 2
            new = True
            for slot in range(start, start + count):
                new = new and found[slot] != node
            if new:
                found[start + count] = node
                count += 1
        start += count
    return found


@njit(cache=True, nogil=True)
def choose(saliency: Floats, count: int, key: np.uint64, i: int, stamp: int, seen: Ints) -> None:
    """Stamp ``count`` features in ``seen``, drawn by saliency without replacement.

    A draw that was had before is drawn again; once half of the mass is had, the rest is summed
    anew.
    """
    least = 1e-10 * (1 + saliency.sum())  # so that there are always enough to choose from
    total = np.empty(len(saliency), np.float64)
    left, had = 0.0, 1.0
    while count > 0:
        if had >= left / 2:
            left, had = 0.0, 0.0
            for f in range(len(saliency)):
                if seen[f] != stamp:
                    left += saliency[f] + least
                total[f] = left
        f = np.searchsorted(total, _uniform(key, i) * left, side="right")
        i += 1
        if f < len(saliency) and seen[f] != stamp:
            seen[f] = stamp
            had += saliency[f] + least
            count -= 1


@njit(cache=True, nogil=True)
def mix(
    rowptr: Ints,
    col: Ints,
    value: Floats,
    source: Ints,
    target: Ints,
    share: Floats,
    saliency: Floats,
    row: Ints,
    count: Ints,
    key: np.uint64,
) -> tuple[Ints, Ints, Floats]:
    """CSR of share * source + (1 - share) * target, but all source where a feature is chosen.

    ``count`` features of each node are chosen by row ``row`` of ``saliency``.
    """
    features = saliency.shape[1]
    new_rowptr = np.zeros(len(source) + 1, np.int64)
    for v in range(len(source)):
        size = rowptr[source[v] + 1] - rowptr[source[v]] + rowptr[target[v] + 1] - rowptr[target[v]]
        new_rowptr[v + 1] = new_rowptr[v] + size
    new_col = np.empty(new_rowptr[-1], np.int64)
    new_value = np.empty(new_rowptr[-1], value.dtype)
    seen = np.full(features, -1)
    place = np.full(features, -1)
    used = 0
    for v in range(len(source)):
        choose(saliency[row[v]], count[v], key, v * _SPAN, v, seen)
        first = used
        for slot in range(rowptr[source[v]], rowptr[source[v] + 1]):
            f = col[slot]
            new_col[used] = f
            new_value[used] = value[slot] if seen[f] == v else share[v] * value[slot]
            place[f] = used
            used += 1
        for slot in range(rowptr[target[v]], rowptr[target[v] + 1]):
            f = col[slot]
            if seen[f] == v:
                continue
            if place[f] < first:
                place[f] = used
                new_col[used] = f
                new_value[used] = 0
                used += 1
            new_value[place[f]] += (1 - share[v]) * value[slot]
        new_rowptr[v + 1] = used
    return new_rowptr, new_col[:used], new_value[:used]
