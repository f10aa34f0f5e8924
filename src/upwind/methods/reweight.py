"""Re-weighting by inverse class frequency."""

from dataclasses import dataclass
from typing import ClassVar, final

from torch import Tensor

from upwind._options import option
from upwind.methods._classes import ClassWeights


@dataclass(frozen=True)
class ReweightOptions:
    """One is inverse frequency, a half its square root; below zero, frequent classes gain."""

    power: float = option(1.0, "Power of the inverse class frequency.")


@final
class Reweight(ClassWeights):
    """Rare classes weigh more, by inverse class frequency.

    w_i = n_y^-power, scaled to mean one over the training nodes.

    The public code passes n_min / n_c to torch's ``cross_entropy``, which divides by the sum of
    the weights that it used; on the whole graph that is the same loss.
    """

    name: ClassVar[str] = "reweight"
    Options: ClassVar[type] = ReweightOptions

    def of_counts(self, counts: Tensor) -> Tensor:
        """n^-power."""
        weights: Tensor = counts**-self.options.power
        return weights
