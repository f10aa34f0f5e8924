"""Distributionally robust optimisation in a Wasserstein ball around the node features."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar, final

import torch
from torch import Tensor

from upwind._options import option
from upwind.errors import InputError
from upwind.methods._as_used import as_used
from upwind.methods._base import Method
from upwind.methods._losses import row_losses
from upwind.nets import Model
from upwind.nets.linear import Linear
from upwind.sampling import Batch


@dataclass(frozen=True)
class WassersteinOptions:
    """No search space is published for node classification; these grids are ours."""

    gamma: float = option(
        1.0, "Price of moving a feature vector, per squared length.", grid=(0.1, 1.0, 10.0, 100.0)
    )
    steps: int = option(5, "Steps of the inner ascent.", grid=(1, 5, 15))

    def __post_init__(self) -> None:
        if not self.gamma > 0:
            raise InputError(f"wdro:gamma={self.gamma} must be above 0")
        if self.steps < 1:
            raise InputError(f"wdro:steps={self.steps} must be at least 1")


@final
class WDRO(Method):
    r"""Training on node features moved, at a price per squared length, to where the loss is high.

    Sinha, Namkoong and Duchi, *Certifying some distributional robustness with principled
    adversarial training*, ICLR 2018: the Lagrangian form of the worst case in a Wasserstein ball,

        min over theta of  max over d of  sum_i s_i l_i(X + d) - gamma sum_j s_j ||d_j||^2

    with i over the training nodes of the batch, j over all its nodes, and s the sampler's node
    norm. The inner maximum is sought by ``steps`` steps of gradient ascent from d = 0,
    d <- d + (g / (2 gamma) - d) / t with g_j the gradient of the loss over s_j; this step size
    makes d the mean of the g / (2 gamma) so far, and one step the maximiser of the linearised
    objective. The best d met is kept, d = 0 among them, so the objective never falls below ERM's.
    The loss returned is the first sum; the price is a constant for theta.

    Differences: in the paper an example is moved by its own loss alone. Here a node's loss
    depends on the features of its neighbours, so all rows of the batch move together, and a
    node without label moves for the sake of its neighbours. The ascent looks at the model as it
    will be used (no dropout, running statistics of batch norm), and changes neither those nor the
    random state; the paper's networks have neither.

    Sparse features stay sparse. Where the network begins with x W, the ascent never leaves the
    rows of W^T: d = a W^T with one a per node, as wide as the hidden layer. The step on a is the
    one above with the gradient at x W in place of g, x W moves by a W^T W, and the price is
    a W^T W a^T: the same numbers as with dense features. A network of your own without such a
    layer is given dense rows of the batch. The benchmark has no such method.
    """

    name: ClassVar[str] = "wdro"
    Options: ClassVar[type] = WassersteinOptions

    def loss(self, model: Model, batch: Batch) -> Tensor:
        """A scalar."""
        linear = None
        if batch.x.layout == torch.sparse_csr:
            linear = next((m for m in model.encoder.modules() if isinstance(m, Linear)), None)
        norm, rows = batch.node_norm, batch.mask

        def risk(logits: Tensor) -> Tensor:
            return (norm[rows] * row_losses(logits[rows], batch.y[rows])).sum()

        if linear is None:
            x = batch.x.to_dense() if batch.x.layout == torch.sparse_csr else batch.x
            width = x.shape[1]

            def lift(a: Tensor) -> Tensor:
                return a

            def moved(shift: Tensor) -> Tensor:
                return risk(model(replace(batch, x=x + shift)))

        else:
            before = linear.weight.detach()
            width = before.shape[1]

            def lift(a: Tensor) -> Tensor:
                return a @ (before.T @ linear.weight)

            def moved(shift: Tensor) -> Tensor:
                with _adding(linear, shift):
                    return risk(model(batch))

        start = torch.zeros(batch.num_nodes, width, device=norm.device)
        with as_used(model):
            worst = ascend(moved, lift, start, norm, self.options.gamma, self.options.steps)
        return moved(lift(worst))


def ascend(
    loss: Callable[[Tensor], Tensor],
    lift: Callable[[Tensor], Tensor],
    start: Tensor,
    norm: Tensor,
    gamma: float,
    steps: int,
) -> Tensor:
    """The best displacement met in coordinates a; ``loss`` takes ``lift(a)``, see `WDRO`."""
    a = best = start
    highest = -float("inf")
    for step in range(steps + 1):
        shift = lift(a).detach()
        price = gamma * float((norm * (a * shift).sum(1)).sum())
        value = loss(shift.requires_grad_())
        if float(value.detach()) - price > highest:
            best, highest = a, float(value.detach()) - price
        if step < steps:
            (gradient,) = torch.autograd.grad(value, shift)
            a = a + (gradient / norm[:, None] / (2 * gamma) - a) / (step + 1)
    return best


@contextmanager
def _adding(linear: Linear, shift: Tensor) -> Iterator[None]:
    """What this layer gives is ``shift`` more."""
    hook = linear.register_forward_hook(lambda _module, _inputs, output: output + shift)
    try:
        yield
    finally:
        hook.remove()
