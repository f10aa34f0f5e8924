"""What every backend is given: the flow's terms, scaled so that nothing overflows."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from upwind.flow.graph import Graph

KEEP = 0.01
"""A donor keeps at least this part of its mass in every step."""
STEEPEST = 20
"""Exponent of the largest rate: a limited donor offers mass / rate, which must not lose digits."""
LONGEST = 60
"""Exponent of the largest step, and of the largest mass: so that tau x mass does not overflow."""


@dataclass(frozen=True)
class Problem:
    """``phi_i = scale loss_i - shift - beta log q_i``, in steps of ``tau``.

    The flow does not change when a constant is added to the losses, nor when losses and beta are
    multiplied by a factor and tau divided by it. Both freedoms are used: the shift keeps digits,
    and a power of two keeps numbers of any size in range, without changing a digit.
    """

    graph: Graph
    loss: Tensor
    tau: float
    beta: float
    shift: float
    scale: float
    floor: float

    @classmethod
    def scaled(
        cls, graph: Graph, loss: Tensor, *, tau: float, beta: float, prior: Tensor | None = None
    ) -> "Problem":
        """Choose shift and scale; a prior enters as ``loss + beta log prior``."""
        limits = torch.finfo(loss.dtype)
        low, high = (float(x) for x in loss.double().aminmax()) if loss.numel() else (0.0, 0.0)
        # The binary exponent of the largest rate at which a node could give: no |log q| reaches
        # 2 ** 10. Losses become smaller where it is too large, and larger where tau is.
        steepest = max(_exponent(high / 2 - low / 2) + 1, _exponent(beta) + 10)
        room = STEEPEST - steepest - _exponent(graph.max_strength)
        up = min(room, max(_exponent(tau) - LONGEST, 0))
        beta_scaled = math.ldexp(beta, up)
        scale = 2.0**up if -100 < up < 100 else 1.0
        if scale == 1.0 and up:  # no float32 holds such a factor, so it is applied in two halves
            loss = loss * 2.0 ** (up // 2) * 2.0 ** (up - up // 2)
        if prior is not None:
            loss = loss * scale + beta_scaled * prior.log()
            scale = 1.0
        return cls(
            graph,
            loss,
            tau=_at_most(2.0 ** (LONGEST + 4), tau, -up),
            beta=beta_scaled,
            shift=math.ldexp(low, up),
            scale=scale,
            floor=limits.tiny / limits.eps,
        )


def _exponent(x: float) -> int:
    return math.frexp(x)[1]


def _at_most(most: float, x: float, exponent: int) -> float:
    """``x * 2 ** exponent``, or ``most`` where that is more."""
    return most if x and _exponent(x) + exponent > _exponent(most) else math.ldexp(x, exponent)


@dataclass
class Limited:
    """How often donors were limited."""

    steps: int = 0
    donors: int = 0

    def add(self, donors: int) -> None:
        """Count a step in which ``donors`` nodes were limited."""
        self.steps += 1
        self.donors += donors
