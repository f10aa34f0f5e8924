"""Learning curves, and the weights' share by group: charts over the epochs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from markupsafe import Markup

from upwind.report.chart import Frame, Range, around
from upwind.report.records import Band, EpochRecord, Finished, band

_MOST_GROUPS = 7

Reader = Callable[[EpochRecord], float | None]


@final
@dataclass(frozen=True)
class Panel:
    """A chart with its heading, and its values again for reading them off."""

    title: str
    chart: Markup
    series: list[dict[str, Any]]
    frame: Frame


@final
@dataclass(frozen=True)
class Group:
    """A group of training nodes, and what it holds of nodes and of weight in the last epoch."""

    name: str
    slot: int
    nodes: float
    weight: float


def over_epochs(methods: Sequence[Finished], read: Reader) -> dict[int, Band]:
    """By the method's slot, what ``read`` finds in each of its epochs."""
    found = {}
    for method in methods:
        runs = [[(record["epoch"], read(record)) for record in run] for run in method.epochs]
        if (known := band(runs)) is not None:
            found[method.slot] = known
    return found


def learning_curves(
    methods: Sequence[Finished], parts: dict[str, str], metric: str, metric_title: str
) -> list[Panel]:
    """A metric on each part of the split; all but training on one scale, so that the gap shows."""
    bands = {part: over_epochs(methods, _score(part, metric)) for part in parts}
    bands = {part: found for part, found in bands.items() if found}
    if not bands:
        return []
    seen = {
        part: [100 * (b.mean + sign * b.deviation) for b in found.values() for sign in (-1, 1)]
        + [100 * np.array(_kept(part, metric)(method)[1]) for method in methods]
        for part, found in bands.items()
    }
    outside = around([values for part in seen if part != "train" for values in seen[part]])
    panels = []
    for part, found in bands.items():
        low, high = around(seen["train"]) if part == "train" else outside
        y = (max(0.0, low), min(100.0, high))
        title = parts[part][0].upper() + parts[part][1:]
        points = _kept(part, metric)
        panels.append(_panel(methods, found, title, y, 100, f"{metric_title} (%)", points))
    return panels


def concentration(methods: Sequence[Finished]) -> list[Panel]:
    """On how many training nodes the weight effectively is, and what the heaviest weighs."""
    share = over_epochs(methods, lambda record: float(record["weights"]["effective_share"]))
    largest = over_epochs(methods, lambda record: float(record["weights"]["largest"]))
    low, _ = around([100 * (b.mean - b.deviation) for b in share.values()])
    _, high = around([b.mean + b.deviation for b in largest.values()])
    return [
        _panel(
            methods,
            share,
            "Effective share of the training nodes",
            (max(0.0, min(low, 98.0)), 100.5),
            100,
            "(Σw)² / (nΣw²), in %",
        ),
        _panel(methods, largest, "The heaviest training node", (0, max(high, 1.5)), 1, "weight"),
    ]


def shares(method: Finished, kind: str, name_of: Callable[[int], str]) -> tuple[Panel, list[Group]]:
    """Share of the weight over share of the nodes, by class, environment or degree.

    Of many groups those whose share of the weight is farthest from their share of the nodes.
    """
    last = [run[-1]["weights"]["share"][kind] for run in method.epochs]
    groups = []
    for id in last[0]:
        weight = float(np.mean([share[id][0] for share in last]))
        groups.append((int(id), last[0][id][1], weight))
    groups.sort(key=lambda group: -abs(group[2] - group[1]))
    shown = sorted(groups[:_MOST_GROUPS])
    described = [
        Group(name_of(id), slot, nodes, weight) for slot, (id, nodes, weight) in enumerate(shown)
    ]
    found = {
        slot: over_epochs([method], _ratio(kind, str(id)))[method.slot]
        for slot, (id, _, _) in enumerate(shown)
    }
    y = around([np.ones(1), *(b.mean for b in found.values())], at_least=0.1)
    frame = Frame(_epochs(found), y)
    marks = [frame.reference(frame.x, (1, 1))]
    marks += [frame.line(b.epochs, b.mean, slot) for slot, b in found.items()]
    words = "; ".join(
        f"{g.name}: {100 * g.nodes:.1f} % of the nodes, {100 * g.weight:.1f} % of the weight"
        for g in described
    )
    chart = frame.draw(
        marks,
        x_title="epoch",
        y_title="share of weight / share of nodes",
        label=f"by {kind}. {words}",
    )
    series = [_series(described[slot].name, slot, b, 1, 3) for slot, b in found.items()]
    return Panel(kind, chart, series, frame), described


def degree_name(bin: int) -> str:
    """What the bins of `upwind.train.weights` hold.

    >>> [degree_name(bin) for bin in range(4)]
    ['0', '1', '2–3', '4–7']
    """
    low, high = int(2 ** (bin - 1)), 2**bin - 1
    return str(high) if low >= high else f"{low}–{high}"


def _panel(
    methods: Sequence[Finished],
    found: dict[int, Band],
    title: str,
    y: Range,
    scale: float,
    y_title: str,
    points: Callable[[Finished], tuple[list[int], list[float]]] | None = None,
) -> Panel:
    frame = Frame(_epochs(found), y)
    marks, words, series = [], [], []
    for method in methods:
        if (b := found.get(method.slot)) is None:
            continue
        mean, spread = scale * b.mean, scale * b.deviation
        inside = [frame.line(b.epochs, mean, method.slot)]
        if len(method.runs) > 1:
            low, high = np.clip(mean - spread, *y), np.clip(mean + spread, *y)
            inside.insert(0, frame.band(b.epochs, low, high, method.slot))
        if points is not None:
            epochs, values = points(method)
            inside.append(frame.dots(epochs, np.clip(scale * np.array(values), *y), method.slot))
        marks.append(
            Markup('<g data-method="{}">{}</g>').format(method.slot, Markup("").join(inside))
        )
        words.append(f"{method.name} ends at {mean[-1]:.1f}")
        series.append(_series(method.name, method.slot, b, scale, 1))
    label = f"{title} by epoch. {'; '.join(words)}."
    chart = frame.draw(marks, x_title="epoch", y_title=y_title, label=label)
    return Panel(title, chart, series, frame)


def _epochs(found: dict[int, Band]) -> Range:
    first = min(int(b.epochs[0]) for b in found.values())
    last = max(int(b.epochs[-1]) for b in found.values())
    return (first, max(last, first + 1))


def _series(name: str, slot: int, b: Band, scale: float, digits: int) -> dict[str, Any]:
    """What the page needs to read values off."""
    return {
        "name": name,
        "slot": slot,
        "epochs": b.epochs.tolist(),
        "mean": np.round(scale * b.mean, digits).tolist(),
        "deviation": np.round(scale * b.deviation, digits).tolist(),
    }


def _score(part: str, metric: str) -> Reader:
    return lambda record: record["scores"].get(part, {}).get(metric)


def _ratio(kind: str, id: str) -> Reader:
    def read(record: EpochRecord) -> float | None:
        weight, nodes = record["weights"]["share"][kind][id]
        return float(weight / nodes)

    return read


def _kept(part: str, metric: str) -> Callable[[Finished], tuple[list[int], list[float]]]:
    """Each run's kept epoch and its score there."""

    def points(method: Finished) -> tuple[list[int], list[float]]:
        kept = [result["rules"][result["selected"]] for result in method.results]
        pairs = [(k["epoch"], k["scores"][part][metric]) for k in kept if k and part in k["scores"]]
        pairs = [(epoch, value) for epoch, value in pairs if math.isfinite(value)]
        return [e for e, _ in pairs], [v for _, v in pairs]

    return points
