"""What the report reads: the finished runs of a comparison, method by method."""

import dataclasses
import math
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from upwind.errors import InputError
from upwind.runs import Comparison, Run
from upwind.runs.compare import read
from upwind.runs.statistics import Sample, describe

Floats = NDArray[np.float64]
EpochRecord = dict[str, Any]


@final
@dataclasses.dataclass(frozen=True)
class Finished:
    """The finished runs of one method.

    Attributes:
        name: The method as it was asked for.
        slot: Its place among the methods: its colour everywhere.
        runs: By seed.
        epochs: Every run's epochs.
        results: Every run's result.
    """

    name: str
    slot: int
    runs: dict[int, Run]
    epochs: list[list[EpochRecord]]
    results: list[dict[str, Any]]


@final
@dataclasses.dataclass(frozen=True)
class Band:
    """A quantity over the epochs, over several runs.

    Attributes:
        epochs: Where it is known.
        mean: Over the runs.
        deviation: Over the runs, of n - 1; zero for a single run.
    """

    epochs: NDArray[np.int64]
    mean: Floats
    deviation: Floats


def open_records(path: Path) -> Comparison:
    """The comparison in ``compare-<id>.json``, or that of a run's folder with itself."""
    if not path.is_dir():
        return read(path)
    run = Run(path)
    asked = {name: value for name, value in run.asked.items() if name not in ("method", "seed")}
    spec, config = run.asked.get("method", run.config.method), run.config
    runs, metric = {spec: [path.resolve().name]}, run.data["metric"]
    return Comparison(path.resolve().parent, asked, [spec], [config.seed], runs, metric)


def finished(comparison: Comparison) -> list[Finished]:
    """The methods that have a finished run; an error if none has, or none was tested."""
    found = []
    for slot, method in enumerate(comparison.methods):
        runs = {seed: run for seed, run in _by_seed(comparison, method) if run.is_done}
        if runs:
            epochs = [list(run.epochs()) for run in runs.values()]
            results = [run.result for run in runs.values()]
            found.append(Finished(method, slot, runs, epochs, results))
    if not found:
        raise InputError("no run of this comparison is finished; give its command again to go on")
    if any("test" not in result["scores"] for method in found for result in method.results):
        raise InputError("the split has no labelled test nodes, so there is nothing to report")
    return found


def unfinished(comparison: Comparison) -> list[str]:
    """What is missing from the report, by method, with the folder of what was begun."""
    said = []
    for method in comparison.methods:
        missing = []
        for seed, run in _by_seed(comparison, method):
            if run.is_done:
                continue
            epochs = sum(1 for _ in run.epochs())
            state = f" (stopped after {epochs} epochs, {run.folder})" if epochs else ""
            missing.append(f"{seed}{state}")
        if missing:
            said.append(
                f"{method}: {'seed' if len(missing) == 1 else 'seeds'} {', '.join(missing)}"
            )
    return said


def band(runs: Iterable[Iterable[tuple[int, float | None]]]) -> Band | None:
    """Mean and deviation over runs at the epochs that all of them have; none without any.

    >>> band([[(0, 1.0), (1, 2.0)], [(0, 3.0), (1, None)]])
    Band(epochs=array([0]), mean=array([2.]), deviation=array([1.41421356]))
    """
    series = [
        {epoch: value for epoch, value in run if value is not None and math.isfinite(value)}
        for run in runs
    ]
    shared = sorted(set.intersection(*map(set, series))) if series else []
    if not shared:
        return None
    values = np.array([[run[epoch] for epoch in shared] for run in series])
    deviation = values.std(0, ddof=1) if len(values) > 1 else np.zeros(len(shared))
    return Band(np.array(shared), values.mean(0), deviation)


def score(results: list[dict[str, Any]], part: str, metric: str) -> Sample | None:
    """A score at the kept epochs; none where no run has it."""
    found = [result["scores"].get(part, {}).get(metric) for result in results]
    known = [value for value in found if value is not None and math.isfinite(value)]
    return describe(known) if known else None


def trace(run: Run) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64] | None] | None:
    """Epochs, weights (a row per epoch) and whose they are (none: all nodes'), if recorded."""
    path = run.folder / "weights.npz"
    if not path.exists():
        return None
    try:
        with np.load(path) as content:
            return content["epochs"], content["weights"].astype(float), content.get("nodes")
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{path} is damaged ({error}); delete its run and start it again"
        ) from None


def _by_seed(comparison: Comparison, method: str) -> list[tuple[int, Run]]:
    ids = comparison.runs[method]
    return [
        (seed, Run(comparison.root / id)) for seed, id in zip(comparison.seeds, ids, strict=True)
    ]
