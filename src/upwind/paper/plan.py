"""Which runs a table still needs, how long they will take, and doing them."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from upwind.paper.choice import Asked, choose
from upwind.paper.sheets import Sheet
from upwind.runs import Run
from upwind.runs.fan_out import do_all
from upwind.runs.ledger import Ledger
from upwind.train import load_data, resolve

# Seconds of a run on one core, where no record says it yet; seen on two-core machines.
_GUESS = {"webkb": 20, "cbas": 25, "twitch": 2400, "dblp_word": 1800, "pubmed_lt": 150}
_GUESS_ELSE = 40.0

Watch = Callable[[list[Path], int, str], AbstractContextManager[None]]
"""Shows the progress of runs in these folders: how many epochs they have in all, and a title."""


@dataclass(frozen=True)
class Plan:
    """What is missing.

    Attributes:
        work: Runs that can start now.
        later: Runs that may follow, once these have decided which candidates go on.
        seconds: What ``work`` and ``later`` cost on one core, at most.
    """

    work: list[Asked]
    later: int
    seconds: float


def plan(sheets: Iterable[Sheet], ledger: Ledger) -> Plan:
    """What these tables still need."""
    work: dict[str, Asked] = {}
    later, seconds = 0, 0.0
    for sheet in sheets:
        for row in sheet.rows:
            for column in sheet.columns:
                found = choose(sheet, row, column, ledger)
                new = {str(asked): asked for asked in found.missing if str(asked) not in work}
                work |= new
                later += found.later
                each = _cost(column.source, row.candidates[0].split(":")[0], ledger)
                seconds += each * (len(new) + found.later)
    return Plan(list(work.values()), later, seconds)


def carry_out(
    sheets: list[Sheet],
    *,
    root: Path,
    compact: Path | None,
    data: str | None,
    jobs: int,
    watch: Watch,
    cluster: str | None = None,
    say: Callable[[Plan], None] = lambda _: None,
) -> list[str]:
    """Do every run that the tables need, round by round, and return what went wrong.

    ``say`` is told what is missing before anything is run; the other arguments are those of `make`.
    """
    tried: set[str] = set()
    problems: list[str] = []
    while True:
        found = plan(sheets, Ledger.read(root, compact))
        if not tried:
            say(found)
        work = [asked for asked in found.work if str(asked) not in tried]
        if not work:
            return problems
        tried |= {str(asked) for asked in work}
        where = {} if data is None else {"data": data}
        wanted = [{**asked, **where} for asked in work]
        folders, epochs = _folders(wanted, root)
        with watch(folders, epochs, f"{len(wanted)} runs"):
            problems += do_all(wanted, root=root, jobs=jobs, cluster=cluster)


def _cost(source: str, method: str, ledger: Ledger) -> float:
    known = ledger.seconds(source, method)
    return _GUESS.get(source, _GUESS_ELSE) if known is None else known


def _folders(work: list[Asked], root: Path) -> tuple[list[Path], int]:
    """Where the runs will be, and their epochs in all; each graph is loaded once."""
    graphs: dict[tuple[str, str | None], Any] = {}
    folders, epochs = [], 0
    for asked in work:
        where = asked["source"], asked.get("shift")
        if where not in graphs:
            graphs[where] = load_data(asked)
        config = resolve(asked, graphs[where])
        folders.append(Run.of(root, config, graphs[where]).folder)
        epochs += config.epochs
    return folders, epochs
