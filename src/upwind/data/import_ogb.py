"""Importing OGB's raw form of node property prediction: compressed CSV files without headers.

raw/num-node-list.csv.gz, raw/edge.csv.gz, raw/node-feat.csv.gz, raw/node-label.csv.gz
split/SCHEME/train.csv.gz, valid.csv.gz, test.csv.gz
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from upwind.data.building import Edges, Floats, build
from upwind.errors import InputError

PARTS = {"train": "train", "valid": "val", "test": "test"}


def is_ogb(folder: Path) -> bool:
    """Whether this folder has OGB's raw files."""
    return (folder / "raw" / "edge.csv.gz").is_file()


def import_ogb(
    folder: Path, source: Path, *, scheme: str | None, both_ways: bool
) -> dict[str, Any]:
    """Fill the folder with the graph of these raw files, and return its header."""
    raw = source / "raw"
    counts = np.concatenate([_matrix(p) for p in _pieces(raw / "num-node-list.csv.gz")])
    if counts.shape != (1, 1):
        raise InputError(f"{source} holds {counts.size} graphs; upwind takes a single one.")
    n = int(counts[0, 0])
    labels = np.concatenate([_matrix(piece) for piece in _pieces(raw / "node-label.csv.gz")])
    if labels.shape != (n, 1):
        raise InputError(
            f"{source} has labels of shape {labels.shape} for {n} nodes; upwind takes one a node."
        )
    y = np.where(np.isnan(labels[:, 0]), -1, labels[:, 0]).astype(np.int64)
    if y.min() < -1 or y.max() >= n:
        raise InputError(f"{source} has labels from {y.min()} to {y.max()}; number them from 0.")
    arrays: dict[str, NDArray[Any]] = {"y": y}
    for part, nodes in _split(source, scheme).items():
        if nodes.size and (nodes.min() < 0 or nodes.max() >= n):
            raise InputError(f"the part {part} of {source} has nodes outside the {n}.")
        mask = np.zeros(n, dtype=bool)
        mask[nodes] = True
        arrays[f"{part}_mask"] = mask & (y >= 0)
    first = next(_features(raw), np.empty((0, 0), np.float32))
    return build(
        folder,
        str(source),
        n,
        _features(raw),
        first.shape[1],
        _edges(raw),
        both_ways=both_ways,
        arrays=arrays,
        facts={"label_names": [str(label) for label in range(int(y.max()) + 1)]},
        defects=[],
    )


def _split(source: Path, scheme: str | None) -> dict[str, NDArray[np.int64]]:
    there = sorted(path.name for path in (source / "split").glob("*") if path.is_dir())
    if scheme is None and len(there) != 1:
        raise InputError(f"{source} has the splits {', '.join(there) or 'none'}; name one of them.")
    chosen = scheme or there[0]
    if chosen not in there:
        raise InputError(f"{source} has no split {chosen!r}; there are {', '.join(there)}.")
    return {
        ours: np.concatenate(
            [_matrix(piece) for piece in _pieces(source / "split" / chosen / f"{theirs}.csv.gz")]
        )[:, 0].astype(np.int64)
        for theirs, ours in PARTS.items()
    }


def _features(raw: Path) -> Iterator[Floats]:
    for piece in _pieces(raw / "node-feat.csv.gz"):
        yield _matrix(piece).astype(np.float32)


def _edges(raw: Path) -> Iterator[Edges]:
    for piece in _pieces(raw / "edge.csv.gz"):
        ends = _matrix(piece)
        if ends.shape[1] != 2 or not np.array_equal(ends, np.rint(ends)):
            raise InputError(f"{raw / 'edge.csv.gz'} is no list of edges: two ids a row.")
        yield ends[:, 0].astype(np.int64), ends[:, 1].astype(np.int64), None


def _pieces(path: Path) -> Iterator[pa.RecordBatch]:
    try:
        options = pa_csv.ReadOptions(autogenerate_column_names=True, block_size=1 << 24)
        with pa_csv.open_csv(path, read_options=options) as file:
            yield from file
    except (pa.ArrowInvalid, UnicodeDecodeError, OSError) as error:
        reason = "".join(sign if sign.isprintable() else "?" for sign in str(error))
        raise InputError(f"{path} cannot be read ({reason:.200}); is it whole?") from error


def _matrix(piece: pa.RecordBatch) -> NDArray[np.float64]:
    """Numbers, exact to 2^53; what is missing is NaN."""
    columns = []
    for values in piece.columns:
        kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_null)
        if not any(is_it(values.type) for is_it in kinds):
            raise InputError(f"an OGB file holds {values.type}, and numbers belong there.")
        columns.append(pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    return np.stack(columns, axis=1)
