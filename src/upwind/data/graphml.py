"""Graphs in GraphML, read as the two tables that they are."""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from upwind.data.defects import Defect
from upwind.data.tables import Columns, from_tables, resolve
from upwind.errors import InputError

_TYPES: dict[str, Callable[[str], Any]] = {
    "boolean": lambda text: text.strip().lower() in ("true", "1"),
    "int": int,
    "long": int,
    "float": float,
    "double": float,
    "string": str,
}


def read_graphml(
    path: Path, domain: str | None, columns: Columns
) -> tuple[dict[str, Any], list[Defect]]:
    """The arrays of the graph by name; each data key is a column, as in `read_tables`.

    An edge is directed unless the file says otherwise; one that is not is stored both ways.
    """
    keys: dict[str, tuple[str, str]] = {}
    rows: dict[str, list[dict[str, Any]]] = {"node": [], "edge": []}
    undirected = False
    try:
        for event, element in ET.iterparse(path, events=("start", "end")):
            tag = element.tag.rpartition("}")[2]
            if tag == "graph" and event == "start":
                undirected = element.get("edgedefault") == "undirected"
            if event == "start":
                continue
            if tag == "key":
                named = element.get("attr.name", element.attrib["id"])
                keys[element.attrib["id"]] = named, element.get("attr.type", "string")
            elif tag in rows:
                row: dict[str, Any] = {"id": element.get("id")} if tag == "node" else {}
                if tag == "edge":
                    row |= {end: element.attrib[end] for end in ("source", "target")}
                for datum in element:
                    name, kind = keys.get(datum.attrib["key"], (datum.attrib["key"], "string"))
                    # The node's own id is what edges refer to, whatever else is called id.
                    row.setdefault(name, _TYPES[kind](datum.text) if datum.text else None)
                rows[tag].append(row)
                both_ways = element.get("directed") in (None, "false") and undirected
                if tag == "edge" and (both_ways or element.get("directed") == "false"):
                    rows[tag].append(row | {"source": row["target"], "target": row["source"]})
                element.clear()
    except (ET.ParseError, KeyError, ValueError, OSError) as error:
        raise InputError(f"{path} cannot be read as GraphML ({error}).") from error
    tables = []
    for kind, needed in (("node", ["id"]), ("edge", ["source", "target"])):
        names = dict.fromkeys([*needed, *(name for row in rows[kind] for name in row)])
        values = {name: [row.get(name) for row in rows[kind]] for name in names}
        try:
            tables.append(pa.table(values))
        except (OverflowError, pa.ArrowInvalid) as error:
            raise InputError(
                f"{path} has a {kind} value past 2^63 or of a type unlike its column's ({error}); "
                "correct it."
            ) from error
    nodes, edges = tables
    return from_tables(
        nodes, edges, domain, resolve(columns, nodes.schema.names, edges.schema.names)
    )
