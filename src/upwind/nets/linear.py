"""A linear map whose input may be sparse."""

from typing import final

import torch
from torch import Tensor, nn

from upwind.sparse import product


@final
class Linear(nn.Module):
    """``x W``, without bias, Glorot-initialised; CSR ``x`` is never made dense."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Shape ``[rows, in_channels]`` to ``[rows, out_channels]``."""
        return product(x, self.weight) if x.layout == torch.sparse_csr else x @ self.weight
