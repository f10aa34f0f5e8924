"""The command line: each command calls one function of a room, and says the answer.

What a command needs is imported inside it, so that ``upwind --help`` answers at once.
Exit codes: 0 fine, 1 a run failed, 2 input that cannot be used, 130 interrupted.
"""

import sys
import warnings
from typing import Annotated, Any

import typer

from upwind import __version__
from upwind.cli import graphs, research, training
from upwind.errors import InputError, InputWarning, RunError

app = typer.Typer(
    name="upwind",
    help="Train node classifiers that hold up when the graph changes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

_UsageError: Any = typer.BadParameter.__mro__[1]  # typer does not export the class by name


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


for _command in (
    *(graphs.datasets, training.train, training.compare, training.predict, training.report),
    *(training.runs, training.show, research.tune, research.paper, research.results),
    *(research.theory, training.doctor),
):
    app.command()(_command)
app.command("import")(graphs.import_)


def _say_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Ours in a sentence; of others nothing that a user could act on."""
    if issubclass(category, InputWarning):
        print(f"upwind: {message}", file=sys.stderr)


def main() -> None:
    """Run the command line; what goes wrong ends it with one sentence and a code."""
    warnings.showwarning = _say_warning
    try:
        # With --json a mistake in the command itself is ours to say; else typer says it well.
        sys.exit(app(standalone_mode="--json" not in sys.argv))
    except (InputError, RunError, _UsageError) as error:
        from upwind._terminal import complain

        sentence = error.format_message() if isinstance(error, _UsageError) else str(error)
        sys.exit(complain(sentence, 1 if isinstance(error, RunError) else 2))
