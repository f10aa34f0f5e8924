"""Reliability diagrams: how often a method is right where it is so sure."""

from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from upwind.report.chart import Frame
from upwind.report.curves import Panel
from upwind.report.records import Finished

_SMALLEST, _LARGEST = 1.5, 9.0  # radius of a dot: its area is the share of the predictions


def reliability(method: Finished, parts: dict[str, str]) -> Panel:
    """Confidence against accuracy on each of these parts, over all predictions of all runs."""
    frame = Frame((0.0, 1.0), (0.0, 1.0))
    marks, words = [frame.reference((0, 1), (0, 1))], []
    for slot, (part, title) in enumerate(parts.items()):
        count, confidence, right = _pooled(method.results, part)
        share = count / count.sum()
        error = float((share * np.abs(right - confidence)).sum())
        radius = np.maximum(_SMALLEST, _LARGEST * np.sqrt(share))
        css = "dot" if slot == 0 else "dot hollow"
        inside = [
            frame.line(confidence, right, slot, "line thin"),
            frame.dots(confidence, right, slot, radius, css),
        ]
        marks.append(Markup("<g>{}</g>").format(Markup("").join(inside)))
        words.append(f"{title}: all runs together are {100 * error:.1f} points off")
    label = f"Reliability of {method.name}. {'; '.join(words)}."
    chart = frame.draw(marks, x_title="confidence", y_title="share right", label=label)
    return Panel(method.name, chart, [], frame)


def _pooled(
    results: list[dict[str, Any]], part: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Count, mean confidence and share of right predictions of each bin that has any."""
    curves = [result["calibration"][part] for result in results]
    count = np.array([curve["count"] for curve in curves], float)
    total = count.sum(0)
    there = total > 0
    mean = {
        name: (count * np.array([curve[name] for curve in curves])).sum(0)[there] / total[there]
        for name in ("confidence", "accuracy")
    }
    return total[there], mean["confidence"], mean["accuracy"]
