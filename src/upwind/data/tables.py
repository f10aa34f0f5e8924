"""A graph in two tables: one row a node, and one row an edge."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from upwind.data.defects import Defect, Findings
from upwind.data.split import PARTS, Ids
from upwind.data.table_files import (
    column,
    column_names,
    filled,
    numbers,
    read_table,
    texts,
    width,
)
from upwind.errors import InputError

_ALSO = {
    "training": "train",
    "valid": "val",
    "validation": "val",
    "ood_val": "val",
    "ood_test": "test",
}


class Columns(TypedDict, total=False):
    """What the columns of the two tables are called.

    Attributes:
        id: Of the node table: the node's id, of any type. By default ``id``, else the first column.
        label: The class, a word or a number; by default ``label``, where there is such a column.
        split: The part of the split: train, id_val, id_test, val, test, or empty; by default
            ``split``, where there is such a column.
        features: The feature columns; by default all others that hold numbers.
        start: Of the edge table: the id an edge starts from. By default ``source``, else the first.
        end: The id it goes to. By default ``target``, else the second.
        weight: Its weight; by default ``weight``, where there is such a column.
    """

    id: str
    label: str
    split: str
    features: Sequence[str]
    start: str
    end: str
    weight: str


def read_tables(
    nodes: Path, edges: Path, domain: str | None, columns: Columns
) -> tuple[dict[str, Any], list[Defect]]:
    """The arrays of a graph in two files, by name, and the defects that only the tables show."""
    there = column_names(nodes), column_names(edges)
    names = resolve(columns, *there)
    words = [names[key] for key in ("id", "label", "split") if key in names]
    words += [domain] if domain is not None and domain in there[0] else []
    return from_tables(
        read_table(nodes, words),
        read_table(edges, [names["start"], names["end"]]),
        domain,
        names,
    )


def resolve(columns: Columns, nodes: Sequence[str], edges: Sequence[str]) -> Columns:
    """Fill in the defaults; a column that is asked for and not there is an error."""
    for what, there, needed in (("node", nodes, 1), ("edge", edges, 2)):
        if len(there) < needed or (len(there) == 1 and set(there[0]) & set(";\t|")):
            raise InputError(
                f"the {what} table has {len(there)} column ({', '.join(there)}); "
                "separate columns by commas in a .csv, by tabs in a .tsv."
            )
        twins = sorted({name for name in there if there.count(name) > 1})
        if twins:
            raise InputError(f"the {what} table has several columns {twins[0]!r}; rename them.")
    for what, there, options in (
        ("node", nodes, ("id", "label", "split", "features")),
        ("edge", edges, ("start", "end", "weight")),
    ):
        for option in options:
            asked: Any = columns.get(option, ())
            for name in (asked,) if isinstance(asked, str) else asked:
                if name not in there:
                    raise InputError(
                        f"the {what} table has no column {name!r}, named as {option}; "
                        f"it has {', '.join(there[:20])}."
                    )
    names: Columns = {
        "id": "id" if "id" in nodes else nodes[0],
        "start": "source" if "source" in edges else edges[0],
        "end": "target" if "target" in edges else edges[1],
    }
    if "label" in nodes:
        names["label"] = "label"
    if "split" in nodes:
        names["split"] = "split"
    if "weight" in edges:
        names["weight"] = "weight"
    return names | columns


def from_tables(
    nodes: pa.Table, edges: pa.Table, domain: str | None, names: Columns
) -> tuple[dict[str, Any], list[Defect]]:
    """The arrays of a graph in two tables whose columns are called so."""
    found = Findings()
    ids = filled(column(nodes, names["id"]))
    found += check_ids(ids)
    fields: dict[str, Any] = {"node_names": [str(name) for name in texts(ids).to_pylist()]}
    ends = np.stack([look_up(ids, column(edges, names[end])) for end in ("start", "end")])
    known = (ends >= 0).all(axis=0)
    found.each(
        "unknown_id",
        "error",
        np.flatnonzero(~known),
        "edges that point outside the node table",
        "add these nodes or drop the edges",
        lambda row: f"row {row + 1}: {_row(edges, names, row)}",
    )
    fields["edge_index"] = ends if known.all() else ends[:, known]
    if "weight" in names:
        if width(edges, names["weight"]) > 1:
            raise InputError(f"column {names['weight']!r} holds lists; give one weight an edge.")
        fields["edge_weight"] = numbers(edges, names["weight"])[known]
    if "label" in names:
        fields["y"] = np.array(
            texts(filled(column(nodes, names["label"]))).to_pylist(), dtype=object
        )
    if "split" in names:
        masks, wrong = masks_of(texts(filled(column(nodes, names["split"]))).to_pylist())
        fields |= masks
        found += wrong
    if domain is not None and domain in nodes.schema.names:
        fields[domain] = _domain(filled(column(nodes, domain)))
    taken = {names["id"], names.get("label"), names.get("split"), domain}
    wanted = names.get("features") or [name for name in nodes.schema.names if name not in taken]
    fields["x"] = _features(nodes, wanted, "features" in names, found)
    return fields, found


def check_ids(ids: pa.Array) -> list[Defect]:
    """Ids that are missing, or that several nodes have."""
    found = Findings()
    missing = pc.indices_nonzero(pc.is_null(ids)).to_numpy(zero_copy_only=False)
    advice = "give every node an id of its own"
    found.each(
        "missing_id",
        "error",
        missing.astype(np.int64),
        "nodes without an id",
        advice,
        lambda row: f"row {row + 1}",
    )
    counts = pc.value_counts(ids.drop_null())
    twice = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
    found.each(
        "repeated_id",
        "error",
        np.arange(len(twice)),
        "ids that several nodes have",
        advice,
        lambda place: str(twice[place].as_py()),
    )
    return found


def look_up(ids: pa.Array, ends: pa.Array) -> Ids:
    """The row of each id in the node table, or -1."""
    if ids.type != ends.type:
        with contextlib.suppress(pa.ArrowInvalid):  # numbers past 2^63, or none at all
            if pa.types.is_integer(ids.type) and pa.types.is_integer(ends.type):
                ids, ends = ids.cast(pa.int64()), ends.cast(pa.int64())
    if ids.type != ends.type or pa.types.is_nested(ids.type):
        ids, ends = texts(ids), texts(ends)
    rows = pc.index_in(ends, value_set=ids, skip_nulls=True)
    return np.asarray(pc.fill_null(rows, -1).to_numpy(zero_copy_only=False), dtype=np.int64)


def _row(edges: pa.Table, names: Columns, row: int) -> str:
    return " -> ".join(str(edges[names[end]][row].as_py()) for end in ("start", "end"))


def masks_of(
    parts: Sequence[str | None],
) -> tuple[dict[str, NDArray[np.bool_]], list[Defect]]:
    """The five masks that a column of words stands for, and the words that are no part."""
    found = Findings()
    said = [(part or "").lower() for part in parts]
    part = np.array([_ALSO.get(name, name) for name in said])
    found.each(
        "unknown_part",
        "error",
        np.flatnonzero(~np.isin(part, [*PARTS, ""])),
        "unknown parts in the split column",
        f"write {', '.join(PARTS)}, or nothing",
        lambda row: f"row {row + 1}: {parts[row]}",
    )
    return {f"{name}_mask": part == name for name in PARTS}, found


def _domain(values: pa.Array) -> NDArray[Any]:
    """Numbers stay numbers, so that they sort as such; what else there is becomes words."""
    for number in (pa.int64(), pa.float64()):
        if pa.types.is_string(values.type):  # as a CSV has them, whatever they say
            with contextlib.suppress(pa.ArrowInvalid):
                values = values.cast(number)
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        return np.asarray(values.to_numpy(zero_copy_only=False))
    return np.array([name or "" for name in texts(values).to_pylist()])


def _features(
    table: pa.Table, names: Sequence[str], named: bool, found: Findings
) -> NDArray[np.float32] | None:
    widths = {name: width(table, name) for name in names}
    words = [name for name, size in widths.items() if size == 0]
    if words and named:
        raise InputError(f"feature column {words[0]!r} does not hold numbers; leave it out.")
    found.each(
        "text_columns",
        "warning",
        np.arange(len(words)),
        "columns that are not numbers, and so no features",
        "encode them as numbers if they should be",
        lambda place: words[place] + _first_word(table, words[place]),
    )
    total = sum(widths.values())
    if total == 0:
        return None
    x = np.empty((table.num_rows, total), dtype=np.float32)
    place = 0
    for name, size in widths.items():
        if size:
            x[:, place : place + size] = numbers(table, name).reshape(-1, size)
            place += size
    return x


def _first_word(table: pa.Table, name: str) -> str:
    """Where a column that begins with numbers stops being one."""
    values = column(table, name)
    if not pa.types.is_string(values.type):
        return ""
    number = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
    words = pc.invert(pc.or_(pc.match_substring_regex(values, number), pc.equal(values, "")))
    row = pc.index(words, True).as_py()
    return f", with {values[row].as_py()!r:.30} in row {row + 1}" if row > 0 else ""
