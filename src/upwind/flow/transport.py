"""A path of densities with its flux, and the two bounds that certify one as nearly shortest.

Everything is discrete in time: K steps of length ``dt = 1/K``, densities at their ends (shape
[N, K + 1]), fluxes within them (shape [E, K], per directed edge, the row of the edge giving). Both
solvers of the distance are judged here, by the same two numbers:

- a path in which every density changes by exactly what flows costs at least the distance;
- a potential that satisfies the discrete Hamilton-Jacobi inequality bounds it from below.
"""

from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np
from numpy.typing import NDArray

from upwind.flow.csr import Floats, Ints
from upwind.flow.graph import Graph

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Transport:
    """Two densities of equal mass on every component, and the number of steps between them."""

    graph: Graph
    first: Array
    last: Array
    steps: int

    @property
    def rowptr(self) -> Ints:
        """Where each node's edges start."""
        rowptr: Ints = self.graph.rowptr.numpy()
        return rowptr

    @property
    def col(self) -> Ints:
        """Where each edge leads."""
        col: Ints = self.graph.col.numpy()
        return col

    @cached_property
    def weight(self) -> Array:
        """The weight of each directed edge, float64."""
        weight = self.graph.weight
        return np.ones(self.graph.num_edges) if weight is None else weight.double().numpy()

    @cached_property
    def component(self) -> Ints:
        """The connected component of each node."""
        component: Ints = self.graph.component.numpy()
        return component

    @cached_property
    def forest(self) -> tuple[Ints, Ints]:
        """The spanning trees along which rounding is repaired."""
        trees: tuple[Ints, Ints] = forest(self.rowptr, self.col)
        return trees

    def exact(self, path: Array, flux: Array) -> tuple[Array, Array]:
        """Repair a path that is nearly right: net fluxes, and continuity to the last digit.

        An edge that carries flux both ways carries the difference one way. What is then missing
        at a node in a step flows to it along the spanning tree.
        """
        flux = flux.copy()
        total = np.zeros((self.component.max() + 1, path.shape[1]))
        np.add.at(total, self.component, path)
        flux[(total[:, 0] == 0)[self.component[self.col]]] = 0  # nothing is there to move
        path = path * (total[:, :1] / np.where(total == 0, 1, total))[self.component]
        _correct(self.rowptr, self.col, *self.forest, np.diff(path) * self.steps, flux)
        _net(self.rowptr, self.col, flux)
        return path, flux

    def cost(self, path: Array, flux: Array) -> float:
        """The squared length ``sum dt m^2 / (w q_donor)``, q a step's mean; inf if it is none."""
        return float(_cost(self.rowptr, self.weight, path, flux)) / self.steps

    def lower_bound(self, potential: Array) -> float:
        """A lower bound on the squared distance, from any potential of shape [N, K].

        With ``S_i = sum_j w_ij max(phi_j - phi_i, 0)^2``, a potential for which ``phi(k+1) - phi(k)
        + dt/4 (S(k) + S(k+1)) <= 0`` bounds half the squared distance by ``<phi(K), q> - <phi(1),
        p> - dt/4 (<S(1), p> + <S(K), q>)``. Where a potential breaks the inequality, its value is
        lowered at that node and at that step: a lower value never breaks a neighbour's. Where that
        cannot help, the whole component is lowered.
        """
        size = np.bincount(self.component)
        level = np.bincount(self.component, potential[:, 0]) / size
        phi = np.ascontiguousarray(potential - level[self.component, None])
        dt = 1 / self.steps
        _sink(self.rowptr, self.col, self.weight, self.component, phi, dt)
        ends = phi[:, [0, -1]]
        uphill = _uphill(self.rowptr, self.col, self.weight, ends)
        bound = ends[:, 1] @ self.last - ends[:, 0] @ self.first
        bound -= dt / 4 * (uphill[:, 0] @ self.first + uphill[:, 1] @ self.last)
        return max(2 * float(bound), 0.0)


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found: an exact path with its flux, and a bound on the squared distance."""

    path: Array
    flux: Array
    bound: float
    iterations: int


@numba.njit(cache=True)
def forest(rowptr: Ints, col: Ints) -> tuple[Ints, Ints]:
    """A spanning tree of each component: nodes from the roots outward, and each one's parent."""
    n = len(rowptr) - 1
    parent = np.full(n, -1, np.int64)
    order = np.empty(n, np.int64)
    seen = np.zeros(n, np.bool_)
    tail = 0
    head = 0
    for root in range(n):
        if seen[root]:
            continue
        seen[root] = True
        order[tail] = root
        tail += 1
        while head < tail:
            i = order[head]
            head += 1
            for e in range(rowptr[i], rowptr[i + 1]):
                if not seen[col[e]]:
                    seen[col[e]] = True
                    parent[col[e]] = i
                    order[tail] = col[e]
                    tail += 1
    return order, parent


@numba.njit(cache=True)
def _correct(
    rowptr: Ints, col: Ints, order: Ints, parent: Ints, change: Floats, flux: Floats
) -> None:
    """Send along the tree what each node lacks: ``change`` minus what the flux brings."""
    n, steps = change.shape
    lack = change.copy()
    for i in range(n):
        for e in range(rowptr[i], rowptr[i + 1]):
            for k in range(steps):
                lack[i, k] += flux[e, k]
                lack[col[e], k] -= flux[e, k]
    for place in range(n - 1, -1, -1):
        i = order[place]
        if parent[i] < 0:
            continue
        up = parent[i]
        e = rowptr[up] + np.searchsorted(col[rowptr[up] : rowptr[up + 1]], i)
        for k in range(steps):
            flux[e, k] += lack[i, k]
            lack[up, k] += lack[i, k]


@numba.njit(cache=True)
def _net(rowptr: Ints, col: Ints, flux: Floats) -> None:
    """Leave on each pair of opposite edges only what flows in the end, in its direction."""
    for i in range(len(rowptr) - 1):
        for e in range(rowptr[i], rowptr[i + 1]):
            j = col[e]
            if j < i:
                continue
            back = rowptr[j] + np.searchsorted(col[rowptr[j] : rowptr[j + 1]], i)
            for k in range(flux.shape[1]):
                net = flux[e, k] - flux[back, k]
                flux[e, k] = max(net, 0.0)
                flux[back, k] = max(-net, 0.0)


@numba.njit(cache=True)
def _cost(rowptr: Ints, weight: Floats, path: Floats, flux: Floats) -> float:
    total = 0.0
    for i in range(len(rowptr) - 1):
        for k in range(flux.shape[1]):
            if path[i, k] < 0 or path[i, k + 1] < 0:
                return np.inf
            moved = 0.0
            for e in range(rowptr[i], rowptr[i + 1]):
                moved += flux[e, k] * flux[e, k] / weight[e]
            if moved > 0:
                donor = (path[i, k] + path[i, k + 1]) / 2
                if donor <= 0:
                    return np.inf
                total += moved / donor
    return total


@numba.njit(cache=True)
def _uphill(rowptr: Ints, col: Ints, weight: Floats, phi: Floats) -> Floats:
    total = np.zeros_like(phi)
    for i in range(len(rowptr) - 1):
        for e in range(rowptr[i], rowptr[i + 1]):
            for k in range(phi.shape[1]):
                total[i, k] += weight[e] * max(phi[col[e], k] - phi[i, k], 0.0) ** 2
    return total


@numba.njit(cache=True)
def _sink(rowptr: Ints, col: Ints, weight: Floats, component: Ints, phi: Floats, dt: float) -> None:
    """Lower ``phi``, step by step, until the Hamilton-Jacobi inequality holds."""
    n, steps = phi.shape
    sunk = np.zeros(component.max() + 1 if n else 0)
    for k in range(1, steps):
        before = phi[:, k - 1]
        now = phi[:, k]
        # What a node may have at most: g(x) = x + dt/4 S(x) <= allowed.
        allowed = np.empty(n)
        for i in range(n):
            uphill = 0.0
            for e in range(rowptr[i], rowptr[i + 1]):
                uphill += weight[e] * max(before[col[e]] - before[i], 0.0) ** 2
            allowed[i] = before[i] - dt / 4 * uphill
        sunk[:] = 0.0
        for i in range(n):
            x = now[i]
            stuck = False
            # Newton's rule on a convex function, from the right: it never passes the root.
            for _ in range(50):
                value, slope = x, 1.0
                for e in range(rowptr[i], rowptr[i + 1]):
                    rise = max(now[col[e]] - x, 0.0)
                    value += dt / 4 * weight[e] * rise * rise
                    slope -= dt / 2 * weight[e] * rise
                excess = value - allowed[i]
                if excess <= 0:
                    break
                if slope <= 1e-9:
                    stuck = True
                    break
                x -= excess / slope * (1 + 1e-12) + 1e-15 * abs(x)
            if not stuck:
                now[i] = x
        # A node that could not be lowered far enough takes its component with it.
        for i in range(n):
            uphill = 0.0
            for e in range(rowptr[i], rowptr[i + 1]):
                uphill += weight[e] * max(now[col[e]] - now[i], 0.0) ** 2
            excess = now[i] + dt / 4 * uphill - allowed[i]
            sunk[component[i]] = max(sunk[component[i]], excess)
        for i in range(n):
            now[i] -= sunk[component[i]]
