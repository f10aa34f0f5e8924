"""Class-balanced loss."""

from dataclasses import dataclass
from typing import ClassVar, final

from torch import Tensor

from upwind._options import option
from upwind.methods._classes import ClassWeights


@dataclass(frozen=True)
class CBOptions:
    """At 0 all classes weigh the same; towards 1 it becomes inverse frequency."""

    beta: float = option(
        0.9999, "How much new there is in one more example.", grid=(0.9, 0.99, 0.999, 0.9999)
    )


@final
class CBLoss(ClassWeights):
    """Rare classes weigh more, by the effective number of examples (Cui et al., CVPR 2019).

    w_i = (1 - beta) / (1 - beta^n_y), scaled to mean one. 1 / w is the effective number of n
    examples that overlap.
    """

    name: ClassVar[str] = "cb_loss"
    Options: ClassVar[type] = CBOptions

    def of_counts(self, counts: Tensor) -> Tensor:
        """One over the effective number."""
        beta, n = self.options.beta, counts.double()
        weights: Tensor = (1 - beta) / (1 - beta**n)
        return weights.float()
