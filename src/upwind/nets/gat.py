"""The long-tail benchmarks' graph attention network."""

from typing import ClassVar, final

from torch import Tensor, nn
from torch.nn.functional import elu

from upwind.errors import InputError
from upwind.nets._encoder import Encoder
from upwind.nets.attention import Attention, incoming
from upwind.nets.dropout import Dropout
from upwind.sampling import Batch


@final
class GAT(Encoder):
    """``layers`` times attention (Veličković et al., ICLR 2018) and ELU, then dropout.

    ``hidden`` is what all ``heads`` have together. Attention has no place for a sampler's edge
    weights, and does not read them.
    """

    name: ClassVar[str] = "gat"
    options: ClassVar[tuple[str, ...]] = (
        "hidden",
        "layers",
        "heads",
        "dropout",
        "attention_dropout",
    )

    def __init__(
        self,
        in_channels: int,
        *,
        hidden: int = 256,
        layers: int = 2,
        heads: int = 8,
        dropout: float = 0.5,
        attention_dropout: float = 0.6,
    ) -> None:
        super().__init__()
        if hidden % heads:
            raise InputError(f"hidden = {hidden} cannot be shared out over {heads} heads")
        self.convolutions = nn.ModuleList(
            Attention(width, hidden // heads, heads, attention_dropout)
            for width in [in_channels, *[hidden] * (layers - 1)]
        )
        self.dropout = Dropout(dropout)
        self.width = hidden

    def forward(self, batch: Batch) -> Tensor:
        """Features of shape ``[rows, hidden]``."""
        if "incoming" not in batch.memo:
            batch.memo["incoming"] = incoming(batch.edge_index, batch.num_nodes)
        h = batch.x
        for convolve in self.convolutions:
            h = elu(convolve(h, *batch.memo["incoming"]), inplace=True)
        dropped: Tensor = self.dropout(h)
        return dropped
