"""TAR on a graph that joins the labelled nodes directly."""

from dataclasses import dataclass
from typing import ClassVar, final

from upwind._options import option
from upwind.errors import InputError
from upwind.methods._flow import FlowMethod, FlowOptions


@dataclass(frozen=True)
class ReconnectOptions(FlowOptions):
    """The paper gives no number of neighbours."""

    neighbours: int = option(3, "Labelled nodes that each labelled node is joined with.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neighbours < 1:
            raise InputError(f"neighbours={self.neighbours} must be at least 1")


@final
class TARN(FlowMethod):
    """Weight flows between labelled nodes that are near each other.

    TAR-N: Zheng et al., appendix C.
    """

    name: ClassVar[str] = "tar_n"
    Options: ClassVar[type] = ReconnectOptions

    def reconnect(self) -> int:
        """Each labelled node's nearest labelled ones, by breadth-first search."""
        return int(self.options.neighbours)
