"""The tables of docs/training.md from records: ``python docs/training_results.py RUNS``."""

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from upwind.runs import Run, files, find_runs
from upwind.runs.statistics import describe, difference

# Mean and standard deviation in percent as the paper prints them (its tables 1 and 6).
PAPER = {
    ("webkb", "covariate"): {"erm": (14.13, 2.92), "tar": (18.57, 3.30), "tar_n": (16.27, 3.73)},
    ("webkb", "concept"): {"erm": (26.97, 1.49), "tar": (27.98, 1.02), "tar_n": (27.89, 0.94)},
    ("cbas", "covariate"): {"erm": (78.43, 1.00), "tar": (79.86, 2.07), "tar_n": (78.71, 1.62)},
    ("cbas", "concept"): {"erm": (82.86, 1.28), "tar": (83.57, 1.57), "tar_n": (83.36, 0.72)},
    ("twitch", "covariate"): {"erm": (48.55, 0.91), "tar": (49.20, 1.39), "tar_n": (49.22, 1.48)},
    ("twitch", "concept"): {"erm": (47.87, 0.65), "tar": (49.32, 0.63), "tar_n": (49.22, 0.90)},
}
AS_PUBLISHED = {"source", "data", "shift", "domain", "method", "seed"}
Group = dict[str, dict[int, Run]]


def main(root: Path) -> None:
    """Print the scores, then what the weights did."""
    groups: dict[tuple[str, str], Group] = defaultdict(lambda: defaultdict(dict))
    for run in find_runs(root):
        asked = files.read_json(run.folder / "config.json")["asked"]
        if run.is_done and set(asked) <= AS_PUBLISHED:
            groups[run.data["name"], run.data["shift"]][asked["method"]][asked["seed"]] = run
    ordered = sorted(groups.items())
    head = ["data", "method", "runs", "OOD test", "paper", "difference to ERM", "p", "ID test"]
    table([*head, "time"], [row for key, group in ordered for row in scores(key, group)])
    print()
    head = ["data", "method", "effective share", "smallest", "largest"]
    table(head, [row for key, group in ordered for row in weights(key, group)])


def scores(key: tuple[str, str], group: Group) -> list[list[str]]:
    """A row per method: mean ± deviation, the paper's, and the difference paired by seed."""
    test = {method: _test(runs, "test") for method, runs in group.items()}
    rows = []
    for method in sorted(group):
        paper = PAPER.get(key, {}).get(method.split(":")[0])
        found = difference(test[method], test["erm"]) if "erm" in test and method != "erm" else None
        p_value = None if found is None else found.p_value
        seconds = [sum(run.result["seconds"].values()) for run in group[method].values()]
        rows.append(
            [
                " ".join(key),
                f"`{method}`",
                str(len(test[method])),
                spread(list(test[method].values())),
                f"{paper[0]:.2f} ± {paper[1]:.2f}" if paper else "",
                "" if found is None else f"{100 * found.mean:+.2f}",
                "" if p_value is None else f"{p_value:.3f}",
                spread(list(_test(group[method], "id_test").values())),
                f"{sorted(seconds)[len(seconds) // 2]:.0f} s",
            ]
        )
    return rows


def weights(key: tuple[str, str], group: Group) -> list[list[str]]:
    """A row per method with weights: at the last epoch, over all runs."""
    rows = []
    for method, runs in sorted(group.items()):
        last = [list(run.epochs())[-1]["weights"] for run in runs.values()]
        if last[0] is not None:
            share = sum(weight["effective_share"] for weight in last) / len(last)
            low = min(weight["smallest"] for weight in last)
            high = max(weight["largest"] for weight in last)
            rows.append([" ".join(key), f"`{method}`", f"{share:.4f}", f"{low:.3f}", f"{high:.3f}"])
    return rows


def spread(values: list[float]) -> str:
    """Mean and deviation in percent."""
    if not values:
        return ""
    found = describe(values)
    after = "" if found.deviation is None else f" ± {100 * found.deviation:.2f}"
    return f"{100 * found.mean:.2f}{after}"


def table(head: list[str], rows: list[list[str]]) -> None:
    """As Markdown."""
    for cells in (head, ["---"] * len(head), *rows):
        print("|", " | ".join(cells), "|")


def _test(runs: dict[int, Run], part: str) -> dict[int, float]:
    results: dict[int, dict[str, Any]] = {seed: run.result for seed, run in runs.items()}
    return {
        seed: result["scores"][part][result["metric"]]
        for seed, result in results.items()
        if part in result["scores"]
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
