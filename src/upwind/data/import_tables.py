"""Importing two Parquet tables of any length: only ids, labels and parts are held in memory."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pa_parquet
from numpy.typing import NDArray

from upwind.data.assemble import by_number
from upwind.data.building import Edges, Floats, Tally, build
from upwind.data.defects import Defect
from upwind.data.split import Ids
from upwind.data.table_files import column, column_names, filled, numbers, texts, width
from upwind.data.tables import Columns, check_ids, look_up, masks_of, resolve
from upwind.errors import InputError

ROWS = 1 << 18


@dataclass
class Codes:
    """Words numbered as they come; in the end by name, numbers before words."""

    known: dict[str, int] = field(default_factory=dict)
    pieces: list[NDArray[np.int32]] = field(default_factory=list)

    def add(self, values: pa.Array) -> None:
        """Number the words of a piece; a missing one is -1."""
        found = texts(filled(values)).dictionary_encode()
        words = found.dictionary.to_pylist()
        number = np.array([self.known.setdefault(word, len(self.known)) for word in words], int)
        place = found.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        self.pieces.append(np.append(number, -1)[place].astype(np.int32))

    def sorted(self) -> tuple[Ids, list[str]]:
        """The number of each row's word, and the words."""
        names = sorted(self.known, key=by_number)
        rank = {name: place for place, name in enumerate(names)}
        number = np.array([rank[word] for word in self.known] + [-1], dtype=np.int64)
        return number[np.concatenate(self.pieces)], names


def import_tables(
    folder: Path,
    nodes: Path,
    edges: Path,
    *,
    domain: str | None,
    columns: Columns,
    both_ways: bool,
) -> dict[str, Any]:
    """Fill the folder with the graph of these two tables, and return its header."""
    there = column_names(nodes), column_names(edges)
    names = resolve(columns, *there)
    if domain is not None and domain not in there[0]:
        raise InputError(f"the node table has no column {domain!r}, named as domain.")
    domain = domain or ("domain" if "domain" in there[0] else None)
    roles = {"label": names.get("label"), "split": names.get("split"), "domain": domain}
    coded = {role: name for role, name in roles.items() if name is not None}
    taken = {names["id"], *coded.values()}
    wanted = list(names.get("features") or [name for name in there[0] if name not in taken])
    codes = {key: Codes() for key in coded}
    ids: list[pa.Array] = []
    widths: dict[str, int] = {}
    for piece in _pieces(nodes, [*taken]):
        ids.append(column(piece, names["id"]))
        for key, code in codes.items():
            code.add(column(piece, coded[key]))
    for piece in islice(_pieces(nodes, wanted), 1):
        widths = {name: width(piece, name) for name in wanted}
    if not ids:
        raise InputError(f"{nodes}: the graph has no nodes; give one that has.")
    left_out = [name for name, size in widths.items() if size == 0]
    if left_out and "features" in names:
        raise InputError(f"feature column {left_out[0]!r} does not hold numbers; leave it out.")
    widths = {name: size for name, size in widths.items() if size}
    node_ids = filled(pa.chunked_array(ids).combine_chunks())
    ids.clear()
    counted = _counted(node_ids)
    found: list[Defect] = [] if counted else check_ids(node_ids)
    if left_out:
        what, advice = "columns that are not numbers, and so no features", "encode them as numbers"
        first = tuple(left_out[:3])
        found.append(Defect("text_columns", "warning", what, advice, len(left_out), first))

    arrays: dict[str, NDArray[Any]] = {}
    facts: dict[str, Any] = {"label_names": [], "domain_names": []}
    if "label" in codes:
        arrays["y"], facts["label_names"] = codes["label"].sorted()
    if "domain" in codes:
        arrays["domain_id"], facts["domain_names"] = codes["domain"].sorted()
    if "split" in codes:
        part, words = codes["split"].sorted()
        masks, wrong = masks_of([*words, None])
        arrays |= {name: mask[part] for name, mask in masks.items()}
        if wrong:
            strange = np.append(~np.any([*masks.values()], axis=0)[:-1], False)
            rows = Tally(wrong[0].code, wrong[0].what, wrong[0].advice)
            rows.note(strange[part], 0, "row")
            found += rows.defects()
    if not counted:
        pa_parquet.write_table(pa.table({"id": node_ids}), folder / "ids.parquet")
    return build(
        folder,
        str(nodes),
        len(node_ids),
        _features(nodes, widths),
        sum(widths.values()),
        _edges(edges, names, None if counted else node_ids, len(node_ids)),
        both_ways=both_ways,
        arrays=arrays,
        facts=facts,
        defects=found,
    )


def _pieces(path: Path, names: list[str], rows: int = ROWS) -> Iterator[pa.Table]:
    try:
        with pa_parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=rows, columns=names, use_threads=False):
                yield pa.Table.from_batches([batch])
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path} cannot be read as Parquet ({reason}); is it whole?") from error


def _counted(ids: pa.Array) -> bool:
    """Whether the ids are 0, 1, 2, ..., so that nothing has to be looked up."""
    if not pa.types.is_integer(ids.type) or ids.null_count:
        return False
    return np.array_equal(ids.to_numpy(), np.arange(len(ids)))


def _features(path: Path, widths: dict[str, int]) -> Iterator[Floats]:
    for piece in _pieces(path, list(widths)):
        for name, size in widths.items():
            if width(piece, name) != size:
                raise InputError(f"column {name!r} of {path} holds lists of different lengths.")
        parts = [numbers(piece, name).reshape(-1, size) for name, size in widths.items()]
        yield np.concatenate(parts, axis=1)


def _edges(path: Path, names: Columns, ids: pa.Array | None, num_nodes: int) -> Iterator[Edges]:
    """Pieces as long as there are nodes, so that looking ids up stays linear."""
    columns = [names["start"], names["end"]]
    weight = names.get("weight")
    columns += [weight] if weight else []
    for piece in _pieces(path, columns, ROWS if ids is None else max(ROWS, num_nodes)):
        ends = []
        for end in columns[:2]:
            values = column(piece, end)
            if ids is None and pa.types.is_integer(values.type):
                ends.append(pc.fill_null(values.cast(pa.int64()), -1).to_numpy())
            else:
                ends.append(look_up(pa.array(np.arange(num_nodes)) if ids is None else ids, values))
        yield ends[0], ends[1], numbers(piece, weight) if weight else None
