"""Charts as SVG: a frame with axes, and marks in it.

Drawn at the width of a telephone, so that a wide page holds several side by side and a narrow one
shows them at the size they were drawn. Colours are CSS classes: the page knows what is dark.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike, NDArray

WIDTH, HEIGHT = 360, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 24, 40
COLOURS = 7  # of the page; after them they come again with other dashes
_MOST_POINTS = 250  # more are closer than a pixel

Range = tuple[float, float]


@final
@dataclass(frozen=True)
class Frame:
    """Axes, and where a value is in them.

    Attributes:
        x: Range from left to right.
        y: Range from bottom to top.
    """

    x: Range
    y: Range

    def across(self, values: ArrayLike) -> NDArray[np.float64]:
        """Pixels from the left."""
        low, high = self.x
        share = (np.asarray(values, float) - low) / (high - low)
        return _LEFT + share * (WIDTH - _LEFT - _RIGHT)

    def down(self, values: ArrayLike) -> NDArray[np.float64]:
        """Pixels from the top."""
        low, high = self.y
        share = (np.asarray(values, float) - low) / (high - low)
        return _TOP + (1 - share) * (HEIGHT - _TOP - _BOTTOM)

    def line(self, x: ArrayLike, y: ArrayLike, slot: int, css: str = "line") -> Markup:
        """A line through these points."""
        return _path(self._points(x, y), f"{css} {style(slot)}")

    def band(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, slot: int) -> Markup:
        """The area between two lines."""
        there, back = self._points(x, high), self._points(x, low)
        return _path(np.concatenate([there, back[::-1]]), f"band {style(slot)}", "Z")

    def dots(
        self, x: ArrayLike, y: ArrayLike, slot: int, radius: ArrayLike = 3.0, css: str = "dot"
    ) -> Markup:
        """A circle at each point."""
        circles = np.broadcast_arrays(self.across(x), self.down(y), radius)
        dot = Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>')
        return _join(
            dot.format(f"{css} {style(slot)}", *place)
            for place in np.column_stack([np.ravel(part) for part in circles]).tolist()
        )

    def reference(self, x: Sequence[float], y: Sequence[float]) -> Markup:
        """A thin line to compare with."""
        return _path(self._points(x, y), "reference")

    def draw(self, marks: Iterable[Markup], *, x_title: str, y_title: str, label: str) -> Markup:
        """The chart; ``label`` is for those who do not see it."""
        bottom, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
        parts = []
        for value, place in zip(t := ticks(self.y), self.down(t).tolist(), strict=True):
            parts.append(
                Markup(
                    '<path class="grid" d="M{0} {1:.1f}H{2}"/>'
                    '<text class="tick end" x="{3}" y="{4:.1f}">{5}</text>'
                ).format(_LEFT, place, right, _LEFT - 6, place + 4, number(value, t))
            )
        for value, place in zip(t := ticks(self.x), self.across(t).tolist(), strict=True):
            parts.append(
                Markup('<text class="tick middle" x="{:.1f}" y="{}">{}</text>').format(
                    place, bottom + 16, number(value, t)
                )
            )
        parts.append(
            Markup(
                '<path class="axis" d="M{0} {1}H{2}"/>'
                '<text class="end" x="{2}" y="{3}">{4}</text><text x="2" y="13">{5}</text>'
            ).format(_LEFT, bottom, right, HEIGHT - 6, x_title, y_title)
        )
        return Markup(
            '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
        ).format(WIDTH, HEIGHT, label, _join([*parts, *marks]))

    def _points(self, x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        points = np.column_stack([self.across(x), self.down(y)])
        return points[:: max(1, math.ceil(len(points) / _MOST_POINTS))]


def around(values: Iterable[ArrayLike], *, at_least: float = 0.0) -> Range:
    """A range that holds these values with a little room, and is at least so wide.

    >>> around([[0.0, 1.0]])
    (-0.04, 1.04)
    """
    flat = np.concatenate([np.ravel(np.asarray(part, float)) for part in values])
    low, high = float(flat.min()), float(flat.max())
    room = max(0.04 * (high - low), (at_least - (high - low)) / 2, 1e-9)
    return low - room, high + room


def ticks(between: Range, most: int = 6) -> list[float]:
    """Round numbers in a range.

    >>> ticks((-0.04, 1.04))
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    low, high = between
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(k * step, digits) for k in range(first, last + 1)]


def number(value: float, among: Sequence[float]) -> str:
    """A tick's text, with as many decimals as its neighbours need.

    >>> number(1.0, [0.5, 1.0])
    '1.0'
    """
    step = abs(among[1] - among[0]) if len(among) > 1 else 1.0
    return f"{value:.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


def style(slot: int) -> str:
    """The classes of the colour and the dashes of one of many.

    >>> style(8)
    'c1 d1'
    """
    return f"c{slot % COLOURS} d{slot // COLOURS % 4}"


def _path(points: NDArray[np.float64], css: str, end: str = "") -> Markup:
    text = "L".join(f"{x:.1f} {y:.1f}" for x, y in points.tolist())
    return Markup('<path class="{}" d="M{}{}"/>').format(css, text, end)


def _join(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)
