"""An encoder with its classifier: what a method trains."""

from typing import Any, final

from torch import Tensor, nn

from upwind.nets._encoder import Encoder, get
from upwind.nets.imported import Imported, find_class
from upwind.sampling import Batch


@final
class Model(nn.Module):
    """``classify(features(batch))``, the two halves apart for methods that look between them.

    One logit per class, or a single one where the task is scored by ROC-AUC.
    """

    def __init__(self, encoder: Encoder | Imported, outputs: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.classifier = nn.Linear(encoder.width, outputs)

    def features(self, batch: Batch) -> Tensor:
        """What the classifier sees, ``[rows, width]``."""
        features: Tensor = self.encoder(batch)
        return features

    def classify(self, features: Tensor) -> Tensor:
        """Logits, ``[rows, outputs]``."""
        logits: Tensor = self.classifier(features)
        return logits

    def forward(self, batch: Batch) -> Tensor:
        """Logits of every row."""
        return self.classify(self.features(batch))


def check(backbone: str) -> None:
    """Refuse a backbone that does not exist."""
    find_class(backbone) if ":" in backbone else get(backbone)


def build(backbone: str, in_channels: int, outputs: int, options: dict[str, Any]) -> Model:
    """The model on this backbone: a registered name, or the path ``pkg.module:Class``.

    ``options`` may hold more than the backbone reads.
    """
    if ":" in backbone:
        given = {name: options[name] for name in ("hidden", "layers", "dropout")}
        return Model(Imported(backbone, in_channels, **given), outputs)
    kind = get(backbone)
    given = {name: options[name] for name in kind.options if name in options}
    return Model(kind(in_channels, **given), outputs)
