"""The edges in the orders in which the compiled kernel reads them.

A gather over a sparse graph is fast when vector instructions are full and when the values are
still in the cache. While all nodes fit the cache only the first matters: rows of equal length
stand side by side in :class:`Slabs`, one row a lane. On larger graphs only the second does: the
edges are read in :class:`Tiles` whose neighbours fit the cache together.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numba
import numpy as np

from upwind.flow.csr import Floats, Ints

LANES = 16  # one AVX-512 register of float32, two of AVX2
LONGEST = 256  # a longer row is cut, so that a hub does not leave fifteen lanes idle
IN_CACHE = 3 << 16  # nodes: with 8 bytes each they take three quarters of a 2 MB cache
TILE = 1 << 16


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


class Tiles(NamedTuple):
    """Chunks of rows, their edges sorted by tile of the columns and then by row."""

    chunk_row: Ints  # chunk c has the rows chunk_row[c] : chunk_row[c + 1]
    start: Ints  # and the edges start[c] : start[c + 1]
    row: Ints  # twice the row of each edge
    col: Ints  # twice its column
    weight: Floats | None


def lay(rowptr: Ints, col: Ints, weight: Floats | None) -> Slabs | Tiles:
    """Lay out the edges, in linear time; how rows are chunked does not change a row's sum."""
    in_cache = len(rowptr) - 1 <= IN_CACHE
    chunk_row = _chunks(rowptr, 16 if in_cache else 8)
    index = np.int32(0) if 2 * len(rowptr) < 2**31 else np.int64(0)
    values = np.empty(0, np.float32) if weight is None else weight
    if not in_cache:
        rows, cols, laid = _tile(rowptr, col, values, chunk_row, index)
        start = rowptr[chunk_row].astype(np.int64)
        return Tiles(chunk_row, start, rows, cols, None if weight is None else laid)
    parts = [_stack(rowptr, col, values, low, high, index) for low, high in pairwise(chunk_row)]
    widths, rows, cols, laid = (np.concatenate(part) for part in zip(*parts, strict=True))
    chunk_slab = np.cumsum([0, *(len(part[0]) for part in parts)])
    start = np.concatenate([[0], np.cumsum(widths * LANES)])
    return Slabs(chunk_row, chunk_slab, start, rows, cols, None if weight is None else laid)


def _chunks(rowptr: Ints, most: int) -> Ints:
    """Cut the rows where the edges divide evenly; less than 32,768 edges are not worth a cut."""
    num_edges = int(rowptr[-1])
    step = max(1 << 15, -(-num_edges // most))
    cuts = np.searchsorted(rowptr, np.arange(step, num_edges, step))
    inner = np.unique(cuts[(cuts > 0) & (cuts < len(rowptr) - 1)])
    return np.concatenate([[0], inner, [len(rowptr) - 1]]).astype(np.int64)


@numba.njit(cache=True)
def _tile(
    rowptr: Ints, col: Ints, weight: Floats, chunk_row: Ints, index: Any
) -> tuple[Ints, Ints, Floats]:
    tiles = (len(rowptr) - 2) // TILE + 1
    row = np.empty(len(col), type(index))
    other = np.empty(len(col), type(index))
    value = np.empty(len(weight), weight.dtype)
    for c in range(len(chunk_row) - 1):
        place = np.zeros(tiles + 1, np.int64)
        place[0] = rowptr[chunk_row[c]]
        for e in range(rowptr[chunk_row[c]], rowptr[chunk_row[c + 1]]):
            place[col[e] // TILE + 1] += 1
        for t in range(tiles):
            place[t + 1] += place[t]
        for i in range(chunk_row[c], chunk_row[c + 1]):
            for e in range(rowptr[i], rowptr[i + 1]):
                p = place[col[e] // TILE]
                place[col[e] // TILE] += 1
                row[p] = 2 * i
                other[p] = 2 * col[e]
                if len(weight):
                    value[p] = weight[e]
    return row, other, value


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
