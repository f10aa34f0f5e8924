"""What a command says: a table or sentences for people, one JSON document for programs."""

import dataclasses
import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

_POLL_SECONDS = 0.3
_WIDE = 160


def say_json(document: Any) -> None:
    """The one document on standard output; what is not a number is null."""
    print(json.dumps(_plain(document), indent=1, allow_nan=False))


def say_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table, numbers to the right."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for place, column in enumerate(columns):
        numbers = all(row[place][:1] in "+-0123456789" for row in rows)
        table.add_column(column, justify="right" if numbers else "left", no_wrap=place == 0)
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else _WIDE  # a file has no width to keep to
    Console(highlight=False, markup=False, width=width).print(table)


@contextmanager
def progress_of(folders: Sequence[Path], epochs: int, what: str) -> Iterator[None]:
    """One bar for runs wherever they are done: their records are what is watched.

    Quiet where standard error is not a terminal.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} epochs, {task.fields[done]} runs done"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    stop = Event()
    tails = [_Tail(folder / "epochs.jsonl") for folder in folders]

    def follow(task: Any) -> None:
        while not stop.wait(_POLL_SECONDS):
            done = sum((folder / "done").exists() for folder in folders)
            bar.update(task, completed=sum(tail.lines() for tail in tails), done=done)

    with bar:
        thread = Thread(target=follow, args=[bar.add_task(what, total=epochs, done=0)], daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def busy(what: str) -> AbstractContextManager[Any]:
    """A sign of life on standard error; silent where nobody watches."""
    return Console(stderr=True).status(what)


class _Tail:
    """Counts the lines of a growing file, reading only what is new."""

    def __init__(self, path: Path) -> None:
        self._path, self._place, self._count = path, 0, 0

    def lines(self) -> int:
        try:
            with open(self._path, "rb") as file:
                if file.seek(0, 2) < self._place:  # cut back by a run that resumed
                    self._place = self._count = 0
                file.seek(self._place)
                new = file.read()
        except FileNotFoundError:
            return 0
        self._place += len(new)
        self._count += new.count(b"\n")
        return self._count


def percent(value: float | None, digits: int = 2) -> str:
    """A share as people write it.

    >>> percent(0.1413), percent(None)
    ('14.13', '')
    """
    return "" if value is None or math.isnan(value) else f"{100 * value:.{digits}f}"


def spread(sample: Any) -> str:
    """Mean and deviation in percent."""
    if sample is None:
        return ""
    after = "" if sample.deviation is None else f" ± {percent(sample.deviation)}"
    return percent(sample.mean) + after


def duration(seconds: float) -> str:
    """Seconds as people write them.

    >>> duration(5.25), duration(75), duration(7260)
    ('5.2 s', '1:15 min', '2:01 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds >= 3600:
        return f"{int(seconds) // 3600}:{int(seconds) % 3600 // 60:02d} h"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d} min"


def complain(sentence: str, code: int) -> int:
    """Say what went wrong on standard error, and on standard output too if that speaks JSON."""
    print(f"upwind: {sentence}", file=sys.stderr)
    if "--json" in sys.argv:
        say_json({"error": sentence, "code": code})
    return code


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain(dataclasses.asdict(value))
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value
