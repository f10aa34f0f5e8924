"""``upwind import``: from files of any size to a folder whose arrays are mapped, not read."""

from pathlib import Path
from typing import Any, Unpack

from upwind.data.building import new_folder
from upwind.data.import_ogb import import_ogb, is_ogb
from upwind.data.import_tables import import_tables
from upwind.data.own import only_file
from upwind.data.table_files import PARQUET
from upwind.data.tables import Columns
from upwind.errors import InputError


def import_graph(
    source: str | Path,
    out: str | Path,
    *,
    edges: str | Path | None = None,
    domain: str | None = None,
    undirected: bool = False,
    **columns: Unpack[Columns],
) -> dict[str, Any]:
    """Import a graph that is larger than memory, and return the header of what was written.

    Args:
        source: A Parquet node table; a folder with ``nodes.parquet`` and ``edges.parquet``; or a
            folder with OGB's raw files of a node property data set (``raw/``, ``split/``).
        out: A new folder, which `load` then takes as it takes a file.
        edges: The Parquet edge table, if `source` is a node table.
        domain: The column to shift by; by default ``domain``, where there is one.
        undirected: Store every edge both ways; some of OGB's files have one direction only.
        **columns: What the columns are called, as in `load`; ``split`` also says which of OGB's
            splits, where there are several.

    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from upwind.data import load
    >>> folder = Path(tempfile.mkdtemp())
    >>> nodes = {"id": [*"abcd"], "f": [1.0] * 4, "label": [0, 1, 0, 1], "split": ["train"] * 4}
    >>> pq.write_table(pa.table(nodes), folder / "nodes.parquet")
    >>> pq.write_table(pa.table({"from": [*"abcd"], "to": [*"bcda"]}), folder / "edges.parquet")
    >>> header = import_graph(folder, folder / "big", undirected=True)
    >>> header["nodes"], header["edges"]
    (4, 8)
    """
    source, out = Path(source), Path(out)
    if not source.exists():
        raise InputError(f"there is no file {source}; check the path.")
    with new_folder(out) as folder:
        if source.is_dir() and is_ogb(source):
            if edges or domain or set(columns) - {"split"}:
                raise InputError(f"{source} is in OGB's form, which has no columns to name.")
            return import_ogb(folder, source, scheme=columns.get("split"), both_ways=undirected)
        tables = [source, Path(edges or "")]
        if source.is_dir():
            tables = [only_file(source, stem) for stem in ("nodes", "edges")]
        elif edges is None:
            raise InputError(f"{source} is a node table; name the edge table too (edges, --edges).")
        for table in tables:
            if not table.name.lower().endswith(PARQUET):
                raise InputError(f"{table} is no Parquet file; convert it, or load it as it is.")
            if not table.exists():
                raise InputError(f"there is no file {table}; check the path.")
        return import_tables(folder, *tables, domain=domain, columns=columns, both_ways=undirected)
