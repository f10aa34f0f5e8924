"""What every backend is given: the flow's terms, scaled so that nothing overflows."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from upwind.flow.graph import Graph

KEEP = 0.01
"""A donor keeps at least this part of its mass in every step."""


@dataclass(frozen=True)
class Problem:
    """``phi_i = scale loss_i - shift - beta log q_i``, in steps of ``tau``.

    The flow does not change when a constant is added to the losses, nor when losses and beta are
    multiplied by a factor and tau divided by it. Both freedoms are used: the shift keeps digits,
    and a power of two keeps losses of any size from overflowing, without changing a digit.
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
        # The binary exponent of the largest rate at which a node could give, against one at which
        # nothing is near overflow: no |log q| reaches 2 ** 10.
        steepest = max(_exponent(high / 2 - low / 2) + 1, _exponent(beta) + 10)
        spare = _exponent(limits.max) * 3 // 4 - steepest - _exponent(graph.max_strength)
        scale = 2.0 ** max(min(spare, 0), -1000)
        beta_scaled, shift = beta * scale, low * scale
        if prior is not None:
            loss = loss * scale + beta_scaled * prior.log()
        return cls(
            graph,
            loss,
            tau=min(tau / scale, limits.max),
            beta=beta_scaled,
            shift=shift,
            scale=scale if prior is None else 1.0,
            floor=limits.tiny / limits.eps,
        )


def _exponent(x: float) -> int:
    return math.frexp(x)[1]


@dataclass
class Limited:
    """How often donors were limited."""

    steps: int = 0
    donors: int = 0

    def add(self, donors: int) -> None:
        """Count a step in which ``donors`` nodes were limited."""
        self.steps += 1
        self.donors += donors
