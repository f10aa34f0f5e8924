"""Finished runs as tables need them: read from their folders, or from a compact file of many.

A compact file has a line of JSON per run, with what a run was made by and what it scored, but
neither checkpoint nor epochs: small enough to be kept beside the code.
"""

import dataclasses
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from upwind import methods
from upwind.errors import InputError
from upwind.runs import files
from upwind.runs.record import Run, find_runs, training_settings
from upwind.train import Config

# What a score does not depend on but for rounding, or what tells the runs of a cell apart.
_NOT_IN_KEY = ("seed", "threads", "device", "select", "options", "method")
_DIGITS = 6


@dataclasses.dataclass(frozen=True)
class Finished:
    """A run that is done.

    Attributes:
        id: Of its record.
        data: Name, shift, metric and fingerprint of the data.
        config: The resolved configuration; where the data lay is not in it.
        rules: By selection rule, the epoch it keeps and every part's scores there.
        weights: Figures of the method's weights in the last epoch, if it has any.
        seconds: Training time.
        made: Versions, revision and machine.
    """

    id: str
    data: dict[str, str]
    config: Config
    rules: dict[str, Any]
    weights: dict[str, float] | None
    seconds: float
    made: dict[str, Any]

    def score(self, part: str, metric: str | None = None, rule: str = "ood_val") -> float | None:
        """A score at the epoch that a rule keeps; none where there is no such part or epoch."""
        outcome = self.rules.get(rule)
        if outcome is None:
            return None
        value: float | None = outcome["scores"].get(part, {}).get(metric or self.data["metric"])
        return value


class Ledger:
    """Finished runs, found again by what they were made with."""

    def __init__(self, runs: Iterable[Finished]) -> None:
        self._by_key: dict[str, dict[int, Finished]] = defaultdict(dict)
        for run in runs:
            self._by_key[_key(run.data["name"], run.data["shift"], run.config)].setdefault(
                run.config.seed, run
            )

    @classmethod
    def read(cls, root: Path, compact: Path | None = None) -> "Ledger":
        """Runs under ``root``, and those of the compact files in a folder."""
        found = [finished(run) for run in find_runs(root) if run.is_done]
        for path in sorted(compact.glob("*.jsonl")) if compact else []:
            found += read_compact(path)
        return cls(found)

    def __iter__(self) -> Iterator[Finished]:
        return (run for seeds in self._by_key.values() for run in seeds.values())

    def find(self, name: str, shift: str, config: Config) -> dict[int, Finished]:
        """By seed, the runs on this data with these settings, whatever their own seed is."""
        found = self._by_key.get(_key(name, shift, config), {})
        graphs = {run.data["sha256"] for run in found.values()}
        if len(graphs) > 1:
            raise InputError(
                f"the runs of {config.method} on {name} ({shift}) were made on {len(graphs)} "
                "different graphs; keep the records of one in the folder"
            )
        return found

    def seconds(self, name: str, method: str) -> float | None:
        """What a run costs: the median of this method on this data, else of any method on it."""
        on_it = [run for run in self if run.data["name"] == name]
        same = [run for run in on_it if run.config.method == method] or on_it
        spent = sorted(run.seconds for run in same)
        return spent[len(spent) // 2] if spent else None


def finished(run: Run) -> Finished:
    """What a record says of a run that is done."""
    result, data = run.result, run.data
    # Records made before results said it have it in their last epoch.
    weights = result["weights"] if "weights" in result else list(run.epochs())[-1]["weights"]
    made = files.read_json(run.folder / "environment.json")
    return Finished(
        run.id,
        {name: str(data[name]) for name in ("name", "shift", "sha256")}
        | {"metric": result["metric"]},
        Config(**training_settings(run.config)),
        result["rules"],
        weights and {k: weights[k] for k in ("effective_share", "largest", "smallest")},
        sum(result["seconds"].values()),
        {name: made.get(name) for name in ("upwind", "git", "python", "processor")}
        | {"torch": made["packages"]["torch"]},
    )


def write_compact(runs: Iterable[Finished], folder: Path) -> list[Path]:
    """One file per data set and shift, sorted by id, so that a new run is a new line."""
    groups = defaultdict(list)
    for run in runs:
        groups[f"{run.data['name']}_{run.data['shift']}"].append(run)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, group in sorted(groups.items()):
        path = folder / f"{name}.jsonl"
        lines = [_line(run) for run in sorted(group, key=lambda run: run.id)]
        files.write(path, ("\n".join(lines) + "\n").encode())
        written.append(path)
    return written


def read_compact(path: Path) -> list[Finished]:
    """The runs of a compact file; a line that is none is named."""
    found = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        try:
            entry = json.loads(line)
            options = {
                name: dataclasses.asdict(methods.get(name).Options(**chosen))
                for name, chosen in entry.pop("options")
            }
            config = Config(**entry.pop("settings"), method="+".join(options), options=options)
            found.append(Finished(config=config, **entry))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}, line {number}, is no run of this upwind: {error}") from None
    return found


def _line(run: Finished) -> str:
    defaults = dataclasses.asdict(Config())
    entry = dataclasses.asdict(run)
    config = entry.pop("config")
    entry["settings"] = {
        name: value
        for name, value in training_settings(run.config).items()
        if value != defaults[name] and name not in ("options", "method")
    }
    entry["options"] = [
        [name, methods.set_apart(name, chosen)] for name, chosen in config["options"].items()
    ]
    return json.dumps(_rounded(entry), sort_keys=True)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value


def _key(name: str, shift: str, config: Config) -> str:
    """The same for all runs of a cell; in which order methods were added up does not matter."""
    defaults = dataclasses.asdict(Config())
    settings = {
        field: value
        for field, value in training_settings(config).items()
        if field not in _NOT_IN_KEY and value != defaults[field]
    }
    options = {part: methods.set_apart(part, chosen) for part, chosen in config.options.items()}
    return json.dumps([name, shift, settings, options], sort_keys=True)
