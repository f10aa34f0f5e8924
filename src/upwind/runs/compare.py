"""Several methods on the same data over the same seeds, each run a record of its own."""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from upwind.errors import InputError, RunError
from upwind.runs import files
from upwind.runs.fan_out import do_all
from upwind.runs.record import Run, facts, identity
from upwind.runs.statistics import Difference, Sample, describe, difference
from upwind.train import load_data, resolve
from upwind.train.session import check


@dataclasses.dataclass(frozen=True)
class Row:
    """A method's line in the table.

    Attributes:
        method: As it was asked for.
        test: OOD test score at the epochs that the selection rule kept.
        id_test: In-distribution test score there; none where the split has no such part.
        balanced: Balanced accuracy on the OOD test nodes.
        macro_f1: Macro F1 there.
        ece: Expected calibration error there.
        difference: OOD test score against the baseline's, paired by seed; none for itself.
        seconds: Training time of a run.
    """

    method: str
    test: Sample
    id_test: Sample | None
    balanced: Sample
    macro_f1: Sample
    ece: Sample
    difference: Difference | None
    seconds: float


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Which runs belong together, and how to get them again.

    Attributes:
        root: The folder of runs.
        asked: Settings that all runs share.
        methods: As they were asked for; the first is the baseline.
        seeds: Of the runs of every method.
        runs: Run ids by method, in the order of the seeds.
        metric: What ``test`` and ``id_test`` of the table are.
    """

    root: Path
    asked: dict[str, Any]
    methods: list[str]
    seeds: list[int]
    runs: dict[str, list[str]]
    metric: str

    @property
    def path(self) -> Path:
        """Where it is kept: ``compare-<hash>.json`` beside the runs."""
        text = json.dumps(self.runs, sort_keys=True)
        return self.root / f"compare-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"

    def members(self) -> list[Run]:
        """All its runs, finished or not."""
        return [Run(self.root / id) for ids in self.runs.values() for id in ids]

    def table(self) -> list[Row]:
        """One row per method that has a finished run, from the records alone."""
        finished = {
            method: {
                seed: Run(self.root / id).result
                for seed, id in zip(self.seeds, self.runs[method], strict=True)
                if Run(self.root / id).is_done
            }
            for method in self.methods
        }
        baseline = _scores(finished[self.methods[0]], "test", self.metric)
        rows = []
        for method, results in finished.items():
            if not results:
                continue
            test = _scores(results, "test", self.metric)
            id_test = list(_scores(results, "id_test", self.metric).values())
            seconds = [sum(result["seconds"].values()) for result in results.values()]
            rows.append(
                Row(
                    method,
                    describe(list(test.values())),
                    describe(id_test) if id_test else None,
                    describe(list(_scores(results, "test", "balanced_accuracy").values())),
                    describe(list(_scores(results, "test", "macro_f1").values())),
                    describe(list(_scores(results, "test", "ece").values())),
                    None if method == self.methods[0] else difference(test, baseline),
                    describe(seconds).mean,
                )
            )
        return rows


def plan(
    asked: Mapping[str, Any], methods: Sequence[str], seeds: Sequence[int], root: Path, data: Data
) -> Comparison:
    """The comparison of these methods, before any of its runs is done; it is written down."""
    for name, values in (("methods", methods), ("seeds", seeds)):
        if not values or len(set(values)) < len(values):
            raise InputError(f"{name} must be given, each once; got {', '.join(map(str, values))}")
    if not bool((data.test_mask & (data.y >= 0)).any()):
        raise InputError("a comparison needs labelled test nodes, and this split has none")
    known = facts(data)
    runs: dict[str, list[str]] = {}
    for method in methods:
        configs = [resolve({**asked, "method": method, "seed": seed}, data) for seed in seeds]
        check(configs[0], data)
        ids = [identity(config, known) for config in configs]
        if same := [name for name, others in runs.items() if ids == others]:
            raise InputError(f"methods {same[0]} and {method} are the same here; leave one out")
        runs[method] = ids
    comparison = Comparison(root, dict(asked), list(methods), list(seeds), runs, data.metric)
    with files.disk_errors_said(root):
        root.mkdir(parents=True, exist_ok=True)
        content = dataclasses.asdict(comparison) | {"root": "."}
        files.write_json(comparison.path, content)
    return comparison


def read(path: Path) -> Comparison:
    """The comparison that was written down there."""
    if not path.is_file():
        raise InputError(f"there is no comparison {path}; compare ends with the path of its own")
    try:
        return Comparison(**{**files.read_json(path), "root": path.parent})
    except TypeError:
        raise InputError(f"{path} is no comparison; they are called compare-<id>.json") from None


def fan_out(
    comparison: Comparison,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    checkpoint_seconds: float = 10.0,
    finished: Callable[[str, int, str | None], None] = lambda *_: None,
) -> list[str]:
    """Do every run that is not done, ``jobs`` at a time, and return what went wrong.

    Each seed of all methods comes before the next seed, so that what is finished when somebody
    interrupts is paired.

    Args:
        comparison: What to do.
        jobs: Processes; each trains with the threads of its configuration.
        cluster: A scheduler to hand the runs to, as ``dask://host:port``.
        checkpoint_seconds: How much work of a run may be lost.
        finished: Told of method, seed, and what went wrong if something did.
    """
    work = [
        {**comparison.asked, "method": method, "seed": seed}
        for seed in comparison.seeds
        for method in comparison.methods
    ]
    return do_all(
        work,
        root=comparison.root,
        jobs=jobs,
        cluster=cluster,
        checkpoint_seconds=checkpoint_seconds,
        finished=lambda asked, problem: finished(asked["method"], asked["seed"], problem),
    )


def compare(
    asked: Mapping[str, Any],
    methods: Sequence[str],
    seeds: Sequence[int],
    *,
    root: Path = Path("runs"),
    jobs: int = 1,
) -> list[Row]:
    """Train every method with every seed and sum up; runs that are done are not done again.

    The first method is the baseline. Settings are named as in `upwind.train.Config`.
    """
    comparison = plan(asked, methods, seeds, root, load_data(asked))
    problems = fan_out(comparison, jobs=jobs)
    if problems:
        raise RunError("; ".join(problems))
    return comparison.table()


def _scores(results: Mapping[int, Any], part: str, metric: str) -> dict[int, float]:
    """By seed, where there is such a score."""
    return {
        seed: result["scores"][part][metric]
        for seed, result in results.items()
        if part in result["scores"]
    }
