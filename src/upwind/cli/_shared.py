"""What the commands share: arguments with their help, and the settings that were given."""

from pathlib import Path
from typing import Annotated, Any

import typer

Source = Annotated[str, typer.Argument(help="A data set's name, or a graph of your own.")]
RunFolder = Annotated[Path, typer.Argument(help="The folder of a run: runs/<id>.")]
Root = Annotated[Path, typer.Option("--runs", help="The folder of runs.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Saving = Annotated[float, typer.Option(help="How much of a run's work may be lost.")]

Jobs = Annotated[int, typer.Option(help="Runs at the same time, each a process.")]
Cluster = Annotated[str | None, typer.Option(help="A scheduler: dask://host:port.")]
RawFiles = Annotated[
    str | None,
    typer.Option("--data", help="A folder of raw files in PyG's layout, or UPWIND_DATA."),
]


def asked_for(source: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The source and the settings that were given; the others are filled in later."""
    given = {name: value for name, value in settings.items() if value is not None}
    return {"source": source, **given}
