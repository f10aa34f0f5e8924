"""From data as loaded to data as a network takes it."""

import copy

import torch
from torch import Tensor
from torch_geometric.data import Data

from upwind.sparse import csr

_SPARSE_BELOW = 0.1  # share of entries that are not zero
_WIDE = 64


def prepare(data: Data, *, row_normalise: bool) -> Data:
    """A copy whose features are CSR where they are wide and mostly zero, and scaled if asked."""
    x = data.x
    if x.layout == torch.strided and x.shape[1] > _WIDE:
        mostly_zero = int(x.count_nonzero()) < _SPARSE_BELOW * x.numel()
        x = x.to_sparse_csr() if mostly_zero else x
    if row_normalise:
        x = _scale_rows(x)
    prepared = copy.copy(data)
    prepared.x = x
    return prepared


def _scale_rows(x: Tensor) -> Tensor:
    if x.layout == torch.strided:
        return x / x.sum(1, keepdim=True).clamp(min=1)
    rowptr, col, value = x.crow_indices(), x.col_indices(), x.values()
    row = torch.arange(len(rowptr) - 1).repeat_interleave(rowptr.diff())
    total = torch.zeros(len(rowptr) - 1, dtype=value.dtype).index_add_(0, row, value)
    return csr(rowptr, col, value / total.clamp(min=1)[row], (x.shape[0], x.shape[1]))
