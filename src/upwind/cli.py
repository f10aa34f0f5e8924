"""The command line: each command calls one function of a room, and says the answer.

What a command needs is imported inside it, so that ``upwind --help`` answers at once.
Exit codes: 0 fine, 1 a run failed, 2 input that cannot be used, 130 interrupted.
"""

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from upwind import __version__, cli_paper
from upwind._settings import with_settings
from upwind.errors import InputError, InputWarning, RunError
from upwind.train.config import TABLE_FIELDS

app = typer.Typer(
    name="upwind",
    help="Train node classifiers that hold up when the graph changes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Source = Annotated[str, typer.Argument(help="A data set's name, or a graph of your own.")]
RunFolder = Annotated[Path, typer.Argument(help="The folder of a run: runs/<id>.")]
Root = Annotated[Path, typer.Option("--runs", help="The folder of runs.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Saving = Annotated[float, typer.Option(help="How much of a run's work may be lost.")]

_INTERRUPTED = "interrupted; the same command goes on from here"
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


@app.command("import")
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


@app.command()
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

    asked = _asked(source, settings)
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
        _say_run(run)


@app.command()
@with_settings(without=["method", "seed"])
def compare(
    source: Source,
    methods: Annotated[
        str, typer.Option(help="Two or more, the baseline first: erm,tar,tar:restart=false.")
    ] = "erm,tar",
    seeds: Annotated[
        str, typer.Option(help="How many (the seeds of the published runs), or a list: 3,5,8.")
    ] = "5",
    jobs: Annotated[int, typer.Option(help="Runs at the same time, each a process.")] = 1,
    cluster: Annotated[str | None, typer.Option(help="A scheduler: dask://host:port.")] = None,
    runs: Root = Path("runs"),
    checkpoint_seconds: Saving = 10.0,
    json: Json = False,
    **settings: Any,
) -> None:
    """Train several methods with several seeds, and say which is better and how surely."""
    from upwind import _terminal as terminal
    from upwind.runs.compare import fan_out, plan
    from upwind.train import load_data, resolve

    asked = _asked(source, settings)
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
        _say_comparison(comparison, [_INTERRUPTED], json)
        raise
    _say_comparison(comparison, problems, json, _write_report(comparison, data))
    if problems:
        raise typer.Exit(1)


@app.command()
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

    model, asked = Run(run), _asked(source, settings)
    data = load_data(asked, label_names=model.data["label_names"])
    columns = predict_with(model, data, backbone=settings["backbone"])
    save(columns, out)
    count = len(columns["node"])
    if json:
        terminal.say_json({"out": out, "nodes": count, "columns": list(columns)})
    else:
        print(f"{count:,} predictions in {out}")


@app.command()
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


@app.command()
def runs(runs: Root = Path("runs"), json: Json = False) -> None:
    """List the runs there are."""
    from upwind import _terminal as terminal
    from upwind.runs import find_runs

    found, damaged = [], []
    for run in find_runs(runs):
        try:
            found.append(_summary(run))
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


@app.command()
def show(run: RunFolder, json: Json = False) -> None:
    """Show what a run was, and how it ended."""
    from upwind import _terminal as terminal
    from upwind.runs import Run

    record = Run(run)
    if json:
        result = record.result if record.is_done else None
        terminal.say_json({**_summary(record), "config": record.config, "result": result})
    elif record.is_done:
        _say_run(record)
    else:
        line = _summary(record)
        print(f"{run}: {line['method']} on {line['data']}, {line['epochs']} epochs so far")


@app.command()
def theory(
    seed: Annotated[int, typer.Option(help="Seed of the graphs and losses.")] = 0,
    data: Annotated[
        Path | None, typer.Option(help="A folder of raw files in PyG's layout, or UPWIND_DATA.")
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Where to draw what was measured.")] = None,
    figure_flow: Annotated[
        Path | None, typer.Option(help="Where to draw the flow among its balls.")
    ] = None,
    json: Json = False,
) -> None:
    """Check the paper's theorems with numbers, and say how far the flow reaches."""
    from upwind.theory import show_theory

    show_theory(seed=seed, data=data, figure=figure, figure_flow=figure_flow, as_json=json)


@app.command()
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


app.command()(cli_paper.tune)
app.command()(cli_paper.paper)
app.command()(cli_paper.results)


def _asked(source: str, settings: dict[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in settings.items() if value is not None}
    return {"source": source, **given}


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


def _summary(run: Any) -> dict[str, Any]:
    config, data = run.config, run.data
    result = run.result if run.is_done else None
    return {
        "run": run.folder,
        "data": data["name"],
        "shift": data["shift"],
        "method": config.method,
        "seed": config.seed,
        "done": run.is_done,
        "epochs": sum(1 for _ in run.epochs()),
        "test": result and result["scores"].get("test", {}).get(result["metric"]),
    }


def _say_run(run: Any) -> None:
    from upwind import _terminal as terminal

    config, data, result = run.config, run.data, run.result
    metric = result["metric"]
    titles = {metric: metric, "balanced_accuracy": "balanced", "macro_f1": "macro F1", "ece": "ECE"}
    rows = [
        [part, str(data["parts"][part]), *(terminal.percent(scores[name]) for name in titles)]
        for part, scores in result["scores"].items()
    ]
    chosen = result["rules"][config.select]["epoch"]
    title = f"{config.method} on {data['name']} ({data['shift']})"
    terminal.say_table(
        f"{title}, epoch {chosen} by {config.select}", ["part", "nodes", *titles.values()], rows
    )
    print(f"{terminal.duration(sum(result['seconds'].values()))} of training; {run.folder}")


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


def _say_comparison(
    comparison: Any, problems: list[str], json: bool, report: Path | None = None
) -> None:
    from upwind import _terminal as terminal

    table = comparison.table()
    if json:
        terminal.say_json(
            {
                "comparison": comparison.path,
                **vars(comparison),
                "table": table,
                "problems": problems,
                "report": report,
            }
        )
        return
    shown = {"id_test": "ID test", "ece": "ECE"}
    if all(row.id_test is None for row in table):  # long tails have none; they are read by these
        shown = {"balanced": "balanced", "macro_f1": "macro F1", "ece": "ECE"}
    rows = [
        [
            row.method,
            str(row.test.count),
            terminal.spread(row.test),
            "" if row.difference is None else f"{100 * row.difference.mean:+.2f}",
            ""
            if not row.difference or row.difference.p_value is None
            else f"{row.difference.p_value:.3f}",
            *(terminal.spread(getattr(row, name)) for name in shown),
            terminal.duration(row.seconds),
        ]
        for row in table
    ]
    baseline = comparison.methods[0]
    columns = ["method", "runs", "OOD test", f"- {baseline}", "p", *shown.values(), "time a run"]
    terminal.say_table(f"{comparison.metric}, mean ± deviation", columns, rows)
    for problem in problems:
        print(f"upwind: {problem}", file=sys.stderr)
    print(comparison.path)
    if report:
        print(report)


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
