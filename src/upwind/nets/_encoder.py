"""What a network must be to stand under the classifier."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from torch import Tensor, nn

from upwind._registry import find, members

if TYPE_CHECKING:
    from upwind.sampling import Batch


class Encoder(nn.Module, ABC):
    """Turns a batch into one row of ``width`` features per node.

    A subclass is registered under its ``name``. It takes ``in_channels`` and, by keyword, those
    fields of the configuration that it lists in ``options``.
    """

    name: ClassVar[str]
    options: ClassVar[tuple[str, ...]]
    width: int

    @abstractmethod
    def forward(self, batch: "Batch") -> Tensor:
        """Features of shape ``[rows, width]``, as the classifier takes them."""


def get(name: str) -> type[Encoder]:
    """The encoder of this name."""
    kind: type[Encoder] = find(Encoder, name, "backbone")
    return kind


def names() -> list[str]:
    """The encoders there are."""
    return sorted(members(Encoder))
