"""Building a stored graph from streams: features and edges pass through memory, and do not stay."""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from upwind.data.defects import SHOWN, Defect, settle
from upwind.data.split import Ids
from upwind.data.stored import create, is_stored, write_header
from upwind.errors import InputError

BUCKETS = 64
"""Edges are sorted a range of targets at a time: a 64th of them is in memory at once."""

Floats = NDArray[np.float32]
Edges = tuple[Ids, Ids, Floats | None]
"""Sources, targets and weights of some edges; an end that is no node is -1."""


@dataclass
class Tally:
    """How often something is wrong, and where first, over all pieces of a stream."""

    code: str
    what: str
    advice: str
    severity: Any = "error"
    count: int = 0
    first: list[str] = field(default_factory=list)

    def note(self, places: NDArray[np.bool_], before: int, thing: str) -> None:
        """Count the places of a piece that comes after so many things."""
        found = np.flatnonzero(places)
        self.count += len(found)
        room = max(SHOWN - len(self.first), 0)
        self.first += [f"{thing} {before + int(place):,}" for place in found[:room]]

    def defects(self) -> list[Defect]:
        """One, if anything was counted."""
        if not self.count:
            return []
        what = (self.code, self.severity, self.what, self.advice)
        return [Defect(*what, self.count, tuple(self.first))]


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A folder beside `out` that takes its place when all went well, and else goes away."""
    if out.exists():
        kind = "holds a graph already" if is_stored(out) else "exists already"
        raise InputError(f"{out} {kind}; name a new folder, or remove it first.")
    part = out.with_name(f".{out.name}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        yield part
        part.rename(out)
    except OSError as error:
        raise InputError(
            f"{out} could not be written ({error.strerror or error}); free some space there."
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def build(
    folder: Path,
    name: str,
    num_nodes: int,
    features: Iterable[Floats],
    num_features: int,
    edges: Iterable[Edges],
    *,
    both_ways: bool,
    arrays: Mapping[str, NDArray[Any]],
    facts: Mapping[str, Any],
    defects: list[Defect],
) -> dict[str, Any]:
    """Write the arrays and the header of a graph, and return the header.

    Args:
        folder: An empty folder.
        name: What messages call the source.
        num_nodes: How many nodes.
        features: Rows of x, in order, some at a time.
        num_features: How many columns they have.
        edges: Edges, some at a time.
        both_ways: Store every edge in both directions.
        arrays: Other arrays, with a value a node.
        facts: What else the header says.
        defects: What the caller found wrong.
    """
    if num_nodes == 0 or num_features == 0:
        missing = "nodes" if num_nodes == 0 else "features"
        raise InputError(f"{name}: the graph has no {missing}; give one that has.")
    found = [*_write_features(folder, num_nodes, num_features, features)]
    found += _write_edges(folder, num_nodes, edges, both_ways)
    settle([*defects, *found], name)
    for key, values in arrays.items():
        np.save(folder / f"{key}.npy", values)
    edge_index = np.load(folder / "edge_index.npy", mmap_mode="r")
    sizes = {"nodes": num_nodes, "edges": edge_index.shape[1], "features": num_features}
    return write_header(folder, {**sizes, **facts})


def _write_features(
    folder: Path, num_nodes: int, num_features: int, pieces: Iterable[Floats]
) -> list[Defect]:
    broken = Tally("nan_features", "nodes with a NaN or infinite feature", "fill such values in")
    x = create(folder, "x", (num_nodes, num_features), np.float32)
    row = 0
    for piece in pieces:
        if row + len(piece) > num_nodes:
            raise InputError(f"there are more rows of features than the {num_nodes} nodes.")
        broken.note(~np.isfinite(piece.sum(axis=1, dtype=np.float64)), row, "row")
        x[row : row + len(piece)] = piece
        row += len(piece)
    if row != num_nodes:
        raise InputError(f"there are {row} rows of features and {num_nodes} nodes.")
    return broken.defects()


def _write_edges(
    folder: Path, num_nodes: int, pieces: Iterable[Edges], both_ways: bool
) -> list[Defect]:
    scratch = folder / "scratch"
    scratch.mkdir()
    index = np.dtype(np.int32 if num_nodes < 2**31 else np.int64)
    kept, weighted, found = _divide(scratch, num_nodes, pieces, both_ways, index)
    found += _sort(folder, scratch, num_nodes, kept, weighted, index)
    scratch.rmdir()
    return found


def _divide(
    scratch: Path, num_nodes: int, pieces: Iterable[Edges], both_ways: bool, index: np.dtype[Any]
) -> tuple[int, bool, list[Defect]]:
    """Append every edge to the file of its target's bucket; how many, and whether weighted."""
    outside = Tally("outside", "edges that point outside the nodes", "correct or drop them")
    wrong = Tally("weights", "edge weights negative, NaN or infinite", "give others")
    loops = Tally("self_loops", "self-loops", "the flow ignores them", "warning")
    seen, kept, weighted = 0, 0, False
    for source, target, weight in pieces:
        inside = (source >= 0) & (source < num_nodes) & (target >= 0) & (target < num_nodes)
        outside.note(~inside, seen, "edge")
        loops.note((source == target) & inside, seen, "edge")
        if weight is not None:
            weighted = True
            wrong.note(~(np.isfinite(weight) & (weight >= 0)), seen, "edge")
        seen += len(source)
        parts: dict[str, NDArray[Any]] = {
            "source": source[inside].astype(index),
            "target": target[inside].astype(index),
        }
        if weight is not None:
            parts["weight"] = weight[inside].astype(np.float32)
        if both_ways:
            across = parts["source"] != parts["target"]  # a loop is its own reverse
            back = {name: values[across] for name, values in parts.items()}
            back["source"], back["target"] = back["target"], back["source"]
            parts = {name: np.concatenate([parts[name], back[name]]) for name in parts}
        kept += len(parts["target"])
        _append(scratch, parts, _width(num_nodes))
    return kept, weighted, [*outside.defects(), *wrong.defects(), *loops.defects()]


def _width(num_nodes: int) -> int:
    """How many targets a bucket has."""
    return -(-num_nodes // BUCKETS)


def _append(scratch: Path, parts: Mapping[str, NDArray[Any]], width: int) -> None:
    bucket = (parts["target"] // width).astype(np.uint8)  # few values: sorted in linear time
    order = np.argsort(bucket, kind="stable")
    ends = np.searchsorted(bucket[order], np.arange(BUCKETS + 1))
    for name, values in parts.items():
        in_order = values[order]
        for number in np.flatnonzero(np.diff(ends)):
            with (scratch / f"{number}.{name}").open("ab") as file:
                in_order[ends[number] : ends[number + 1]].tofile(file)


def _sort(
    folder: Path, scratch: Path, num_nodes: int, kept: int, weighted: bool, index: np.dtype[Any]
) -> list[Defect]:
    """Write the edges bucket by bucket, each sorted by target and source, and where rows begin."""
    edge_index = create(folder, "edge_index", (2, kept), index)
    weights = create(folder, "edge_weight", (kept,), np.float32) if weighted else None
    rowptr = np.zeros(num_nodes + 1, np.int64)
    linked = np.zeros(num_nodes, bool)
    width, first, repeated = _width(num_nodes), 0, 0
    for bucket in range(BUCKETS):
        files = [scratch / f"{bucket}.{part}" for part in ("source", "target", "weight")]
        if not files[0].exists():
            continue
        source, target = (np.fromfile(file, index) for file in files[:2])
        # One number for both ends: the target's place in the bucket, then the source.
        keys = (target - bucket * width).astype(np.int64) * num_nodes + source
        last = first + len(keys)
        if weights is None:
            keys.sort()
        else:
            order = np.argsort(keys)
            weights[first:last] = np.fromfile(files[2], np.float32)[order]
            keys = keys[order]
        target, source = np.divmod(keys, num_nodes)
        degree = np.bincount(target)
        rowptr[bucket * width + 1 : bucket * width + 1 + len(degree)] = degree
        target += bucket * width
        edge_index[:, first:last] = source, target
        across = source != target
        linked[source[across]] = True
        linked[target[across]] = True
        repeated += int((keys[1:] == keys[:-1]).sum())
        first = last
        for file in files:
            file.unlink(missing_ok=True)
    np.save(folder / "rowptr.npy", rowptr.cumsum())
    found = []
    if repeated:
        what, advice = f"{repeated:,} edges that repeat another", "k act as one of weight k"
        found.append(Defect("duplicates", "warning", what, advice, repeated))
    alone = Tally("isolated", "isolated nodes", "nothing flows to or from them", "warning")
    alone.note(~linked, 0, "row")
    return [*found, *alone.defects()]
