"""The worst case over the distributions near a given one, in Kullback-Leibler divergence."""

import math

import torch
from torch import Tensor

_TOLERANCE = 1e-9  # of the divergence, relative to the radius
_MOST_STEPS = 100


def worst_case(losses: Tensor, base: Tensor, radius: float) -> tuple[Tensor, float]:
    """The q with KL(q || base) <= radius and the largest sum_i q_i l_i, and its temperature.

    It is q_i = base_i exp(l_i / lambda) / Z, with lambda the minimiser of the dual
    lambda radius + lambda log sum_i base_i exp(l_i / lambda). The divergence grows with
    u = 1 / lambda, and its root nearly in proportion: Newton's steps on the root find u, and a
    step that leaves what is known to hold the answer is a bisection instead. Where even all mass
    on the largest losses is within the radius, that is the answer, and lambda is 0; where all
    losses are equal it is ``base``, and lambda is infinite.

    ``base`` is positive and sums to one; computed in float64, whatever comes in.

    >>> losses, base = torch.tensor([0.0, 1.0]), torch.tensor([0.5, 0.5])
    >>> weights, temperature = worst_case(losses, base, 0.1)
    >>> [round(weight, 4) for weight in weights.tolist()], round(temperature, 4)
    ([0.2802, 0.7198], 1.0599)
    """
    losses, base = losses.detach().double(), base.detach().double()
    size = float(losses.max() - losses.min())
    if size == 0 or radius == 0:
        return base, math.inf
    scaled = (losses - losses.max()) / size
    top = scaled == 0
    if radius >= -math.log(float(base[top].sum())):
        return torch.where(top, base, 0) / base[top].sum(), 0.0

    def tilt(u: float) -> tuple[Tensor, float, float]:
        """The tilted weights, their divergence, and its derivative."""
        raised = base * (u * scaled).exp()
        weights = raised / raised.sum()
        mean = float(weights @ scaled)
        divergence = u * mean - math.log(float(raised.sum()))
        return weights, divergence, u * float(weights @ (scaled - mean).square())

    low, high = 0.0, math.inf
    u = math.sqrt(2 * radius / float(base @ (scaled - base @ scaled).square()))
    weights, divergence, slope = tilt(u)
    for _ in range(_MOST_STEPS):
        if abs(divergence - radius) <= _TOLERANCE * radius:
            break
        low, high = (u, high) if divergence < radius else (low, u)
        root = math.sqrt(max(divergence, 0.0))
        newton = u + 2 * root * (math.sqrt(radius) - root) / slope if slope > 0 else math.nan
        fallback = (low + high) / 2 if high < math.inf else 2 * low
        u = newton if low < newton < min(high, 10 * u) else fallback
        weights, divergence, slope = tilt(u)
    return weights, size / u
