"""Many runs at once, each in a process of its own."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from upwind.errors import InputError, InputWarning, RunError
from upwind.runs.execute import execute

Asked = Mapping[str, Any]


def do_all(
    work: Sequence[Asked],
    *,
    root: Path,
    jobs: int = 1,
    checkpoint_seconds: float = 10.0,
    finished: Callable[[Asked, str | None], None] = lambda *_: None,
) -> list[str]:
    """Do every run of ``work`` that is not done, ``jobs`` at a time; return what went wrong.

    Args:
        work: The settings of each run; what comes first is done first.
        root: The folder of runs.
        jobs: Processes; each trains with the threads of its configuration.
        checkpoint_seconds: How much work of a run may be lost.
        finished: Told of each run as it ends, and of what went wrong if something did.
    """
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    rest = (root, checkpoint_seconds, Path.cwd())
    problems = []
    # Unordered, so that the first to finish is the first to be told of.
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch=jobs)
    try:
        for asked, problem in parallel(delayed(_one)(asked, *rest) for asked in work):
            if problem:
                problems.append(f"{asked.get('method', 'erm')}, seed {asked['seed']}: {problem}")
            finished(asked, problem)
    except KeyboardInterrupt:
        if jobs > 1:
            get_reusable_executor().shutdown(wait=False, kill_workers=True)
        raise
    return problems


def _one(
    asked: Asked, root: Path, checkpoint_seconds: float, folder: Path
) -> tuple[Asked, str | None]:
    os.chdir(folder)  # a worker that served before may be elsewhere
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)  # said when the runs were planned
            execute(asked, root=root, checkpoint_seconds=checkpoint_seconds)
    except (RunError, InputError) as error:
        return asked, str(error)
    return asked, None
