"""The discrete geometric Wasserstein distance, with the upwind mobility of the flow."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from upwind.errors import InputError
from upwind.flow.graph import Graph
from upwind.flow.transport import Array, Transport

Solver = Literal["admm", "cvxpy"]
SAME_MASS = 1e-5
"""Masses that differ by less than this part of the whole are equal but for float32's rounding."""


@dataclass(frozen=True)
class Distance:
    """The distance, the path that takes it, and how surely it is the shortest."""

    distance: float
    """The length of the path below: at most ``1 / sqrt(1 - gap)`` times the least on this grid."""
    path: Tensor | None
    """The density at the ends of the steps, shape [steps + 1, N]; None where there is no path."""
    flux: Tensor | None
    """What leaves along each edge of ``graph.edge_index`` per unit of time, shape [steps, E]."""
    iterations: int
    """How many iterations the solver took."""
    gap: float
    """The certified duality gap ``(upper - lower) / upper`` of the squared distance."""


def geometric_wasserstein(
    graph: Graph,
    p: Tensor,
    q: Tensor,
    *,
    steps: int = 16,
    tolerance: float = 1e-3,
    max_iterations: int = 10_000,
    solver: Solver = "admm",
) -> Distance:
    r"""Return the distance from ``p`` to ``q`` whose gradient flow is :func:`gradient_flow`.

    .. math::

        \mathcal{GW}^2(p, q) = \inf \int_0^1 \sum_{i \to j} \frac{m_{ij}^2}{w_{ij}\, \rho_i}\, dt,
        \qquad \dot\rho_i = \sum_j (m_{ji} - m_{ij}), \quad m \ge 0, \quad
        \rho(0) = p, \; \rho(1) = q

    over both directions of every edge: the donor pays. (Zheng et al., definition 1, with the upwind
    mobility. docs/theory.md derives it.) Time is cut into ``steps`` of equal length, the donor's
    mass is its mean over a step, and the program so obtained is convex. The result is certified:
    the path changes by exactly what flows, and a potential bounds the squared distance from below.

    The distance is not symmetric. It is infinite if a connected component has more mass in one
    density than in the other.

    Args:
        graph: where mass can move.
        p: shape [N], non-negative.
        q: shape [N], non-negative, of the same total mass.
        steps: at least 2; the error falls about with its square for positive densities.
        tolerance: the gap at which to stop.
        max_iterations: where to stop in any case.
        solver: "admm" (thousands of nodes) or "cvxpy" (small graphs, all digits).

    >>> graph = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
    >>> there = geometric_wasserstein(graph, torch.tensor([0.5, 0.5]), torch.tensor([0.25, 0.75]))
    >>> back = geometric_wasserstein(graph, torch.tensor([0.25, 0.75]), torch.tensor([0.5, 0.5]))
    >>> round(there.distance, 3), round(back.distance, 3)  # 2 (sqrt(.5) - sqrt(.25)), ...
    (0.414, 0.318)
    """
    first, last = checked_mass(graph, p, "p"), checked_mass(graph, q, "q")
    if isinstance(steps, bool) or int(steps) != steps or steps < 2:
        raise InputError(f"steps must be a whole number of at least 2, not {steps!r}.")
    if not 0 < tolerance < 1:
        raise InputError(f"tolerance must lie between 0 and 1, not {tolerance!r}.")
    if solver not in ("admm", "cvxpy"):
        raise InputError(f"solver must be 'admm' or 'cvxpy', not {solver!r}.")
    total = first.sum()
    if abs(total - last.sum()) > SAME_MASS * total:
        raise InputError(
            f"p and q must have the same mass, but p sums to {total:.9g} and q to {last.sum():.9g}."
        )
    balanced = balance(graph, first, last, SAME_MASS)
    if balanced is None:
        return Distance(float("inf"), None, None, 0, 0.0)
    transport = Transport(graph.to("cpu"), first, balanced, steps)
    if np.array_equal(first, balanced):
        still = torch.from_numpy(first).repeat(steps + 1, 1).to(p)
        return Distance(0.0, still, still.new_zeros(steps, graph.num_edges), 0, 0.0)
    if solver == "admm":
        from upwind.flow import distance_admm

        found = distance_admm.solve(transport, tolerance, max_iterations)
    else:
        from upwind.flow import distance_program

        found = distance_program.solve(transport)
    cost = transport.cost(found.path, found.flux)
    return Distance(
        distance=cost**0.5,
        path=torch.from_numpy(found.path.T.copy()).to(p.device),
        flux=torch.from_numpy(found.flux.T.copy()).to(p.device),
        iterations=found.iterations,
        gap=max(0.0, (cost - found.bound) / cost),
    )


def checked_mass(graph: Graph, density: Tensor, name: str) -> Array:
    """Return a density as NumPy sees it, or say which entry is none."""
    if not isinstance(density, Tensor) or density.shape != (graph.num_nodes,):
        shape = list(getattr(density, "shape", [])) or type(density).__name__
        raise InputError(f"{name} must have shape [{graph.num_nodes}], not {shape}.")
    mass: Array = density.detach().cpu().double().numpy()
    bad = ~((mass >= 0) & np.isfinite(mass))
    if bad.any():
        first = int(bad.argmax())
        raise InputError(
            f"{name} must be finite and not negative, but is {mass[first]} at node {first}."
        )
    return mass


def balance(graph: Graph, p: Array, q: Array, tolerance: float) -> Array | None:
    """Scale ``q`` to the mass of ``p`` on each component; None where they differ by more."""
    component = graph.component.cpu().numpy()
    have, want = np.bincount(component, q), np.bincount(component, p)
    if np.any(np.abs(have - want) > tolerance * p.sum()):
        return None
    exact = (have == want) | (have == 0)
    factor = np.where(exact, 1.0, want / np.where(exact, 1.0, have))
    return np.asarray(q * factor[component])
