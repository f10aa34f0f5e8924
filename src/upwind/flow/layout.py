"""The edges in the order in which the compiled kernel reads them.

A pass over a sparse graph is fast when vectors are full: rows of equal length stand side by side,
one a lane.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numba
import numpy as np

from upwind.flow.csr import Floats, Ints

LANES = 16  # one AVX-512 register of float32, two of AVX2
LONGEST = 256  # a longer row is cut, so that a hub does not leave fifteen lanes idle
MOST_CHUNKS = 64  # each thread at work on one holds two vectors of its size


class Slabs(NamedTuple):
    """Chunks of rows (the work of one thread at a time), each a run of slabs of ``LANES`` segments.

    A segment is a row, or a piece of a long one. An entry that only fills a slab up points at its
    own row: a node exchanges nothing with itself.
    """

    chunk_row: Ints  # chunk c has the rows chunk_row[c] : chunk_row[c + 1]
    chunk_slab: Ints  # and the slabs chunk_slab[c] : chunk_slab[c + 1]
    start: Ints  # slab s has the entries start[s] : start[s + 1], line after line of LANES
    row: Ints  # twice the row of each lane of each slab (twice: an index into pairs)
    col: Ints  # twice the column of each entry
    weight: Floats | None  # the weight of each entry


def lay(rowptr: Ints, col: Ints, weight: Floats | None) -> Slabs:
    """Lay out the edges, in linear time; how rows are chunked does not change a row's sum."""
    chunk_row = _chunks(rowptr)
    index = np.int32(0) if 2 * len(rowptr) < 2**31 else np.int64(0)
    values = np.empty(0, np.float32) if weight is None else weight
    parts = [_stack(rowptr, col, values, low, high, index) for low, high in pairwise(chunk_row)]
    widths, rows, cols, laid = (np.concatenate(part) for part in zip(*parts, strict=True))
    chunk_slab = np.cumsum([0, *(len(part[0]) for part in parts)])
    start = np.concatenate([[0], np.cumsum(widths * LANES)])
    return Slabs(chunk_row, chunk_slab, start, rows, cols, None if weight is None else laid)


def _chunks(rowptr: Ints) -> Ints:
    """Cut the rows where the edges divide evenly; less than 32,768 edges are not worth a cut."""
    num_edges = int(rowptr[-1])
    step = max(1 << 15, -(-num_edges // MOST_CHUNKS))
    cuts = np.searchsorted(rowptr, np.arange(step, num_edges, step))
    inner = np.unique(cuts[(cuts > 0) & (cuts < len(rowptr) - 1)])
    return np.concatenate([[0], inner, [len(rowptr) - 1]]).astype(np.int64)


@numba.njit(cache=True)
def _stack(
    rowptr: Ints, col: Ints, weight: Floats, low: int, high: int, index: Any
) -> tuple[Ints, Ints, Ints, Floats]:
    """Return the width of each slab, the row of each lane, the column and weight of each entry."""
    of_length = np.zeros(LONGEST + 2, np.int64)
    for i in range(low, high):
        degree = rowptr[i + 1] - rowptr[i]
        of_length[LONGEST] += degree // LONGEST
        of_length[degree % LONGEST] += 1
    of_length[0] = 0
    segments = of_length.sum()
    place = np.zeros(LONGEST + 2, np.int64)  # the longest stand first
    for length in range(LONGEST - 1, 0, -1):
        place[length] = place[length + 1] + of_length[length + 1]
    begin = np.empty(segments, np.int64)
    span = np.empty(segments, np.int64)
    row = np.empty(segments, np.int64)
    for i in range(low, high):
        e = rowptr[i]
        while e < rowptr[i + 1]:
            length = min(rowptr[i + 1] - e, LONGEST)
            k = place[length]
            place[length] += 1
            begin[k], span[k], row[k] = e, length, i
            e += length

    slabs = (segments + LANES - 1) // LANES
    width = span[::LANES].copy()
    lane_row = np.empty(slabs * LANES, type(index))
    entry_col = np.empty(width.sum() * LANES, type(index))
    entry_weight = np.zeros(len(entry_col) if len(weight) else 0, weight.dtype)
    filled = 0
    for s in range(slabs):
        for lane in range(LANES):
            k = min(s * LANES + lane, segments - 1)
            filler = s * LANES + lane >= segments
            lane_row[s * LANES + lane] = 2 * row[k]
            for x in range(width[s]):
                at = filled + x * LANES + lane
                if filler or x >= span[k]:
                    entry_col[at] = 2 * row[k]
                else:
                    entry_col[at] = 2 * col[begin[k] + x]
                    if len(weight):
                        entry_weight[at] = weight[begin[k] + x]
        filled += width[s] * LANES
    return width, lane_row, entry_col, entry_weight
