"""Many runs at once, each in a process of its own."""

import os
import platform
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from upwind.errors import InputError, InputWarning, RunError
from upwind.runs.cluster import workers
from upwind.runs.execute import execute

Asked = Mapping[str, Any]

_TRIES = 5  # passes over the work, each ended by a process that died


def do_all(
    work: Sequence[Asked],
    *,
    root: Path,
    jobs: int = 1,
    cluster: str | None = None,
    checkpoint_seconds: float = 10.0,
    finished: Callable[[Asked, str | None], None] = lambda *_: None,
) -> list[str]:
    """Do every run of ``work`` that is not done, ``jobs`` at a time; return what went wrong.

    A process that dies takes no run with it: what it had not finished is given to another, which
    goes on from the last checkpoint.

    Args:
        work: The settings of each run; what comes first is done first.
        root: The folder of runs.
        jobs: Processes; each trains with the threads of its configuration.
        cluster: A scheduler to hand the runs to, as `workers` takes it, in place of ``jobs``.
        checkpoint_seconds: How much work of a run may be lost.
        finished: Told of each run as it ends, and of what went wrong if something did.
    """
    if jobs < 1:
        raise InputError(f"jobs={jobs} must be at least 1")
    problems: list[str] = []
    left = list(range(len(work)))

    def ended(place: int, problem: str | None) -> None:
        left.remove(place)
        if problem:
            asked = work[place]
            problems.append(f"{asked.get('method', 'erm')}, seed {asked['seed']}: {problem}")
        finished(work[place], problem)

    with workers(cluster):
        for _ in range(_TRIES):
            if not _pass(work, list(left), root, jobs, cluster, checkpoint_seconds, ended):
                return problems
    lost = "the process that did it died each time; see its memory, and the run's folder"
    for place in list(left):
        ended(place, lost)
    return problems


def _pass(
    work: Sequence[Asked],
    left: Sequence[int],
    root: Path,
    jobs: int,
    cluster: str | None,
    checkpoint_seconds: float,
    ended: Callable[[int, str | None], None],
) -> bool:
    """Go through what is left, and say whether a process died on the way."""
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    rest = (root.resolve(), checkpoint_seconds, Path.cwd())
    # Unordered, so that the first to finish is the first to be told of.
    parallel = Parallel(
        n_jobs=jobs if cluster is None else -1,
        return_as="generator_unordered",
        pre_dispatch=jobs if cluster is None else "all",
    )
    try:
        for place, problem in parallel(delayed(_one)(i, work[i], *rest) for i in left):
            ended(place, problem)
    except BrokenProcessPool:
        return True
    except KeyboardInterrupt:
        if cluster is None and jobs > 1:
            get_reusable_executor().shutdown(wait=False, kill_workers=True)
        raise
    return False


def _one(
    place: int, asked: Asked, root: Path, checkpoint_seconds: float, folder: Path
) -> tuple[int, str | None]:
    try:
        os.chdir(folder)  # a worker that served before may be elsewhere
    except OSError:
        return place, f"{platform.node()} does not see {folder}; a cluster needs a shared folder"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)  # said when the runs were planned
            execute(asked, root=root, checkpoint_seconds=checkpoint_seconds)
    except (RunError, InputError) as error:
        return place, str(error)
    return place, None
