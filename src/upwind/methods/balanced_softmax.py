"""Balanced softmax."""

from typing import ClassVar, final

from torch import Tensor
from torch_geometric.data import Data

from upwind.methods._base import NoOptions
from upwind.methods._classes import class_counts, counts_of
from upwind.methods._sum import Step, Summand
from upwind.nets import Model


@final
class BalancedSoftmax(Summand):
    """Logits are asked to fit a balanced training set (Ren et al., NeurIPS 2020).

    The margin log n_c on the logit of class c, in training only: the softmax then fits the
    long-tailed training set while the logits fit a balanced one.
    """

    name: ClassVar[str] = "balanced_softmax"
    Options: ClassVar[type] = NoOptions

    counts: Tensor

    def on_start(self, model: Model, data: Data) -> None:  # noqa: ARG002
        """Count the classes."""
        self.register_buffer("counts", class_counts(data), persistent=False)

    def margins(self, step: Step) -> Tensor:
        """The same for every row."""
        return counts_of(step, self.counts).log().expand(int(step.batch.mask.sum()), -1)
