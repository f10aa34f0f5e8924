"""The benchmark's graph convolutional network."""

from itertools import pairwise
from typing import ClassVar, final

import torch
from torch import Tensor, nn

from upwind.nets._encoder import Encoder
from upwind.nets.dropout import Dropout
from upwind.nets.linear import Linear
from upwind.nets.propagate import gcn_operator
from upwind.sampling import Batch
from upwind.sparse import product


@final
class GCNConv(nn.Module):
    """A(x W) + b (Kipf and Welling, ICLR 2017) for an operator A that is already normalised."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.linear = Linear(in_channels, out_channels)
        self.bias = nn.Parameter(torch.zeros(out_channels))

    def forward(self, x: Tensor, operator: Tensor) -> Tensor:
        """Shape ``[rows, in_channels]`` to ``[rows, out_channels]``."""
        return product(operator, self.linear(x)) + self.bias


@final
class GCN(Encoder):
    """``layers`` times convolution, batch norm, ReLU (but not after the last), dropout."""

    name: ClassVar[str] = "gcn"
    options: ClassVar[tuple[str, ...]] = ("hidden", "layers", "dropout")

    def __init__(
        self, in_channels: int, *, hidden: int = 300, layers: int = 3, dropout: float = 0.5
    ) -> None:
        super().__init__()
        widths = [in_channels, *[hidden] * layers]
        self.convolutions = nn.ModuleList(GCNConv(a, b) for a, b in pairwise(widths))
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in range(layers))
        self.dropout = Dropout(dropout)
        self.width = hidden

    def forward(self, batch: Batch) -> Tensor:
        """Features of shape ``[rows, hidden]``."""
        if "gcn" not in batch.memo:
            batch.memo["gcn"] = gcn_operator(batch.edge_index, batch.edge_weight, batch.num_nodes)
        h = batch.x
        last = len(self.convolutions) - 1
        for i, (convolve, norm) in enumerate(zip(self.convolutions, self.norms, strict=True)):
            h = norm(convolve(h, batch.memo["gcn"]))
            h = self.dropout(h if i == last else h.relu())
        return h
