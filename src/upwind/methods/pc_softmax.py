"""Post-compensated softmax."""

from typing import ClassVar, final

import torch
from torch import Tensor
from torch_geometric.data import Data

from upwind.methods._base import NoOptions
from upwind.methods._classes import class_counts
from upwind.methods._sum import Step, Summand
from upwind.nets import Model


@final
class PCSoftmax(Summand):
    """Predictions are compensated for class sizes after plain training (Hong et al., CVPR 2021).

    They go by z_c - log n_c. The model's own logits are the compensated ones, z - log n: the
    classifier's bias starts that much lower, and training adds log n again. So it is balanced
    softmax from another start.
    """

    name: ClassVar[str] = "pc_softmax"
    Options: ClassVar[type] = NoOptions

    log_counts: Tensor

    def on_start(self, model: Model, data: Data) -> None:
        """Count the classes and compensate the bias."""
        log_counts = class_counts(data).log()
        bias = model.classifier.bias
        shift = log_counts if len(bias) > 1 else log_counts[1:] - log_counts[:1]
        with torch.no_grad():
            bias.sub_(shift.to(bias.device))
        self.register_buffer("log_counts", log_counts, persistent=False)

    def margins(self, step: Step) -> Tensor:
        """The same for every row."""
        return self.log_counts.expand(int(step.batch.mask.sum()), -1)
