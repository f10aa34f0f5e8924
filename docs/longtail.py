"""Fill the tables of longtail.md from records: ``python docs/longtail.py RUNS``.

Between ``<!-- records -->`` and ``<!-- end -->`` stands what the records say; nothing is typed in.
"""

import dataclasses
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from upwind import methods
from upwind.runs import Run, find_runs
from upwind.runs.statistics import describe, difference

PAGE = Path(__file__).with_name("longtail.md")
SCORES = ("accuracy", "balanced_accuracy", "macro_f1")
SETS = {"cora_lt": "Cora-LT", "citeseer_lt": "CiteSeer-LT", "pubmed_lt": "PubMed-LT"}
BASELINE = "reweight"

# The paper's second table: Acc, bAcc, F1.
PAPER = {
    "cora_lt": {
        "erm": "73.04 / 63.83 / 63.67",
        "reweight": "73.40 / 64.51 / 64.85",
        "cb_loss": "73.10 / 63.59 / 63.55",
        "tam": "74.62 / 65.03 / 65.44",
        "tar": "74.17 / 66.10 / 66.29",
        "tar_n": "73.64 / 65.20 / 66.12",
        "graphens": "77.64 / 72.23 / 72.12",
        "graphens+reweight": "77.86 / 72.47 / 72.77",
        "graphens+cb_loss": "77.68 / 72.79 / 72.91",
        "graphens+tam": "78.86 / 73.28 / 73.57",
        "graphens+tar": "78.34 / 73.16 / 73.57",
    },
    "citeseer_lt": {
        "erm": "54.38 / 47.83 / 43.58",
        "reweight": "53.84 / 47.31 / 42.79",
        "cb_loss": "54.93 / 48.39 / 44.40",
        "tam": "56.82 / 49.97 / 44.94",
        "tar": "57.08 / 50.41 / 47.01",
        "tar_n": "57.50 / 50.84 / 47.73",
        "graphens": "62.30 / 56.07 / 54.33",
        "graphens+reweight": "62.50 / 56.28 / 54.76",
        "graphens+cb_loss": "63.38 / 56.93 / 55.29",
        "graphens+tam": "63.80 / 57.31 / 55.51",
        "graphens+tar:tau=0.001:steps=30:beta=0.001": "64.96 / 58.39 / 56.64",
    },
    "pubmed_lt": {
        "erm": "70.80 / 57.77 / 52.58",
        "reweight": "71.00 / 57.83 / 52.37",
        "cb_loss": "70.92 / 57.76 / 52.32",
        "tam": "70.80 / 59.13 / 56.34",
        "tar": "75.40 / 67.33 / 68.23",
        "tar_n": "73.20 / 61.27 / 58.61",
        "graphens": "76.56 / 71.05 / 71.98",
        "graphens+reweight": "77.32 / 72.08 / 73.09",
        "graphens+cb_loss": "77.18 / 70.83 / 71.98",
        "graphens+tam": "77.90 / 71.70 / 73.03",
        "graphens+tar:steps=5:beta=0.0001": "78.56 / 73.25 / 74.40",
    },
}


def main() -> None:
    """Read the records under the folders that were named, and write the page."""
    found: dict[str, dict[str, dict[int, Any]]] = defaultdict(lambda: defaultdict(dict))
    for folder in sys.argv[1:]:
        for run in find_runs(Path(folder)):
            if run.is_done and run.data["name"] in SETS:
                found[run.data["name"]][label(run)][run.config.seed] = run.result["scores"]
    text = PAGE.read_text()
    before, rest = text.split("<!-- records -->")
    _, after = rest.split("<!-- end -->")
    tables = "\n\n".join(table(name, found[name]) for name in SETS if name in found)
    PAGE.write_text(f"{before}<!-- records -->\n\n{tables}\n\n<!-- end -->{after}")


def label(run: Run) -> str:
    """The method with what is not as published, and what else of the recipe was changed."""
    config, parts = run.config, []
    for name, options in config.options.items():
        usual = options  # of a method from elsewhere
        if name in methods.names():
            usual = methods.resolve(name, run.data["name"], run.data["shift"])[name]
        changed = [f":{key}={value}" for key, value in options.items() if value != usual[key]]
        parts.append(name + "".join(changed))
    recipe = {"weight_decay": 0.0, "epochs": 500, "select_by": None}
    settings = dataclasses.asdict(config)
    changed = [f"{key}={settings[key]}" for key, usual in recipe.items() if settings[key] != usual]
    return ", ".join(["+".join(parts), *changed])


def table(name: str, rows: dict[str, dict[int, Any]]) -> str:
    """Rows by mean balanced accuracy, the best first."""
    lines = [
        f"**{SETS[name]}**",
        "",
        f"| method | runs | Acc | bAcc | F1 | - {BASELINE} (Acc, bAcc, F1) | val. bAcc | paper |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    ranked = sorted(rows, key=lambda row: -mean(rows[row], "test", "balanced_accuracy"))
    for row in ranked:
        by_seed = rows[row]
        cells = [cell(list(scores(by_seed, "test", score).values())) for score in SCORES]
        gaps = (
            ""
            if row == BASELINE
            else ", ".join(
                gap(scores(by_seed, "test", score), scores(rows.get(BASELINE, {}), "test", score))
                for score in SCORES
            )
        )
        validation = f"{100 * mean(by_seed, 'val', 'balanced_accuracy'):.1f}"
        published = PAPER[name].get(row, "")
        line = [f"`{row}`", str(len(by_seed)), *cells, gaps, validation, published]
        lines.append(f"| {' | '.join(line)} |")
    return "\n".join(lines)


def scores(by_seed: dict[int, Any], part: str, score: str) -> dict[int, float]:
    """One score by seed."""
    return {seed: found[part][score] for seed, found in by_seed.items()}


def mean(by_seed: dict[int, Any], part: str, score: str) -> float:
    """Over the seeds."""
    return describe(list(scores(by_seed, part, score).values())).mean


def cell(values: list[float]) -> str:
    """Mean and standard error in percent."""
    sample = describe(values)
    error = "" if sample.error is None else f" ± {100 * sample.error:.2f}"
    return f"{100 * sample.mean:.2f}{error}"


def gap(ours: dict[int, float], baseline: dict[int, float]) -> str:
    """Difference paired by seed; from five pairs on with the p-value of Student's t."""
    found = difference(ours, baseline)
    if found is None:
        return ""
    known = found.pairs >= 5 and found.p_value is not None
    p = f" (p {found.p_value:.2g})" if known else ""
    return f"{100 * found.mean:+.2f}{p}"


if __name__ == "__main__":
    main()
