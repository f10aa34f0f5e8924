"""The paper's picture of the flow, from computed trajectories, distances and maximisers."""

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from upwind.errors import InputError
from upwind.flow import geometric_wasserstein, gibbs, gradient_flow
from upwind.theory.cases import undirected
from upwind.theory.check import Findings
from upwind.theory.steps import proximal_step, worst_case

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = NDArray[np.float64]

# A path of three nodes: its densities are the points of a triangle.
GRAPH = undirected([(0, 1), (1, 2)], 3)
LOSSES = torch.tensor([0.0, 0.6, 1.0], dtype=torch.float64)
START = torch.tensor([0.62, 0.28, 0.10], dtype=torch.float64)
BETA = 0.25
TAU = 0.45
STEPS = 4
# Okabe and Ito's colours, told apart by people who see few.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
CORNERS = np.array([[0, 0], [1, 0], [0.5, 3**0.5 / 2]])


def draw_flow(out: Path) -> None:
    """Draw the flow on a graph of three nodes, its balls, and the exact maximiser."""
    figure = new_figure(8, 6.2)
    smooth = _flow(START, np.linspace(0, TAU * STEPS, 41))
    jumps = [START]
    balls = []
    for _ in range(STEPS):
        step = proximal_step(GRAPH, LOSSES, jumps[-1], tau=TAU, beta=BETA, steps=8)
        balls.append(_ball(jumps[-1], step.distance))
        jumps.append(step.weights)
    end = jumps[-1]
    radius = geometric_wasserstein(GRAPH, START, end, solver="cvxpy", steps=8).distance
    best = worst_case(GRAPH, LOSSES, START, radius=radius, beta=BETA, steps=8).weights
    limit = gibbs(GRAPH, LOSSES, BETA)

    axes = figure.add_subplot()
    axes.set_aspect("equal")
    axes.axis("off")
    _contours(axes)
    axes.plot(*np.vstack([CORNERS, CORNERS[:1]]).T, color="0.3", lw=1)
    names = ["all mass on node 0", "node 1", "node 2, the highest loss"]
    for place, name, dy in zip(CORNERS, names, (-0.035, -0.035, 0.03), strict=True):
        axes.text(place[0], place[1] + dy, name, ha="center", va="center", fontsize=10)
    for k, ball in enumerate(balls):
        label = "ball of one proximal step" if k == 0 else None
        axes.fill(*_flat(ball), facecolor=GREEN, alpha=0.12)
        axes.plot(*_flat(ball), color=GREEN, lw=1, label=label)
    far = _flat(_ball(START, radius))
    axes.plot(*far, color="black", ls="--", lw=1.2, label="ball that the last step reaches")
    axes.plot(*_flat(smooth), color=BLUE, lw=2, label="gradient flow")
    axes.plot(
        *_flat(np.array([j.numpy() for j in jumps])),
        "o-",
        color=ORANGE,
        lw=1,
        ms=5,
        label=f"{STEPS} proximal steps, tau = {TAU}",
    )
    marks = [(START, "s", "black", "start"), (best, "*", PURPLE, "worst case in the dashed ball")]
    marks.append((limit, "D", BLUE, "limit of the flow"))
    for q, shape, color, label in marks:
        place = _flat(q.numpy()[None])
        # A hollow star: the last proximal step lies almost under it.
        hollow = shape == "*"
        axes.plot(
            *place,
            shape,
            ms=18 if hollow else 7,
            mfc="none" if hollow else color,
            mec=color if hollow else "w",
            mew=1.5,
            label=label,
            ls="none",
        )
    axes.legend(loc="upper left", frameon=False, fontsize=10, bbox_to_anchor=(-0.02, 1.0))
    save_figure(figure, out)


def draw_findings(found: Findings, out: Path) -> None:
    """Draw what was measured: Euler's error, theorem 2's ratio, and its constant."""
    figure = new_figure(12, 3.8)
    error, ratio, rate = figure.subplots(1, 3)
    styles = itertools.cycle(zip((BLUE, ORANGE, GREEN, PURPLE), "osD^", strict=True))
    for case, rows in itertools.groupby(found.euler, key=lambda row: row.case):
        steps, (color, mark) = list(rows), next(styles)
        x, y = [row.tau for row in steps], [row.error for row in steps]
        error.loglog(x, y, mark + "-", color=color, lw=1, ms=5, label=case)
    taus = np.array(sorted({row.tau for row in found.euler}))
    lowest = min(row.error for row in found.euler)
    error.loglog(taus, lowest / 3 * (taus / taus[0]) ** 2, "k--", lw=1, label="slope 2")
    error.set(xlabel="tau", ylabel="L1 error of one Euler step")
    error.legend(frameon=False, fontsize=8)

    times = np.array([-np.log(1 - row.promised) for row in found.theorem_2])
    ratio.plot(times, [row.ratio for row in found.theorem_2], "o", color=BLUE, ms=5, label="flow")
    curve = np.geomspace(times.min(), times.max(), 100)
    ratio.plot(curve, 1 - np.exp(-curve), color=ORANGE, label="1 - exp(-C t)")
    ratio.set(xscale="log", xlabel="C t", ylabel="gain / worst case's gain", ylim=(0, 1.05))
    ratio.legend(frameon=False, loc="center left")

    for row in found.decay:
        rate.plot([row.low, row.high], [row.rate, row.rate], color="0.7", lw=1)
    for beta, color, mark in zip((0.5, 1.0, 2.0), (BLUE, ORANGE, GREEN), "osD", strict=True):
        rows_ = [row for row in found.decay if row.beta == beta]
        x = [(row.low * row.high) ** 0.5 for row in rows_]
        label = f"beta = {beta}"
        rate.plot(x, [row.rate for row in rows_], mark, color=color, ms=5, label=label)
    ends = np.array([min(r.low for r in found.decay), max(r.high for r in found.decay)])
    rate.plot(ends, ends, "k--", lw=1)
    rate.set(xscale="log", yscale="log", ylabel="fitted C")
    rate.set_xlabel("2 beta x spectral gap")
    rate.legend(frameon=False)
    save_figure(figure, out)


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure, or a sentence on what it needs."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("the figure needs matplotlib: pip install 'upwind[theory]'.") from None
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: "Figure", out: Path) -> None:
    """Save it where asked, making the folder."""
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)


def _flow(start: Tensor, times: Points) -> Points:
    def at(time: float) -> Tensor:
        return gradient_flow(
            GRAPH,
            LOSSES,
            start=start,
            beta=BETA,
            steps=1,
            tau=time,
            integrator="heun",
            rtol=1e-3,
        ).weights

    return np.array([at(float(t)).numpy() for t in times])


def _ball(centre: Tensor, radius: float, rays: int = 72) -> Points:
    """The densities at a distance from a centre: a root along each ray, by bisection."""
    rim = []
    for angle in np.linspace(0, 2 * np.pi, rays + 1):
        ray = np.cos(angle) * np.array([1, -1, 0]) / 2**0.5
        ray = ray + np.sin(angle) * np.array([1, 1, -2]) / 6**0.5
        c = centre.numpy()
        low, high = 0.0, float((c[ray < -1e-12] / -ray[ray < -1e-12]).min()) * (1 - 1e-9)
        for _ in range(9):
            middle = (low + high) / 2
            q = torch.from_numpy(c + middle * ray)
            # Eight steps and two digits are more than a line's width.
            far = geometric_wasserstein(GRAPH, centre, q, steps=8, tolerance=1e-2).distance
            low, high = (middle, high) if far < radius else (low, middle)
        rim.append(c + (low + high) / 2 * ray)
    return np.array(rim)


def _flat(q: Points) -> Points:
    """From densities to points of the page."""
    return np.asarray((q @ CORNERS).T)


def _contours(axes: "Axes") -> None:
    """Level lines of the energy."""
    part = np.linspace(1e-4, 1, 80)
    a, b = np.meshgrid(part, part)
    inside = a + b < 1
    q = np.stack([a[inside], b[inside], 1 - a[inside] - b[inside]], axis=1)
    energy = q @ LOSSES.numpy() - BETA * (q * np.log(np.maximum(q, 1e-12))).sum(axis=1)
    x, y = _flat(q)
    axes.tricontour(x, y, energy, levels=14, colors="0.8", linewidths=0.7)
