"""Searching a method's options on validation, each trial a run with a record of its own.

Optuna keeps the study: a SQLite file beside the runs, or any database that several machines
reach. Trials that fall behind the median of the others at the same epoch are stopped.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from upwind import methods
from upwind.errors import InputError, RunError
from upwind.runs.execute import execute
from upwind.runs.record import Run
from upwind.train import load_data, resolve
from upwind.train.selection import RULES

if TYPE_CHECKING:
    import optuna

_WARM_UP = 5  # trials, and epochs of a trial, before any is stopped
Space = dict[str, Sequence[Any]]


@dataclasses.dataclass(frozen=True)
class Best:
    """What a search found.

    Attributes:
        value: The best validation score.
        method: The method with the best options, as other commands take it.
        settings: The best values of other settings that were searched.
        run: The record of the best trial.
        trials: How many trials the study has.
        stopped: How many of them were stopped because they fell behind.
    """

    value: float
    method: str
    settings: dict[str, Any]
    run: Path
    trials: int
    stopped: int


def space(method: str, search: Mapping[str, Sequence[Any]]) -> Space:
    """What is searched: the published grid of each part of the method, and what the caller adds.

    >>> sorted(space("tar", {}))
    ['tar.beta', 'tar.steps', 'tar.tau']
    """
    found: Space = {}
    for part, chosen in methods.parse(method).items():
        for field in dataclasses.fields(methods.get(part).Options):
            if field.metadata.get("grid") and field.name not in chosen:
                found[f"{part}.{field.name}"] = field.metadata["grid"]
    found |= search
    if not found:
        raise InputError(
            f"{method} has no option with a published grid; name what to search: "
            "--search lr=0.01,0.001"
        )
    return found


def tune(
    asked: Mapping[str, Any],
    *,
    trials: int,
    search: Mapping[str, Sequence[Any]] | None = None,
    root: Path = Path("runs"),
    storage: str | None = None,
    seed: int = 0,
) -> Best:
    """Run trials until the study has so many, and return the best.

    The same call goes on with the same study, also from another process or machine. A trial whose
    worker died does not count: another takes its place.

    Args:
        asked: Settings by the names of `upwind.train.Config`, ``method`` among them.
        trials: How many trials the study shall have, whoever did them.
        search: Further settings to search, with their values.
        root: The folder of runs.
        storage: A database URL; by default a SQLite file in ``root``.
        seed: Of the sampler of trials.
    """
    try:
        import optuna
    except ImportError:
        raise InputError("tuning needs Optuna: pip install 'upwind[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    method = str(asked.get("method", "erm"))
    searched = space(method, search or {})
    data = load_data(asked)
    config = resolve(asked, data)
    root.mkdir(parents=True, exist_ok=True)
    name = f"{Run.of(root, config, data).id}-{'-'.join(sorted(searched))}"
    study = _study(optuna, storage or f"sqlite:///{root.resolve() / 'tune.sqlite'}", name, seed)

    def objective(trial: "optuna.Trial") -> float:
        values = {key: trial.suggest_categorical(key, list(v)) for key, v in searched.items()}
        spec, settings = _as_asked(method, values)
        part = RULES[config.select]

        def watch(record: dict[str, Any]) -> None:
            trial.report(record["scores"][part][data.metric], record["epoch"])
            if trial.should_prune():
                raise optuna.TrialPruned

        run = execute({**asked, **settings, "method": spec}, root=root, data=data, watch=watch)
        trial.set_user_attr("run", str(run.folder))
        scores = run.result["rules"][config.select]["scores"]
        return float(scores[part][data.metric])

    finished = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    enough = optuna.study.MaxTrialsCallback(trials, states=finished)
    if len(study.get_trials(deepcopy=False, states=finished)) < trials:
        study.optimize(objective, callbacks=[enough], catch=(RunError,))
    done = study.get_trials(deepcopy=False, states=(finished[0],))
    if not done:
        raise RunError("no trial came to its end; see the runs for why")
    best = study.best_trial
    spec, settings = _as_asked(method, best.params)
    counted = study.get_trials(deepcopy=False, states=finished)
    return Best(
        float(best.value or 0.0),
        spec,
        settings,
        Path(best.user_attrs["run"]),
        len(counted),
        len(counted) - len(done),
    )


def _study(library: Any, storage: str, name: str, seed: int) -> "optuna.Study":
    from sqlalchemy.exc import SQLAlchemyError

    try:
        study: optuna.Study = library.create_study(
            storage=storage,
            study_name=name,
            load_if_exists=True,
            direction="maximize",
            pruner=library.pruners.MedianPruner(_WARM_UP, _WARM_UP),
        )
    except (SQLAlchemyError, ImportError) as error:
        raise InputError(
            f"the study at {storage} cannot be opened: {str(error).splitlines()[0]}"
        ) from None
    # Workers that start later draw other trials.
    study.sampler = library.samplers.TPESampler(seed=seed + len(study.trials))
    return study


def _as_asked(method: str, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The method's spec with these options, and the settings that are not options."""
    parts = method.split("+")
    settings = {}
    for key, value in values.items():
        part, dot, option = key.partition(".")
        if not dot:
            settings[key] = value
            continue
        parts = [f"{p}:{option}={value}" if p.split(":")[0] == part else p for p in parts]
    return "+".join(parts), settings
