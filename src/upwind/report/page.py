"""The page: everything a comparison says, in one HTML file.

The file brings its own style and program, is drawn as SVG before any program runs, and forbids its
reader to fetch anything or to run any program but the one whose hash it names. Whatever comes from
data is escaped by the template.
"""

import base64
import dataclasses
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from torch_geometric.data import Data

from upwind.data import PARTS
from upwind.flow.reach import Reach
from upwind.report import again, chart, curves, verdict
from upwind.report.calibration import reliability
from upwind.report.picture import picture
from upwind.report.records import Finished, finished, score, unfinished
from upwind.runs import Comparison, files

_HERE = Path(__file__).parent
_SCORES = ("accuracy", "balanced_accuracy", "macro_f1", "roc_auc", "ece")
_ID_PARTS = {"id_test": "ID test", "id_val": "ID validation", "train": "training"}
_CHOSEN_ON = {"ood_val": "val", "id_val": "id_val", "oracle": "test"}


def write(comparison: Comparison, out: Path, *, data: Data | None = None) -> None:
    """Write the report of a comparison.

    Args:
        comparison: What `open_records` or `upwind.runs.compare.plan` gave.
        out: Where to.
        data: The graph, where the caller has loaded it already.
    """
    page = render(comparison, data)
    with files.disk_errors_said(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        files.write(out, page.encode())


def render(comparison: Comparison, data: Data | None = None) -> str:
    """The HTML of the report."""
    methods = finished(comparison)
    table = comparison.table()
    run = next(iter(methods[0].runs.values()))
    facts, select = run.data, run.config.select
    titles = part_titles(facts)
    metric = verdict.metric_title(comparison.metric)
    program = (_HERE / "page.js").read_text()
    digest = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()
    weighing = [method for method in methods if _weighs(method)]
    drawing = picture(comparison, methods, data)
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        title=_title(comparison, facts),
        single=len(comparison.members()) == 1,
        baseline=comparison.methods[0],
        verdict=_verdict(comparison, table, titles),
        unfinished=unfinished(comparison),
        facts=facts,
        metric=metric,
        chosen_on=titles[_CHOSEN_ON[select]],
        oracle=select == "oracle",
        select=select,
        titles=titles,
        table=table,
        comparisons=len(comparison.methods) - 1,
        methods=methods,
        scores=_scores(methods, titles),
        curves=curves.learning_curves(methods, titles, comparison.metric, metric),
        concentration=curves.concentration(weighing) if weighing else [],
        weighing=[(method, _shares(method, facts)) for method in weighing],
        reaches={method.name: _reach(method) for method in weighing},
        reliability=[_reliability(method, titles) for method in methods],
        drawing=None if isinstance(drawing, str) else drawing,
        part_names=[titles.get(part, part) for part in PARTS],
        no_drawing=drawing if isinstance(drawing, str) else "",
        command=again.command(comparison),
        made_with=again.made_with(methods),
        configurations=[(method.name, _configuration(method)) for method in methods],
        seeds=comparison.seeds,
        style_of=chart.style,
        percent=verdict.percent,
        signed=verdict.signed,
        style_sheet=(_HERE / "page.css").read_text(),
        program=program,
        digest=digest,
    )


def part_titles(facts: dict[str, Any]) -> dict[str, str]:
    """What the parts of a split are called, those that have nodes, the test nodes first.

    >>> part_titles({"shift": "none", "parts": {"train": 6, "val": 2, "test": 2}})
    {'test': 'test', 'val': 'validation', 'train': 'training'}
    """
    far = "OOD " if facts["shift"] in ("covariate", "concept") else ""
    names = {"test": f"{far}test", "val": f"{far}validation"} | _ID_PARTS
    return {part: name for part, name in names.items() if facts["parts"].get(part)}


def _title(comparison: Comparison, facts: dict[str, Any]) -> str:
    kind = {"none": "no shift", "long_tail": "long tail", "given": "its own split"}
    shift = kind.get(facts["shift"], f"{facts['shift']} shift")
    return f"{', '.join(comparison.methods)} on {facts['name']}, {shift}"


def _verdict(comparison: Comparison, table: Sequence[Any], titles: dict[str, str]) -> list[str]:
    """The sentences at the top: against the baseline, and of the baseline under the shift."""
    test, id_test = (f"the {titles.get(part, '')} nodes" for part in ("test", "id_test"))
    first = table[0]
    said = verdict.verdict(table, comparison.methods[0], test)
    if not said:
        said = [f"{first.method} scores {verdict.percent(first.test)} on {test}."]
    drop = verdict.under_shift(first, test, id_test)
    return [*said, *([drop] if drop else [])]


def _scores(methods: Sequence[Finished], titles: dict[str, str]) -> dict[str, Any]:
    """Every metric of every part: its columns and its rows."""
    columns = [name for name in _SCORES if any(score(m.results, "test", name) for m in methods)]
    rows = [
        (method, title, [score(method.results, part, name) for name in columns])
        for part, title in titles.items()
        for method in methods
    ]
    return {"columns": [verdict.metric_title(name) for name in columns], "rows": rows}


def _weighs(method: Finished) -> bool:
    """Whether all of its runs have a record of weights."""
    return all(run and run[-1]["weights"] is not None for run in method.epochs)


def _reach(method: Finished) -> str:
    """How far its weights moved, as a mean over its runs; nothing where no run says it."""
    found = [result["reach"] for result in method.results if result.get("reach")]
    if not found:
        return ""
    names = [field.name for field in dataclasses.fields(Reach)]
    return str(Reach(*(sum(run[name] for run in found) / len(found) for name in names)))


def _shares(method: Finished, facts: dict[str, Any]) -> list[Any]:
    names = {
        "class": lambda id: _class_name(str(facts["label_names"][id])),
        "env": lambda id: f"environment {id}",
        "degree": lambda bin: f"degree {curves.degree_name(bin)}",
    }
    return [curves.shares(method, kind, name_of) for kind, name_of in names.items()]


def _class_name(label: str) -> str:
    return f"class {label}" if label.isdigit() else label


def _reliability(method: Finished, titles: dict[str, str]) -> tuple[curves.Panel, list[str]]:
    """The diagram, and the calibration error of each part in it."""
    parts = {part: title for part, title in titles.items() if part in ("test", "id_test")}
    errors = {title: score(method.results, part, "ece") for part, title in parts.items()}
    words = [f"{title} {verdict.percent(error)}" for title, error in errors.items()]
    return reliability(method, parts), words


def _configuration(method: Finished) -> str:
    """The options of a method as they were resolved, in the order of its parts."""
    return json.dumps(next(iter(method.runs.values())).config.options)
