"""How to do it again, and what it was done with."""

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any

from upwind.report.records import Finished
from upwind.runs import Comparison


def command(comparison: Comparison) -> str:
    """The command line that gives this comparison, or this one run, again.

    >>> from pathlib import Path
    >>> asked = {"source": "my graph.npz", "shift": "covariate", "balance": True}
    >>> runs = {"erm": ["1", "2"], "tar": ["3", "4"]}
    >>> command(Comparison(Path("runs"), asked, ["erm", "tar"], [3, 5], runs, "accuracy"))
    "upwind compare 'my graph.npz' --shift covariate --balance --methods erm,tar --seeds 3,5"
    """
    asked = dict(comparison.asked)
    source = str(asked.pop("source"))
    settings = [word for name, value in asked.items() for word in _option(name, value)]
    if len(comparison.members()) == 1:
        (method,), (seed,) = comparison.methods, comparison.seeds
        rest = ["--method", method, "--seed", str(seed)]
        return shlex.join(["upwind", "train", source, *settings, *rest])
    seeds = ",".join(map(str, comparison.seeds)) + ("," if len(comparison.seeds) == 1 else "")
    rest = ["--methods", ",".join(comparison.methods), "--seeds", seeds]
    return shlex.join(["upwind", "compare", source, *settings, *rest])


def made_with(methods: Sequence[Finished]) -> list[tuple[str, list[str]]]:
    """Versions, revision and machine; where the runs differ, each with how many have it."""
    environments = [run.environment for method in methods for run in method.runs.values()]
    names = list(dict.fromkeys(name for found in environments for name in _flat(found)))
    rows = []
    for name in names:
        values = Counter(str(_flat(found).get(name) or "unknown") for found in environments)
        several = len(values) > 1
        rows.append((name, [f"{v} ({n} runs)" if several else v for v, n in values.items()]))
    return rows


def _flat(environment: dict[str, Any]) -> dict[str, Any]:
    titles = {"git": "revision"}
    plain = {titles.get(k, k): v for k, v in environment.items() if k != "packages"}
    packages: dict[str, Any] = environment["packages"]
    return plain | packages


def _option(name: str, value: Any) -> list[str]:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    return [f"--{flag}", str(value)]
