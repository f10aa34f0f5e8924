"""Where to draw the nodes of a graph."""

import math

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_GRAVITY = 1.0


def force_layout(source: Ints, target: Ints, num_nodes: int) -> Floats:
    """A place in the unit square for each node; the same graph gives the same places.

    Fruchterman and Reingold (Software: Practice and Experience 21, 1991): edges pull with d^2 / k,
    all pairs push with k^2 / d, moves are bounded by a temperature that falls. Two additions: a
    pull to the middle keeps components together, and edges inside a dense part pull less, so that
    it does not collapse. Edge weights do not matter.

    >>> places = force_layout(np.array([0, 1]), np.array([1, 2]), 3)
    >>> places.shape, bool((places >= 0).all() and (places <= 1).all())
    ((3, 2), True)
    """
    if num_nodes < 2:
        return np.full((num_nodes, 2), 0.5)
    k = 1 / math.sqrt(num_nodes)
    place = np.random.default_rng(0).uniform(-0.5, 0.5, (num_nodes, 2))
    degree = np.bincount(source, minlength=num_nodes) + np.bincount(target, minlength=num_nodes)
    slack = k * np.sqrt(np.minimum(degree[source], degree[target]))[:, None]
    steps = 400 if num_nodes <= 2_000 else 150
    for step in range(steps):
        move = k * k * _push(place) - _GRAVITY * place
        apart = place[target] - place[source]
        pull = apart * (np.linalg.norm(apart, axis=1, keepdims=True) / slack)
        for axis in (0, 1):
            move[:, axis] += np.bincount(source, pull[:, axis], num_nodes)
            move[:, axis] -= np.bincount(target, pull[:, axis], num_nodes)
        length = np.linalg.norm(move, axis=1, keepdims=True) + 1e-12
        temperature = 0.1 * (1 - step / steps) ** 2
        place += move / length * np.minimum(length, temperature)
    low, high = place.min(0), place.max(0)
    place -= (low + high) / 2
    return np.asarray(place / max(1e-12, float((high - low).max())) + 0.5)


@numba.njit(cache=True, fastmath=True)
def _push(place: Floats) -> Floats:
    """For each node the sum over all others of (x_i - x_j) / |x_i - x_j|^2."""
    x, y = place[:, 0].astype(np.float32), place[:, 1].astype(np.float32)
    force = np.empty_like(place)
    for i in range(len(x)):
        right = up = np.float32(0)
        for j in range(len(x)):
            dx, dy = x[i] - x[j], y[i] - y[j]
            near = np.float32(1) / (dx * dx + dy * dy + np.float32(1e-9))
            right += dx * near
            up += dy * near
        force[i, 0], force[i, 1] = right, up
    return force
