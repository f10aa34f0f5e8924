"""The distance on graphs of thousands of nodes: splitting, one cubic a node and one solve a step.

The program is ``min 1/2 sum |n_i|^2 / r_i`` over densities q and fluxes ``n = m / sqrt(w)``, with
``dq/dt + B n = 0`` and r the mean of q over a time step. ADMM alternates between

- each node and step for itself: the root of a cubic, which gives r and the length of n_i;
- the projection on the continuity equation. In time it is diagonal in sines and cosines, so what
  is left for each of K frequencies is one system with the graph's Laplacian plus a diagonal.

Every node is measured in units of its own mass and time in units of the path's speed, so that all
numbers met are of order one.
"""

import numba
import numpy as np

from upwind.flow.csr import Floats, Ints
from upwind.flow.transport import Array, Solution, Transport

CHECK = 20
"""How often, in iterations, the two bounds are computed."""
RELAXATION = 1.7


def solve(transport: Transport, tolerance: float, max_iterations: int) -> Solution:
    """Iterate until the two bounds are within ``tolerance``, or give what there is by then."""
    graph = transport.rowptr, transport.col
    root = np.sqrt(transport.weight)
    mass = _mass(transport)
    projection = _Projection(transport, root, mass, digits=tolerance / 100)
    middle = projection.middle()
    best, cost = middle, transport.cost(*middle)
    speed = _speed(transport, *best)
    bound, penalty, iteration = 0.0, 1.0, 0

    r = (middle[0][:, 1:] + middle[0][:, :-1]) / 2
    n = middle[1] / root[:, None]
    dual_r, dual_n = np.zeros_like(r), np.zeros_like(n)
    while iteration < max_iterations and cost - bound > tolerance * cost:
        iteration += 1
        path = projection(r - dual_r, n - dual_n, speed)
        potential = projection.potential
        check = iteration % CHECK == 0
        if check:
            flux = _flux(*graph, root, mass, potential, n - dual_n)
        primal, dual = _shrink(
            *graph, root, mass, potential, path, penalty, speed, r, n, dual_r, dual_n
        )
        if check:
            value, inside = _inside(transport, transport.exact(path, flux), middle)
            if value < cost:
                cost, best = value, inside
            bound = max(bound, transport.lower_bound(penalty * potential))
            if not 0.5 < (ratio := speed / (now := _speed(transport, *best))) < 1.5:
                dual_r *= ratio**2
                speed = now
            if iteration % (2 * CHECK) == 0 and not dual / 2 < primal < 2 * dual:
                factor = min(max((primal / max(dual, 1e-300)) ** 0.5, 0.5), 2.0)
                penalty *= factor
                dual_r /= factor
                dual_n /= factor
    return Solution(*best, bound, iteration)


def _mass(transport: Transport) -> Array:
    """The unit of each node: its own mass, or that of a thin layer where there is hardly any."""
    p, component = transport.first, transport.component
    share = np.bincount(component, p) / np.bincount(component)
    share[share == 0] = p.mean()  # nothing moves there; any unit will do
    return np.maximum((p + transport.last) / 2, 0.02 * share[component])


def _speed(transport: Transport, path: Array, flux: Array) -> float:
    """The geometric mean of two speeds: that of all mass, and that of the mass that moves."""
    donor = np.maximum((path[:, 1:] + path[:, :-1]) / 2, 1e-300)
    row = np.repeat(np.arange(len(donor)), np.diff(transport.rowptr))
    cost = np.zeros_like(donor)
    np.add.at(cost, row, flux**2 / transport.weight[:, None] / donor[row])
    return float(((cost**2 / donor).sum() / transport.steps) ** 0.25)


class _Projection:
    """The nearest path that satisfies continuity, and the potential that leads to it."""

    def __init__(self, transport: Transport, root: Array, mass: Array, digits: float) -> None:
        self.transport, self.root, self.mass, self.digits = transport, root, mass, digits
        steps = self.steps = transport.steps
        self.graph = transport.rowptr, transport.col
        self.conductance = _conductance(*self.graph, root, mass)
        k, j, half = np.arange(1, steps), np.arange(steps), np.arange(steps) + 0.5
        self.sines = np.sqrt(2 / steps) * np.sin(np.pi * np.outer(k, j[1:]) / steps)
        self.cosines = np.sqrt(2 / steps) * np.cos(np.pi * np.outer(half, j) / steps)
        self.cosines[:, 0] = np.sqrt(1 / steps)
        # Differences in time turn sine j into cosine j, times this; means, twice, multiply by that.
        self.difference = 2 * steps * np.sin(np.pi * j / (2 * steps))
        self.mean = np.cos(np.pi * j / (2 * steps)) ** 2
        self.potential = np.zeros((len(mass), steps))
        strength = np.maximum(np.bincount(transport.col, self.conductance, len(mass)), 1e-300)
        self.size = float(steps * ((transport.last - transport.first) ** 2 / strength).sum())

    def __call__(self, r: Array, n: Array, speed: float) -> Array:
        steps, p, q = self.steps, self.transport.first, self.transport.last
        r = r.copy()
        r[:, 0] -= p / 2
        r[:, -1] -= q / 2
        inner = ((r[:, 1:] + r[:, :-1]) / 2) @ self.sines / self.mean[1:]
        right = _divergence(*self.graph, self.root, n)
        right[:, 0] -= steps * p
        right[:, -1] += steps * q
        right = right @ self.cosines
        right[:, 1:] += inner * self.difference[1:]
        shift = self.difference**2 / self.mean / speed**2
        modes = self._solve(shift, right, self.potential @ self.cosines, self.digits)
        self.potential = modes @ self.cosines.T
        slope = self.difference[1:] / self.mean[1:] / speed**2
        inner -= modes[:, 1:] * self.mass[:, None] * slope
        return np.column_stack([p, inner @ self.sines.T, q])

    def middle(self) -> tuple[Array, Array]:
        """A path through the inside of the simplex, its flux that of least resistance."""
        time = np.linspace(0, 1, self.steps + 1)
        component, p = self.transport.component, self.transport.first
        scale = np.bincount(component, p) / np.bincount(component, self.mass + 1e-300)
        straight = np.outer(p, 1 - time) + np.outer(self.transport.last, time)
        bend = time * (1 - time)
        path = straight * (1 - bend) + np.outer(self.mass * scale[component], bend)
        change = np.diff(path) * self.steps
        potential = self._solve(np.zeros(self.steps), change, np.zeros_like(change), 1e-8)
        none = np.zeros((len(self.root), self.steps))
        return self.transport.exact(path, _flux(*self.graph, self.root, self.mass, potential, none))

    def _solve(self, shift: Array, right: Array, guess: Array, tolerance: float) -> Array:
        right, guess = np.ascontiguousarray(right), np.ascontiguousarray(guess)
        goal = tolerance**2 * self.size
        _conjugate_gradients(
            *self.graph, self.conductance, self.mass, shift, right, guess, goal, 1000
        )
        return guess


def _inside(
    transport: Transport, path: tuple[Array, Array], middle: tuple[Array, Array]
) -> tuple[float, tuple[Array, Array]]:
    """Mix in as much of the middle path as makes every density positive and the cost least."""
    best = np.inf, path
    for part in (0.0, *np.geomspace(1e-6, 0.3, 12)):
        mixed = path[0] + part * (middle[0] - path[0]), path[1] + part * (middle[1] - path[1])
        value = transport.cost(*mixed)
        if value < best[0]:
            best = value, mixed
    return best


@numba.njit(cache=True)
def _conductance(rowptr: Ints, col: Ints, root: Floats, mass: Floats) -> Array:
    out = np.empty(len(col))
    for i in range(len(rowptr) - 1):
        for e in range(rowptr[i], rowptr[i + 1]):
            out[e] = root[e] * root[e] * (mass[i] + mass[col[e]])
    return out


@numba.njit(cache=True)
def _divergence(rowptr: Ints, col: Ints, root: Floats, n: Floats) -> Array:
    """What leaves each node less what comes."""
    out = np.zeros((len(rowptr) - 1, n.shape[1]))
    for i in range(len(rowptr) - 1):
        for e in range(rowptr[i], rowptr[i + 1]):
            for k in range(n.shape[1]):
                m = root[e] * n[e, k]
                out[i, k] += m
                out[col[e], k] -= m
    return out


@numba.njit(cache=True)
def _flux(
    rowptr: Ints, col: Ints, root: Floats, mass: Floats, potential: Floats, n: Floats
) -> Floats:
    """The flux of the projection: n less the gradient of the potential."""
    out = np.empty_like(n)
    for i in range(len(rowptr) - 1):
        for e in range(rowptr[i], rowptr[i + 1]):
            for k in range(n.shape[1]):
                slope = root[e] * (potential[i, k] - potential[col[e], k])
                out[e, k] = root[e] * (n[e, k] - mass[i] * slope)
    return out


@numba.njit(cache=True)
def _shrink(
    rowptr: Ints,
    col: Ints,
    root: Floats,
    mass: Floats,
    potential: Floats,
    path: Floats,
    penalty: float,
    speed: float,
    r: Floats,
    n: Floats,
    dual_r: Floats,
    dual_n: Floats,
) -> tuple[float, float]:
    """The proximal step of ``1/2 |n_i|^2 / r_i`` at each node and step; returns both residuals."""
    steps = r.shape[1]
    widest = 0
    for i in range(len(mass)):
        widest = max(widest, rowptr[i + 1] - rowptr[i])
    wish = np.empty((widest, steps))
    square = np.empty(steps)
    share = np.empty(steps)
    primal, dual = 0.0, 0.0
    for i in range(len(mass)):
        first, last = rowptr[i], rowptr[i + 1]
        square[:] = 0.0
        node_primal, node_dual = 0.0, 0.0
        for e in range(first, last):
            for k in range(steps):
                slope = root[e] * (potential[i, k] - potential[col[e], k])
                projected = n[e, k] - dual_n[e, k] - mass[i] * slope
                node_primal += (projected - n[e, k]) ** 2
                x = RELAXATION * projected + (1 - RELAXATION) * n[e, k] + dual_n[e, k]
                wish[e - first, k] = x
                square[k] += max(x, 0.0) ** 2
        step = mass[i] / penalty
        for k in range(steps):
            projected = (path[i, k] + path[i, k + 1]) / 2
            node_primal += (speed * (projected - r[i, k])) ** 2
            x = RELAXATION * projected + (1 - RELAXATION) * r[i, k] + dual_r[i, k]
            # (r - x) (r + step)^2 = c, its largest root; none that is positive means r = 0.
            c = step * square[k] / (2 * speed * speed)
            new = 0.0
            if -x * step * step < c:
                new = max(x, 0.0) + c ** (1 / 3)
                for _ in range(40):
                    value = (new - x) * (new + step) ** 2 - c
                    slope = (new + step) * (3 * new - 2 * x + step)
                    move = value / slope
                    new -= move
                    if abs(move) <= 1e-13 * new:
                        break
                new = max(new, 0.0)
            share[k] = new / (new + step)
            node_dual += (speed * (new - r[i, k])) ** 2
            r[i, k] = new
            dual_r[i, k] = x - new
        for e in range(first, last):
            for k in range(steps):
                x = wish[e - first, k]
                new = max(x, 0.0) * share[k]
                node_dual += (new - n[e, k]) ** 2
                n[e, k] = new
                dual_n[e, k] = x - new
        primal += node_primal / mass[i]
        dual += node_dual / mass[i]
    return np.sqrt(primal), np.sqrt(dual)


@numba.njit(cache=True)
def _conjugate_gradients(
    rowptr: Ints,
    col: Ints,
    conductance: Floats,
    mass: Floats,
    shift: Floats,
    right: Floats,
    x: Floats,
    goal: float,
    max_iterations: int,
) -> None:
    """Solve (Laplacian + shift_k mass) x_k = right_k for every column k, in place.

    It stops where the squared residual, over the strength, is below ``goal`` in each column.
    """
    n, steps = right.shape
    diagonal = np.empty((n, steps))
    strength = np.zeros(n)
    for i in range(n):
        for e in range(rowptr[i], rowptr[i + 1]):
            strength[i] += conductance[e]
        if strength[i] <= 0:
            strength[i] = 1.0
        for k in range(steps):
            diagonal[i, k] = strength[i] + shift[k] * mass[i]
    residual = np.empty((n, steps))
    direction = np.zeros((n, steps))
    image = np.empty((n, steps))
    energy = np.zeros(steps)
    rest = np.zeros(steps)
    curvature = np.empty(steps)
    before = np.empty(steps)
    _multiply(rowptr, col, conductance, mass, shift, x, image)
    for i in range(n):
        for k in range(steps):
            residual[i, k] = right[i, k] - image[i, k]
            energy[k] += residual[i, k] ** 2 / diagonal[i, k]
            rest[k] += residual[i, k] ** 2 / strength[i]
    before[:] = np.inf
    for _ in range(max_iterations):
        if np.all(rest <= goal):
            break
        for i in range(n):
            for k in range(steps):
                direction[i, k] = (
                    residual[i, k] / diagonal[i, k] + energy[k] / before[k] * direction[i, k]
                )
        _multiply(rowptr, col, conductance, mass, shift, direction, image)
        curvature[:] = 0.0
        for i in range(n):
            for k in range(steps):
                curvature[k] += direction[i, k] * image[i, k]
        for k in range(steps):
            # A column that is done rests: in rounding alone, the constants have no curvature.
            moves = rest[k] > goal and curvature[k] > 0
            curvature[k] = energy[k] / curvature[k] if moves else 0.0
        before[:] = np.maximum(energy, 1e-300)
        energy[:] = 0.0
        rest[:] = 0.0
        for i in range(n):
            for k in range(steps):
                x[i, k] += curvature[k] * direction[i, k]
                residual[i, k] -= curvature[k] * image[i, k]
                energy[k] += residual[i, k] ** 2 / diagonal[i, k]
                rest[k] += residual[i, k] ** 2 / strength[i]


@numba.njit(cache=True)
def _multiply(
    rowptr: Ints,
    col: Ints,
    conductance: Floats,
    mass: Floats,
    shift: Floats,
    x: Floats,
    out: Floats,
) -> None:
    steps = x.shape[1]
    for i in range(len(mass)):
        for k in range(steps):
            out[i, k] = shift[k] * mass[i] * x[i, k]
        for e in range(rowptr[i], rowptr[i + 1]):
            c, j = conductance[e], col[e]
            for k in range(steps):
                out[i, k] += c * (x[i, k] - x[j, k])
