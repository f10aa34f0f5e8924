"""The whole graph at every step."""

from collections.abc import Iterator
from typing import Any, ClassVar, final

from torch_geometric.data import Data

from upwind.sampling._base import Sampler
from upwind.sampling._batch import Batch, whole


@final
class Full(Sampler):
    """One step an epoch, on the whole graph; the loss is the mean over the training nodes."""

    name: ClassVar[str] = "full"

    def __init__(self, data: Data, *, seed: int) -> None:  # noqa: ARG002 (every sampler has one)
        self._batch = whole(data)

    def epoch(self) -> Iterator[Batch]:
        """The one batch, the same object each time: what is derived from it is kept."""
        yield self._batch

    def __len__(self) -> int:
        """One."""
        return 1

    def state_dict(self) -> dict[str, Any]:
        """Nothing changes."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Nothing to continue from."""
