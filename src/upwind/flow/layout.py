"""The edges in the order in which the compiled kernel reads them.

A pass over a sparse graph is fast when vectors are full and when the values of the neighbours are
still in the cache. For the first, segments of rows of equal length stand side by side, one a lane.
For the second, on graphs that do not fit the cache, the segments are sorted by tile of the columns.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numba
import numpy as np

from upwind.flow.csr import Floats, Ints

LANES = 16  # one AVX-512 register of float32, two of AVX2
LONGEST = 256  # a longer row is cut, so that a hub does not leave fifteen lanes idle
IN_CACHE = 3 << 16  # nodes: with 8 bytes each they take three quarters of a 2 MB cache
TILE_BITS = 16  # a tile has 2 ** 16 columns
NO_TILES = 62


class Slabs(NamedTuple):
    """Chunks of rows (the work of one thread at a time), each a run of slabs of ``LANES`` segments.

    A segment is a row, or a piece of it: a long row is cut, and so is one that crosses from a tile
    of columns into the next. An entry that only fills a slab up points at its own row: a node
    exchanges nothing with itself.
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
    bits = NO_TILES if len(rowptr) - 1 <= IN_CACHE else TILE_BITS
    index = np.int32(0) if 2 * len(rowptr) < 2**31 else np.int64(0)
    values = np.empty(0, np.float32) if weight is None else weight
    parts = [_stack(rowptr, col, values, *rows, bits, index) for rows in pairwise(chunk_row)]
    widths, rows, cols, laid = (np.concatenate(part) for part in zip(*parts, strict=True))
    chunk_slab = np.cumsum([0, *(len(part[0]) for part in parts)])
    start = np.concatenate([[0], np.cumsum(widths * LANES)])
    return Slabs(chunk_row, chunk_slab, start, rows, cols, None if weight is None else laid)


def _chunks(rowptr: Ints) -> Ints:
    """Cut the rows where the edges divide evenly; less than 32,768 edges are not worth a cut."""
    num_edges = int(rowptr[-1])
    step = max(1 << 15, -(-num_edges // 16))
    cuts = np.searchsorted(rowptr, np.arange(step, num_edges, step))
    inner = np.unique(cuts[(cuts > 0) & (cuts < len(rowptr) - 1)])
    return np.concatenate([[0], inner, [len(rowptr) - 1]]).astype(np.int64)


@numba.njit(cache=True)
def _segment(col: Ints, begin: int, end: int, bits: int) -> int:
    """How many entries from ``begin`` on stand in one tile."""
    length = 1
    while (
        begin + length < end
        and length < LONGEST
        and col[begin + length] >> bits == col[begin] >> bits
    ):
        length += 1
    return length


@numba.njit(cache=True)
def _stack(
    rowptr: Ints, col: Ints, weight: Floats, low: int, high: int, bits: int, index: Any
) -> tuple[Ints, Ints, Ints, Floats]:
    """Return the width of each slab, the row of each lane, the column and weight of each entry."""
    tiles = ((len(rowptr) - 2) >> bits) + 1
    place = np.zeros(tiles * LONGEST + 1, np.int64)  # in each tile the longest stand first
    for i in range(low, high):
        e = rowptr[i]
        while e < rowptr[i + 1]:
            length = _segment(col, e, rowptr[i + 1], bits)
            place[((col[e] >> bits) + 1) * LONGEST - length + 1] += 1
            e += length
    for k in range(tiles * LONGEST):
        place[k + 1] += place[k]
    segments = place[-1]
    begin = np.empty(segments, np.int64)
    span = np.empty(segments, np.int64)
    row = np.empty(segments, np.int64)
    for i in range(low, high):
        e = rowptr[i]
        while e < rowptr[i + 1]:
            length = _segment(col, e, rowptr[i + 1], bits)
            key = ((col[e] >> bits) + 1) * LONGEST - length
            k = place[key]
            place[key] += 1
            begin[k], span[k], row[k] = e, length, i
            e += length

    slabs = (segments + LANES - 1) // LANES
    width = np.empty(slabs, np.int64)
    for s in range(slabs):
        width[s] = span[s * LANES : (s + 1) * LANES].max()
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
