"""Commands about runs: doing them, comparing them, using and reading what they left."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from upwind import __version__
from upwind._settings import with_settings
from upwind.cli import _say as say
from upwind.cli._shared import Cluster, Jobs, Json, Root, RunFolder, Saving, Source, asked_for
from upwind.errors import InputError, RunError
from upwind.train.config import TABLE_FIELDS

_INTERRUPTED = "interrupted; the same command goes on from here"


@with_settings()
def train(
    source: Source,
    runs: Root = Path("runs"),
    checkpoint_seconds: Saving = 10.0,
    json: Json = False,
    **settings: Any,
) -> None:
    """Train one model and keep a record; the same command goes on where it was stopped."""
    from upwind import _terminal as terminal
    from upwind.runs import Run, execute
    from upwind.train import load_data, resolve

    asked = asked_for(source, settings)
    data = load_data(asked)
    config = resolve(asked, data)
    run = Run.of(runs, config, data)
    try:
        with terminal.progress_of([run.folder], config.epochs, config.method):
            execute(asked, root=runs, checkpoint_seconds=checkpoint_seconds, data=data)
    except KeyboardInterrupt:
        raise typer.Exit(terminal.complain(_INTERRUPTED, 130)) from None
    if json:
        terminal.say_json({"run": run.folder, "config": config, "result": run.result})
    else:
        say.run(run)


@with_settings(without=["method", "seed"])
def compare(
    source: Source,
    methods: Annotated[
        str, typer.Option(help="Two or more, the baseline first: erm,tar,tar:restart=false.")
    ] = "erm,tar",
    seeds: Annotated[
        str, typer.Option(help="How many (the seeds of the published runs), or a list: 3,5,8.")
    ] = "5",
    jobs: Jobs = 1,
    cluster: Cluster = None,
    runs: Root = Path("runs"),
    checkpoint_seconds: Saving = 10.0,
    json: Json = False,
    **settings: Any,
) -> None:
    """Train several methods with several seeds, and say which is better and how surely."""
    from upwind import _terminal as terminal
    from upwind.runs.compare import fan_out, plan
    from upwind.train import load_data, resolve

    asked = asked_for(source, settings)
    data = load_data(asked)
    wanted = [method.strip() for method in methods.split(",")]
    comparison = plan(asked, wanted, _seeds(seeds, data.name), runs, data)
    folders = [run.folder for run in comparison.members()]
    epochs = resolve(asked, data).epochs * len(folders)
    try:
        with terminal.progress_of(folders, epochs, f"{data.name} {data.shift}"):
            problems = fan_out(
                comparison, jobs=jobs, cluster=cluster, checkpoint_seconds=checkpoint_seconds
            )
    except KeyboardInterrupt:
        say.comparison(comparison, [_INTERRUPTED], json)
        raise
    say.comparison(comparison, problems, json, _write_report(comparison, data))
    if problems:
        raise typer.Exit(1)


@with_settings(only=[*TABLE_FIELDS, "backbone"])
def predict(
    run: RunFolder,
    source: Source,
    out: Annotated[Path, typer.Option(help="Where to: .parquet or .csv.")] = Path(
        "predictions.parquet"
    ),
    json: Json = False,
    **settings: Any,
) -> None:
    """Write what a run's model says of every node of a graph."""
    from upwind import _terminal as terminal
    from upwind.runs import Run
    from upwind.runs.predict import predict as predict_with
    from upwind.runs.predict import save
    from upwind.train import load_data

    model, asked = Run(run), asked_for(source, settings)
    data = load_data(asked, label_names=model.data["label_names"])
    columns = predict_with(model, data, backbone=settings["backbone"])
    save(columns, out)
    count = len(columns["node"])
    if json:
        terminal.say_json({"out": out, "nodes": count, "columns": list(columns)})
    else:
        print(f"{count:,} predictions in {out}")


def report(
    records: Annotated[
        Path, typer.Argument(help="A comparison, runs/compare-<id>.json, or the folder of a run.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Where to; by default beside the comparison.")
    ] = None,
    json: Json = False,
) -> None:
    """Write one HTML file that shows a comparison, or a run, and needs no network."""
    from upwind import _terminal as terminal
    from upwind.report import open_records, write

    comparison = open_records(records)
    target = out or (records / "report.html" if records.is_dir() else records.with_suffix(".html"))
    write(comparison, target)
    if json:
        terminal.say_json({"report": target})
    else:
        print(target)


def runs(runs: Root = Path("runs"), json: Json = False) -> None:
    """List the runs there are."""
    from upwind import _terminal as terminal
    from upwind.runs import find_runs

    found, damaged = [], []
    for run in find_runs(runs):
        try:
            found.append(say.summary(run))
        except InputError as error:
            damaged.append({"run": run.folder, "error": str(error)})
    for line in damaged:
        print(f"upwind: {line['error']}", file=sys.stderr)
    if json:
        terminal.say_json([*found, *damaged])
    elif not found:
        print(f"no runs in {runs}")
    else:
        rows = [
            [
                line["run"].name,
                line["data"],
                str(line["shift"]),
                line["method"],
                str(line["seed"]),
                "done" if line["done"] else f"{line['epochs']} epochs",
                terminal.percent(line["test"]),
            ]
            for line in found
        ]
        columns = ["run", "data", "shift", "method", "seed", "state", "OOD test"]
        terminal.say_table(str(runs), columns, rows)


def show(run: RunFolder, json: Json = False) -> None:
    """Show what a run was, and how it ended."""
    from upwind import _terminal as terminal
    from upwind.runs import Run

    record = Run(run)
    if json:
        result = record.result if record.is_done else None
        terminal.say_json({**say.summary(record), "config": record.config, "result": result})
    elif record.is_done:
        say.run(record)
    else:
        line = say.summary(record)
        print(f"{run}: {line['method']} on {line['data']}, {line['epochs']} epochs so far")


def doctor(runs: Root = Path("runs"), json: Json = False) -> None:
    """Check that this machine has what is needed."""
    from upwind import _terminal as terminal
    from upwind.runs.doctor import examine

    found = examine(runs)
    if json:
        terminal.say_json(found)
    else:
        rows = [[c["name"], "ok" if c["good"] else "BAD", c["says"]] for c in found["checks"]]
        terminal.say_table(f"upwind {__version__}", ["what", "", "says"], rows)
    if not all(check["good"] for check in found["checks"]):
        raise typer.Exit(1)


def _seeds(text: str, name: str) -> list[int]:
    """How many of the seeds published for this data set, or the seeds themselves."""
    from upwind.train import published_seeds

    try:
        numbers = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        numbers = []
    if not numbers or ("," not in text and numbers[0] < 1):
        raise InputError(f"seeds={text} must be a number of runs, or seeds with commas: 3,5,8")
    return numbers if "," in text else published_seeds(name, numbers[0])


def _write_report(comparison: Any, data: Any) -> Path | None:
    """The report beside the comparison; what stands in its way does not undo the comparison."""
    path: Path = comparison.path.with_suffix(".html")
    try:
        from upwind.report import write

        write(comparison, path, data=data)
    except (InputError, RunError, ImportError) as error:
        print(f"upwind: there is no report: {error}", file=sys.stderr)
        return None
    return path
