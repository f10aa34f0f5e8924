"""Write the tables that follow from the code into the pages: ``make tables``.

A table stands between ``<!-- table: name -->`` and ``<!-- end of table -->``.
"""

import json
import re
from pathlib import Path
from types import SimpleNamespace

from upwind import methods
from upwind.paper import render
from upwind.paper.choice import choose
from upwind.paper.sheets import SHIFT_COLUMNS, sheets
from upwind.paper.table import fill
from upwind.paper.verdict import verdict
from upwind.runs.ledger import Finished, Ledger
from upwind.runs.statistics import describe, difference
from upwind.train import resolve

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *(DOCS / f"{p}.md" for p in ("methods", "reproduction", "training")))
RESULTS = ROOT / "results"
SHOWN = ("table2", "table-reconnect-ood")  # those of the paper's tables that have runs
COSTS = ROOT / "docs" / "methods.json"
GRAPHS = {"twitch": "Twitch", "coauthor_cs": "Coauthor-CS"}


def methods_table() -> str:
    """The registered methods; a dash where nothing is needed, or was not measured."""
    costs = json.loads(COSTS.read_text())["costs"]
    headings = ["method", "in a sentence", "environment labels", "looks at, beside training nodes"]
    headings += [f"step over ERM's, {title}" for title in GRAPHS.values()]
    rows = [headings]
    for name in methods.names():
        kind = methods.get(name)
        first_line = (kind.__doc__ or "").splitlines()[0]
        needs = "needed" if "environments" in kind.needs else "-"
        uses = ", ".join(sorted(kind.uses)) or "-"
        measured = [costs.get(name, {}).get(source) for source in GRAPHS]
        steps = [
            "-" if m is None else f"{m['ratio']:.2f} x, {m['peak_mib'] / 1024:.1f} GiB"
            for m in measured
        ]
        rows.append([f"`{name}`", first_line.removesuffix("."), needs, uses, *steps])
    return markdown(rows)


def paper_tables() -> dict[str, str]:
    """What the compact records say, as tables in Markdown."""
    ledger = Ledger.read(RESULTS, RESULTS)
    tables = [fill(sheets()[name], ledger) for name in SHOWN]
    found = {t.sheet.name: render.markdown(t).rstrip() for t in tables}
    return found | {
        "verdict": verdict(tables).rstrip(),
        "plus": plus(ledger),
        "training-scores": training_scores(ledger),
        "training-weights": training_weights(ledger),
    }


def as_published(ledger: Ledger) -> dict[tuple[str, str, str], dict[int, Finished]]:
    """The runs with the paper's own settings, by data, shift and method, those that there are."""
    found = {}
    for column in SHIFT_COLUMNS:
        for spec in ("erm", "tar", "tar:restart=true", "tar_n"):
            named = SimpleNamespace(name=column.source, shift=column.shift)
            config = resolve({"source": column.source, "method": spec}, named)
            if runs := ledger.find(column.source, column.shift, config):
                found[column.source, column.shift, spec] = runs
    return found


def training_scores(ledger: Ledger) -> str:
    """Beside the paper's numbers, with the difference to ERM."""
    published_runs = as_published(ledger)
    numbers = sheets()["table-reconnect-ood"].numbers
    rows = [["data", "method", "runs", "OOD test", "paper", "difference to ERM", "p", "ID test"]]
    for (source, shift, spec), runs in sorted(published_runs.items()):
        test = {seed: run.score("test") for seed, run in runs.items()}
        erm = published_runs.get((source, shift, "erm"), {})
        gap = difference(test, {seed: run.score("test") for seed, run in erm.items()})
        printed = numbers.get((spec.split(":")[0], f"{source}/{shift}"))
        rows.append(
            [
                f"{source} {shift}",
                f"`{spec}`",
                str(len(test)),
                spread(list(test.values())),
                "" if printed is None else f"{printed.mean:.2f} ± {printed.spread:.2f}",
                "" if spec == "erm" or gap is None else f"{100 * gap.mean:+.2f}",
                "" if spec == "erm" or not gap or gap.p_value is None else f"{gap.p_value:.3f}",
                spread([run.score("id_test") for run in runs.values()]),
            ]
        )
    return markdown(rows)


def training_weights(ledger: Ledger) -> str:
    """What the weights were at the last epoch, over all runs."""
    rows = [["data", "method", "effective share", "smallest", "largest"]]
    for (source, shift, spec), runs in sorted(as_published(ledger).items()):
        if found := [run.weights for run in runs.values() if run.weights]:
            share = describe([weights["effective_share"] for weights in found]).mean
            low = min(weights["smallest"] for weights in found)
            high = max(weights["largest"] for weights in found)
            figures = [f"{share:.4f}", f"{low:.3f}", f"{high:.3f}"]
            rows.append([f"{source} {shift}", f"`{spec}`", *figures])
    return markdown(rows)


def spread(values: list[float]) -> str:
    """Mean and deviation in percent."""
    found = describe(values)
    after = "" if found.deviation is None else f" ± {100 * found.deviation:.2f}"
    return f"{100 * found.mean:.2f}{after}"


def markdown(rows: list[list[str]]) -> str:
    """The first row is the heading."""
    head, *rest = rows
    lines = [head, ["---"] * len(head), *rest]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def plus(ledger: Ledger) -> str:
    """TAR+ against a correct re-weighting, and both against the paper's TAR."""
    sheet = sheets()["table2"]
    rows = {row.label: row for row in sheet.rows}
    lines = ["| | Re-Weight - the paper's TAR | TAR+ - Re-Weight, p | TAR+ was |"]
    lines += ["| --- | ---: | ---: | --- |"]
    for column in sheet.columns:
        found = {name: choose(sheet, rows[name], column, ledger) for name in ("Re-Weight", "TAR+")}
        scores = {
            name: {s: 100 * (run.score("test", column.metric) or 0) for s, run in each.runs.items()}
            for name, each in found.items()
        }
        gap = difference(scores["TAR+"], scores["Re-Weight"])
        mean = describe(list(scores["Re-Weight"].values())).mean
        printed = sheet.numbers["tar", column.printed].mean or 0.0
        p = "" if gap is None or gap.p_value is None else f"{gap.mean:+.2f}, {gap.p_value:.3f}"
        lines.append(
            f"| {render.title(column)} | {mean - printed:+.2f} | {p} | `{found['TAR+'].spec}` |"
        )
    return "\n".join(lines)


def filled(page: str) -> str:
    """The page with its tables as they should be."""
    tables = {"methods": methods_table()}
    if re.search("<!-- table: (?!methods)", page):
        tables |= paper_tables()
    return re.sub(
        r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)",
        lambda found: f"{found[1]}\n{tables[found[2]]}\n\n{found[3]}",
        page,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(filled(path.read_text()))
