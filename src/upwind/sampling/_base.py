"""What the loop asks of a sampler, and how one is found by name."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

from upwind._registry import find, members
from upwind.sampling._batch import Batch


class Sampler(ABC):
    """Cuts an epoch into batches.

    A subclass is registered under its ``name``. It takes the data, ``seed``, and by keyword
    those fields of the configuration that it lists in ``options``.
    """

    name: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def epoch(self) -> Iterator[Batch]:
        """The batches of one epoch."""

    @abstractmethod
    def __len__(self) -> int:
        """How many batches an epoch has."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """What makes the epochs to come what they are."""

    @abstractmethod
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from there."""


def get(name: str) -> type[Sampler]:
    """The sampler of this name."""
    kind: type[Sampler] = find(Sampler, name, "sampler")
    return kind


def names() -> list[str]:
    """The samplers there are."""
    return sorted(members(Sampler))
