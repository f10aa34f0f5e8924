"""Topology-aware dynamic reweighting."""

from typing import ClassVar, final

from upwind.methods._flow import FlowMethod, FlowOptions


@final
class TAR(FlowMethod):
    """Weight flows along the graph's edges towards the nodes that the model gets wrong.

    Zheng et al., *Topology-Aware Dynamic Reweighting for Distribution Shifts on Graph*; directed
    edges carry weight both ways. `upwind.TAR` is the same for a loop of one's own.
    """

    name: ClassVar[str] = "tar"
    Options: ClassVar[type] = FlowOptions

    def reconnect(self) -> None:
        """The graph stays as it is."""
        return
