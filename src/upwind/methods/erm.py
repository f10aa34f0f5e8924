"""Empirical risk minimisation."""

from typing import ClassVar, final

from torch import Tensor

from upwind.methods._base import Method, NoOptions
from upwind.methods._losses import row_losses
from upwind.nets import Model
from upwind.sampling import Batch


@final
class ERM(Method):
    """Every training node counts the same.

    sum_i s_i l_i over the training nodes of the batch, s_i the sampler's node norm.
    """

    name: ClassVar[str] = "erm"
    Options: ClassVar[type] = NoOptions

    def loss(self, model: Model, batch: Batch) -> Tensor:
        """A scalar."""
        logits = model(batch)[batch.mask]
        return (batch.node_norm[batch.mask] * row_losses(logits, batch.y[batch.mask])).sum()
