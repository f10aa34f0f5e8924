"""The command line: each command calls one function of a room, and says the answer.

What a command needs is imported inside it, so that ``upwind --help`` answers at once.
"""

import sys
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


def main() -> None:
    """Run the command line; input that cannot be used ends it with one sentence and code 2."""
    try:
        app()
    except InputError as error:
        print(f"upwind: {error}", file=sys.stderr)
        sys.exit(2)
