"""Commands about graphs: what there is, what one looks like, importing a large one."""

from pathlib import Path
from typing import Annotated, Any

import typer

from upwind.cli._shared import Json


def datasets(
    source: Annotated[
        str | None, typer.Argument(help="A data set's name, or a graph of your own.")
    ] = None,
    shift: Annotated[str | None, typer.Option(help="covariate, concept or none.")] = None,
    domain: Annotated[
        str | None, typer.Option(help="Shift by this: a column, degree, word or pagerank.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="A folder of raw files in PyG's layout, or UPWIND_DATA.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the split.")] = None,
    balance: Annotated[bool, typer.Option("--balance", help="Repair an empty part.")] = False,
    ratio: Annotated[float, typer.Option(help="Imbalance of a long-tailed set.")] = 100.0,
    edges: Annotated[Path | None, typer.Option(help="Edge table, for a node table.")] = None,
    id: Annotated[str | None, typer.Option(help="Column of node ids.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of labels.")] = None,
    split: Annotated[str | None, typer.Option(help="Column of parts of the split.")] = None,
    features: Annotated[str | None, typer.Option(help="Columns of features: a,b,c.")] = None,
    start: Annotated[str | None, typer.Option(help="Column where edges start.")] = None,
    end: Annotated[str | None, typer.Option(help="Column where edges end.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of edge weights.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Where to save the picture.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document, no tables.")] = False,
) -> None:
    """List the data sets, or show one: its split, and how strong its shift is."""
    from upwind.data import list_data_sets, show_data_set

    if source is None:
        list_data_sets(as_json)
        return
    columns = {
        "id": id,
        "label": label,
        "split": split,
        "features": features.split(",") if features else None,
        "start": start,
        "end": end,
        "weight": weight,
    }
    show_data_set(
        source,
        picture=picture,
        as_json=as_json,
        shift=shift,
        domain=domain,
        seed=seed,
        root=data,
        balance=balance,
        ratio=ratio,
        edges=edges,
        **{name: column for name, column in columns.items() if column},
    )


def import_(
    source: Annotated[
        Path, typer.Argument(help="A Parquet node table, a folder with both, or OGB's raw files.")
    ],
    out: Annotated[Path, typer.Argument(help="A new folder, to use as you would use a file.")],
    edges: Annotated[Path | None, typer.Option(help="Edge table, for a node table.")] = None,
    id: Annotated[str | None, typer.Option(help="Column of node ids.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of labels.")] = None,
    split: Annotated[
        str | None, typer.Option(help="Column of parts of the split; of OGB's splits, which.")
    ] = None,
    domain: Annotated[str | None, typer.Option(help="Column to shift by.")] = None,
    features: Annotated[str | None, typer.Option(help="Columns of features: a,b,c.")] = None,
    start: Annotated[str | None, typer.Option(help="Column where edges start.")] = None,
    end: Annotated[str | None, typer.Option(help="Column where edges end.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of edge weights.")] = None,
    undirected: Annotated[
        bool, typer.Option("--undirected", help="Store every edge both ways.")
    ] = False,
    json: Json = False,
) -> None:
    """Import a graph that is larger than memory into a folder of arrays."""
    from upwind import _terminal as terminal
    from upwind.data import import_graph

    columns: dict[str, Any] = {"id": id, "label": label, "split": split, "start": start}
    columns |= {"end": end, "weight": weight, "features": features and features.split(",")}
    with terminal.busy(f"importing {source}"):
        header = import_graph(
            source,
            out,
            edges=edges,
            domain=domain,
            undirected=undirected,
            **{name: column for name, column in columns.items() if column},
        )
    if json:
        terminal.say_json({"graph": out, **header})
    else:
        sizes = [f"{header[what]:,} {what}" for what in ("nodes", "edges", "features")]
        print(f"{', '.join(sizes)}, {len(header['label_names'])} classes in {out}")
