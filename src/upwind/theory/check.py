"""All checks in one go, for the command line."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from upwind.errors import InputError
from upwind.theory import theorems
from upwind.theory.cases import Case, cases
from upwind.theory.guard import PAPER, Guard, graph_of, guard

TAUS = (0.1, 0.05, 0.025, 0.0125, 0.00625)
BETAS = (0.5, 1.0, 2.0)
Say = Callable[[str], None]


@dataclass(frozen=True)
class Findings:
    """What was measured; each entry is a row of a table."""

    euler: list[theorems.EulerStep]
    order: dict[str, float]
    """The fitted power of tau with which one step's error falls, per graph; theory says 2."""
    theorem_1: list[theorems.Theorem1]
    decay: list[theorems.Decay]
    theorem_2: list[theorems.Theorem2]
    guard: list[Guard]
    absent: list[str]
    """Data sets that were not there, and why."""

    def as_dict(self) -> dict[str, object]:
        """For JSON; each reach with its sentence."""
        rows = asdict(self)
        for row, found in zip(rows["guard"], self.guard, strict=True):
            row["sentence"] = str(found.one_flow)
        return rows


def check_theory(seed: int, data: Path | None, say: Say) -> Findings:
    """Check on graphs from a seed, and on WebKB and CBAS where their files are."""
    small = cases(seed)
    euler: list[theorems.EulerStep] = []
    order: dict[str, float] = {}
    for case in small[:4]:
        say(f"Euler's step, {case.name}")
        errors = theorems.euler_errors(case, 0.3, TAUS)
        euler += errors
        order[case.name] = theorems.fitted_order(errors[1:])
    first = []
    for case in small:
        say(f"theorem 1, {case.name}")
        first += [theorems.theorem_1(case, 0.3, tau) for tau in (0.01, 0.1, 1.0)]
    decays: list[theorems.Decay] = []
    second: list[theorems.Theorem2] = []
    for case in small:
        for beta in BETAS:
            say(f"theorem 2, {case.name}, beta {beta}")
            found = theorems.decay(case, beta)
            decays.append(found)
            if case in small[:2]:
                times = [0.01 / found.rate, 0.1 / found.rate, 1 / found.rate, 3 / found.rate]
                second += theorems.theorem_2(case, beta, found.least, times)
    guards, absent = [], []
    for setting in PAPER:
        say(f"reach, {setting.data} {setting.shift}")
        try:
            graph = _load(setting.data, setting.shift, data)
        except InputError as problem:
            absent.append(f"{setting.data} {setting.shift}: {problem}")
            continue
        guards.append(guard(graph, setting, seed))
        if (setting.data, setting.shift) == ("webkb", "concept"):
            say("theorem 1, WebKB")
            first.append(theorems.theorem_1(_webkb(graph, seed), 0.1, 0.1, steps=2))
    return Findings(euler, order, first, decays, second, guards, absent)


def steps_that_break(row: theorems.Theorem2, rate: float) -> float:
    """From how many steps on ``1 - exp(-C T_in)`` is more than the flow reaches at this time."""
    return -log(1 - row.ratio) / rate if row.ratio < 1 else float("inf")


def _load(name: str, shift: str, folder: Path | None) -> Data:
    from upwind.data import load

    return load(name, shift=shift, root=folder)


def _webkb(data: Data, seed: int) -> Case:
    graph = graph_of(data)
    losses = torch.from_numpy(np.random.default_rng(seed).uniform(0, 2, graph.num_nodes))
    return Case("WebKB", graph, losses)
