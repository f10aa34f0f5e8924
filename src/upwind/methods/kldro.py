"""Distributionally robust optimisation in a Kullback-Leibler ball."""

from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor
from torch_geometric.data import Data

from upwind._options import option
from upwind.errors import InputError
from upwind.methods._base import Method
from upwind.methods._kl_ball import worst_case
from upwind.methods._losses import row_losses
from upwind.nets import Model
from upwind.sampling import Batch


@dataclass(frozen=True)
class KLOptions:
    """No search space is published for node classification; this grid is ours."""

    radius: float = option(
        0.1, "Divergence that the worst case may have.", grid=(0.01, 0.03, 0.1, 0.3, 1.0)
    )

    def __post_init__(self) -> None:
        if not self.radius >= 0:
            raise InputError(f"kldro:radius={self.radius} must be at least 0")


@final
class KLDRO(Method):
    r"""The worst weighting of the training nodes within a Kullback-Leibler ball.

    Hu and Hong, *Kullback-Leibler divergence constrained distributionally robust optimization*,
    2013; Duchi and Namkoong, *Learning models with uniform performance via distributionally
    robust optimization*, Annals of Statistics 2021, whom the paper on TAR cites:

        max { sum_i q_i l_i : KL(q || p) <= rho }
            = min over lambda > 0 of  lambda rho + lambda log sum_i p_i exp(l_i / lambda)

    with p_i proportional to the sampler's node norm s_i, over the training nodes of the batch.
    The weights are q_i = p_i exp(l_i / lambda) / Z with the minimising lambda, found anew at each
    step, and the loss is (sum_j s_j) sum_i q_i l_i: ERM's where rho = 0. By Danskin's theorem q
    is a constant in its gradient.

    Differences: the papers take the worst case over the whole sample, and this one over the
    batch, since losses elsewhere are not known; on small batches it is an underestimate of the
    worst case. The benchmark has no such method, so nothing is published for its data.
    """

    name: ClassVar[str] = "kldro"
    Options: ClassVar[type] = KLOptions

    weights: Tensor
    """What each node weighed when it was last in a batch, ERM's weight being one."""

    def on_start(self, model: Model, data: Data) -> None:  # noqa: ARG002
        """All nodes weigh the same."""
        self.register_buffer("weights", torch.ones(int(data.num_nodes)))

    def loss(self, model: Model, batch: Batch) -> Tensor:
        """A scalar."""
        rows = batch.mask
        losses, norm = row_losses(model(batch)[rows], batch.y[rows]), batch.node_norm[rows]
        if len(losses) == 0:
            return losses.sum()
        base = norm.double() / norm.sum(dtype=torch.float64)
        weights, _ = worst_case(losses, base, self.options.radius)
        ratio = (weights / base).to(losses.dtype)
        self.weights[batch.n_id[rows]] = ratio.to(self.weights.dtype)
        return (norm * ratio * losses).sum()

    def node_weights(self) -> Tensor:
        """As last seen, with mean one."""
        return self.weights / self.weights.mean()
