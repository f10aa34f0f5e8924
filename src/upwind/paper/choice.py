"""Which of a row's candidates is shown: the best on OOD validation, found in rounds.

The first round runs every candidate with one seed; the best third goes on to three. Test nodes
are never looked at.
"""

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from upwind.paper.sheets import Column, Row, Sheet
from upwind.runs.ledger import Finished, Ledger
from upwind.runs.statistics import describe
from upwind.train import published_seeds, resolve

Asked = dict[str, Any]


@dataclass(frozen=True)
class Chosen:
    """A cell's runs as far as they are known.

    Attributes:
        spec: The candidate to show; none while the choice is open.
        runs: Its finished runs by seed.
        missing: What must be run next, to choose or to fill the cell.
        later: How many runs will at most be needed after those.
    """

    spec: str | None
    runs: dict[int, Finished]
    missing: list[Asked]
    later: int


def choose(sheet: Sheet, row: Row, column: Column, ledger: Ledger) -> Chosen:
    """The cell of this row and column, and what it still needs."""
    left = list(row.candidates)
    if not column.search:
        left = [left[0].split(":")[0] if len(left) > 1 else left[0]]  # its published values
    rounds = list(sheet.tuning) if len(left) > 1 else []
    while rounds:
        seeds, share = rounds.pop(0)
        left = left[: max(1, math.ceil(share * len(left)))]
        if len(left) == 1:
            break
        wanted = published_seeds(column.source, seeds)
        known = {spec: _runs(sheet, column, spec, ledger) for spec in left}
        missing = [
            asked_for(sheet, column, spec, seed)
            for seed in wanted
            for spec in left
            if seed not in known[spec]
        ]
        if missing:
            return Chosen(None, {}, missing, _later(len(left), seeds, rounds, column.seeds))
        means = {spec: _on_validation(known[spec], wanted) for spec in left}
        left.sort(key=lambda spec: -means[spec])
    spec = left[0]
    runs = _runs(sheet, column, spec, ledger)
    wanted = published_seeds(column.source, column.seeds)
    missing = [asked_for(sheet, column, spec, seed) for seed in wanted if seed not in runs]
    return Chosen(spec, {seed: runs[seed] for seed in wanted if seed in runs}, missing, 0)


def _later(left: int, done: int, rounds: list[tuple[int, float]], seeds: int) -> int:
    """Runs of the rounds to come, and of the cell itself."""
    total = 0
    for more, share in rounds:
        left = max(1, math.ceil(share * left))
        total += left * (more - done)
        done = more
    return total + max(0, seeds - done)


def _on_validation(runs: dict[int, Finished], seeds: list[int]) -> float:
    """The mean score that selection itself saw."""
    return describe([runs[seed].score("val") or 0.0 for seed in seeds]).mean


def asked_for(sheet: Sheet, column: Column, spec: str, seed: int) -> Asked:
    """The settings of one run of a cell."""
    where = {"source": column.source} | ({"shift": column.shift} if column.shift else {})
    return {**dict(sheet.settings), **where, "method": spec, "seed": seed}


def _runs(sheet: Sheet, column: Column, spec: str, ledger: Ledger) -> dict[int, Finished]:
    """The finished runs of a candidate, whatever their seed."""
    named: Any = SimpleNamespace(name=column.source, shift=column.data_shift)
    config = resolve(asked_for(sheet, column, spec, 0), named)
    return ledger.find(column.source, column.data_shift, config)
