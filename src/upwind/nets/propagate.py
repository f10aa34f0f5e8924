"""The graph convolution's propagation as one sparse product."""

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from upwind.sparse import csr

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


def gcn_operator(edge_index: Tensor, edge_weight: Tensor | None, num_nodes: int) -> Tensor:
    """CSR of D^-1/2 (A + I)^T D^-1/2: row i holds what node i hears, self included.

    As PyG's ``GCNConv``: degrees are in-degrees, a node without a self-loop gets one of weight
    1, and where it has some, the last one's weight stands for all of them.

    >>> gcn_operator(torch.tensor([[0], [1]]), None, 2).to_dense()
    tensor([[1.0000, 0.0000],
            [0.7071, 0.5000]])
    """
    source, target = edge_index.cpu().numpy()
    if edge_weight is None:
        weight = np.ones(len(source), np.float32)
    else:
        weight = edge_weight.detach().cpu().numpy()
    parts = _normalise(source, target, weight, num_nodes)
    rowptr, col, value = (torch.from_numpy(part).to(edge_index.device) for part in parts)
    return csr(rowptr, col, value, (num_nodes, num_nodes))


@njit(cache=True, nogil=True)
def _normalise(
    source: Ints, target: Ints, weight: Floats, num_nodes: int
) -> tuple[Ints, Ints, Floats]:
    loop = np.ones(num_nodes, weight.dtype)
    rowptr = np.zeros(num_nodes + 1, np.int64)
    for edge in range(len(source)):
        if source[edge] == target[edge]:
            loop[source[edge]] = weight[edge]
        else:
            rowptr[target[edge] + 1] += 1
    degree = loop.copy()
    for node in range(num_nodes):
        rowptr[node + 1] += rowptr[node] + 1
    col = np.empty(rowptr[-1], np.int64)
    value = np.empty(rowptr[-1], weight.dtype)
    free = rowptr[:-1].copy()
    for edge in range(len(source)):
        if source[edge] != target[edge]:
            slot = free[target[edge]]
            free[target[edge]] += 1
            col[slot] = source[edge]
            value[slot] = weight[edge]
            degree[target[edge]] += weight[edge]
    scale = np.zeros(num_nodes, weight.dtype)
    for node in range(num_nodes):
        col[free[node]] = node
        value[free[node]] = loop[node]
        if degree[node] > 0:
            scale[node] = 1 / np.sqrt(degree[node])
    for node in range(num_nodes):
        for slot in range(rowptr[node], rowptr[node + 1]):
            value[slot] *= scale[node] * scale[col[slot]]
    return rowptr, col, value
