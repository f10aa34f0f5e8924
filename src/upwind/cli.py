"""The command line: each command calls one function of a room, and says the answer.

What a command needs is imported inside it, so that ``upwind --help`` answers at once.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from upwind import __version__
from upwind.errors import InputError

app = typer.Typer(
    name="upwind",
    help="Train node classifiers that hold up when the graph changes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Train node classifiers that hold up when the graph changes."""


@app.command()
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


def main() -> None:
    """Run the command line; input that cannot be used ends it with one sentence and code 2."""
    try:
        app()
    except InputError as error:
        print(f"upwind: {error}", file=sys.stderr)
        sys.exit(2)
