"""Commands for research: the paper's tables and figures, tuning, records, theory."""

import json as json_text
from pathlib import Path
from typing import Annotated, Any

import typer

from upwind._settings import with_settings
from upwind.cli._shared import Cluster, Jobs, Json, RawFiles, Root, Source, asked_for
from upwind.errors import InputError


def paper(
    what: Annotated[
        str,
        typer.Argument(
            help="table1, table2, table-reconnect-ood, table-reconnect-lt, table-data, "
            "figure-steps, figure-beta, figure-flow, verdict, or all."
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="A look in ten minutes: few seeds, epochs and data.")
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Run nothing: say what is missing, write what there is.")
    ] = False,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    runs: Root = Path("runs"),
    results: Annotated[
        Path, typer.Option(help="A folder with compact records of runs done elsewhere.")
    ] = Path("results"),
    out: Annotated[Path, typer.Option(help="Where the files go.")] = Path("out/paper"),
    data: RawFiles = None,
    json: Json = False,
) -> None:
    """Make a table or figure of the paper: do the runs that are missing, then write it."""
    from upwind import _terminal as terminal
    from upwind.paper import make

    def say(missing: Any) -> None:
        if not json:
            print(_missing(missing, jobs))

    made = make(
        what,
        root=runs,
        compact=results,
        out=out,
        data=data,
        jobs=jobs,
        cluster=cluster,
        look=quick,
        run=not plan,
        watch=terminal.progress_of,
        say=say,
    )
    if json:
        terminal.say_json(
            {
                "files": made.files,
                "missing": len(made.missing.work) + made.missing.later,
                "seconds": made.missing.seconds,
                "problems": made.problems,
            }
        )
    else:
        if plan or made.missing.work:
            print(_missing(made.missing, jobs))
        for path in made.files:
            print(path)
        for problem in made.problems:
            typer.echo(f"upwind: {problem}", err=True)
    if made.problems:
        raise typer.Exit(1)


@with_settings(without=["method"])
def tune(
    source: Source,
    method: Annotated[str, typer.Option(help="What to tune: tar, or tar:restart=true.")] = "tar",
    trials: Annotated[int, typer.Option(help="Trials of the study, whoever does them.")] = 50,
    search: Annotated[
        list[str] | None, typer.Option(help="A further setting to search: lr=0.01,0.001.")
    ] = None,
    storage: Annotated[
        str | None, typer.Option(help="A database URL for several machines; else a SQLite file.")
    ] = None,
    runs: Root = Path("runs"),
    json: Json = False,
    **settings: Any,
) -> None:
    """Search a method's options on validation; the same command goes on with the same study."""
    from upwind import _terminal as terminal
    from upwind.runs.tune import tune as search_for

    best = search_for(
        asked_for(source, {"method": method, **settings}),
        trials=trials,
        search=_space(search or []),
        root=runs,
        storage=storage,
    )
    if json:
        terminal.say_json(best)
        return
    extra = "".join(f" --{name.replace('_', '-')} {v}" for name, v in best.settings.items())
    print(
        f"best of {best.trials} trials ({best.stopped} stopped early): {100 * best.value:.2f} on "
        f"validation\n--method {best.method}{extra}\n{best.run}"
    )


def results(
    runs: Root = Path("runs"),
    out: Annotated[Path, typer.Option(help="A folder of compact records.")] = Path("results"),
    json: Json = False,
) -> None:
    """Add the finished runs to compact records, small enough to keep beside the code."""
    from upwind import _terminal as terminal
    from upwind.runs.ledger import Ledger, write_compact

    written = write_compact(Ledger.read(runs, out), out)
    if json:
        terminal.say_json({"files": written})
    else:
        for path in written:
            print(path)


def theory(
    seed: Annotated[int, typer.Option(help="Seed of the graphs and losses.")] = 0,
    data: RawFiles = None,
    figure: Annotated[Path | None, typer.Option(help="Where to draw what was measured.")] = None,
    figure_flow: Annotated[
        Path | None, typer.Option(help="Where to draw the flow among its balls.")
    ] = None,
    json: Json = False,
) -> None:
    """Check the paper's theorems with numbers, and say how far the flow reaches."""
    from upwind.theory import show_theory

    show_theory(
        seed=seed,
        data=None if data is None else Path(data),
        figure=figure,
        figure_flow=figure_flow,
        as_json=json,
    )


def _missing(missing: Any, jobs: int) -> str:
    from upwind import _terminal as terminal

    if not missing.work:
        return "every run that this needs is there"
    later = f", and at most {missing.later} more once these have chosen" if missing.later else ""
    time = terminal.duration(missing.seconds / jobs)
    return f"{len(missing.work)} runs to do{later}: about {time} with {jobs} at a time"


def _space(given: list[str]) -> dict[str, list[Any]]:
    """What ``--search`` names, each value as the number it may be."""
    space = {}
    for text in given:
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise InputError(f"--search {text} must name a setting and values: lr=0.01,0.001")
        space[name] = [_value(value) for value in values.split(",")]
    return space


def _value(text: str) -> Any:
    try:
        return json_text.loads(text)
    except ValueError:
        return text
