"""What is wrong with a graph: said in one line each, and all at once."""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from upwind.errors import InputError, InputWarning

Severity = Literal["error", "warning"]
SHOWN = 3


@dataclass(frozen=True)
class Defect:
    """One thing that is wrong, how often, where first, and what to do about it.

    Attributes:
        code: A short name for programs.
        severity: An error cannot be trained on; a warning can, but perhaps not as meant.
        what: What is wrong.
        advice: What to do.
        count: How many nodes, edges or values are affected; 1 where there is only one of it.
        first: The first few that are affected.
    """

    code: str
    severity: Severity
    what: str
    advice: str
    count: int = 1
    first: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = ""
        if self.first:
            more = ", ..." if self.count > len(self.first) else ""
            where = f": {self.count:,} ({', '.join(self.first)}{more})"
        return f"{self.severity}: {self.what}{where}; {self.advice}."


class Findings(list[Defect]):
    """A list of defects; what nothing is affected by is not one."""

    def each(
        self,
        code: str,
        severity: Severity,
        places: NDArray[np.int64],
        what: str,
        advice: str,
        call: Callable[[int], str],
    ) -> None:
        """Note a defect of several things; `call` says what the user calls one of them."""
        if len(places):
            first = tuple(call(int(place)) for place in places[:SHOWN])
            self.append(Defect(code, severity, what, advice, len(places), first))


def settle(defects: Iterable[Defect], name: str) -> None:
    """Raise an error that lists every defect if one is an error, else warn with the list.

    Args:
        defects: What was found.
        name: What the user calls the graph, such as its file.
    """
    listed = sorted(defects, key=lambda defect: defect.severity)
    if not listed:
        return
    errors = sum(defect.severity == "error" for defect in listed)
    tally = f"{errors} error{'s' * (errors != 1)}" if errors else "usable, with warnings"
    message = "\n  ".join([f"{name}: {tally}", *map(str, listed)])
    if errors:
        raise InputError(message)
    warnings.warn(message, InputWarning, stacklevel=3)


def node_name(data: Data, node: int) -> str:
    """What the user calls a node: its id in their tables, else its number."""
    names = getattr(data, "node_names", None)
    return names[node] if names and 0 <= node < len(names) else str(node)


@contextmanager
def warnings_on_stderr() -> Iterator[None]:
    """For the command line: what is odd about the input in plain lines, without a place in code."""

    def say(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, InputWarning):
            print(f"upwind: {message}", file=sys.stderr)
        else:
            usual(message, category, *place, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", InputWarning)
        usual, warnings.showwarning = warnings.showwarning, say
        yield
