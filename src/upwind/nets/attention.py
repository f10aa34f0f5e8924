"""Graph attention over incoming edges, forward and backward, without a tensor per edge and channel.

PyG's ``GATConv`` writes [edges, heads, channels] several times over; the two loops here read each
neighbour's row where it lies, and skip the edges that dropout took out.
"""

from typing import Any, final

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import dropout, leaky_relu
from torch_geometric.utils import softmax

from upwind.nets.dropout import draw
from upwind.nets.linear import Linear

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

SLOPE = 0.2
# Sums of products in any order, so that they fill vector instructions; the order is fixed.
_FAST = {"contract", "reassoc", "nsz"}


@final
class Attention(nn.Module):
    """One layer (Veličković et al., ICLR 2018), with the parameters of PyG's ``GATConv``.

    out_i = sum_j alpha_ij h_j + b over the neighbours j of i and itself, h = x W, with
    alpha_ij = softmax_j leaky_relu(a_src h_j + a_dst h_i), per head.
    """

    def __init__(self, in_channels: int, out_channels: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.lin = Linear(in_channels, heads * out_channels)
        self.att_src = nn.Parameter(torch.empty(1, heads, out_channels))
        self.att_dst = nn.Parameter(torch.empty(1, heads, out_channels))
        self.bias = nn.Parameter(torch.zeros(heads * out_channels))
        nn.init.xavier_uniform_(self.att_src)
        nn.init.xavier_uniform_(self.att_dst)
        self.dropout = dropout

    def forward(self, x: Tensor, rowptr: Tensor, source: Tensor) -> Tensor:
        """Shape ``[rows, in_channels]`` to ``[rows, heads * out_channels]``."""
        h = self.lin(x)
        # As one product: a block matrix takes h to two scores per head.
        eye = torch.eye(self.att_src.shape[1], dtype=h.dtype, device=h.device)[:, None, :]
        blocks = [(att[0, :, :, None] * eye).flatten(0, 1) for att in (self.att_src, self.att_dst)]
        towards, at = (h @ torch.cat(blocks, 1)).chunk(2, 1)
        p = self.dropout if self.training else 0.0
        attended = torch_attend if h.is_cuda else attend
        return attended(h, towards, at, rowptr, source, p).add_(self.bias)


def incoming(edge_index: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    """Row pointer and sources of the edges into each node, with one self-loop each.

    >>> incoming(torch.tensor([[0, 1], [1, 1]]), 2)
    (tensor([0, 1, 3]), tensor([0, 0, 1]))
    """
    source, target = edge_index.cpu().numpy()
    rowptr, col = _incoming(source, target, num_nodes)
    device = edge_index.device
    return torch.from_numpy(rowptr).to(device), torch.from_numpy(col).to(device)


def attend(
    h: Tensor, towards: Tensor, at: Tensor, rowptr: Tensor, source: Tensor, p: float
) -> Tensor:
    """sum_j alpha_ij h_j, attention dropped with probability ``p``.

    Args:
        h: ``[rows, heads * channels]``.
        towards: What each row's own score adds to that of an edge from it, ``[rows, heads]``.
        at: The same of an edge into it.
        rowptr: Of the edges into each row.
        source: Where they come from.
        p: Drop attention with this probability and scale the rest by 1 / (1 - p).
    """
    attended: Tensor = _Attend.apply(h, towards, at, rowptr, source, p)  # type: ignore[no-untyped-call]
    return attended


def torch_attend(
    h: Tensor, towards: Tensor, at: Tensor, rowptr: Tensor, source: Tensor, p: float
) -> Tensor:
    """`attend` in torch's own operations, for CUDA."""
    target = torch.arange(len(h), device=h.device).repeat_interleave(rowptr.diff())
    score = leaky_relu(towards[source] + at[target], SLOPE)
    alpha = dropout(softmax(score, ptr=rowptr), p)
    messages = alpha[:, :, None] * h.view(len(h), alpha.shape[1], -1)[source]
    return torch.zeros_like(h).index_add_(0, target, messages.flatten(1))


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, h: Tensor, towards: Tensor, at: Tensor, rowptr: Tensor, source: Tensor, p: float
    ) -> Tensor:
        key = np.uint64(int(torch.randint(2**63 - 1, ())) if p > 0 else 0)
        alpha = torch.empty(len(source), towards.shape[1], dtype=h.dtype)
        out = torch.zeros_like(h)
        given = [t.detach().contiguous() for t in (h, towards, at, rowptr, source)]
        _forward(*(t.numpy() for t in given), key, p, alpha.numpy(), out.numpy())
        ctx.save_for_backward(*given, alpha)
        ctx.key, ctx.p = key, p
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors
        found = [torch.zeros_like(t) for t in saved[:3]]
        _backward(
            *(t.numpy() for t in saved),
            ctx.key,
            ctx.p,
            gradient.contiguous().numpy(),
            *(t.numpy() for t in found),
        )
        return (*found, None, None, None)


@njit(cache=True, nogil=True)
def _incoming(source: Ints, target: Ints, num_nodes: int) -> tuple[Ints, Ints]:
    rowptr = np.zeros(num_nodes + 1, np.int64)
    for edge in range(len(source)):
        rowptr[target[edge] + 1] += source[edge] != target[edge]
    for node in range(num_nodes):
        rowptr[node + 1] += rowptr[node] + 1
    col = np.empty(rowptr[-1], np.int64)
    free = rowptr[:-1].copy()
    for edge in range(len(source)):
        if source[edge] != target[edge]:
            col[free[target[edge]]] = source[edge]
            free[target[edge]] += 1
    for node in range(num_nodes):
        col[free[node]] = node
    return rowptr, col


@njit(cache=True, nogil=True, fastmath=_FAST)
def _forward(
    h: Floats,
    towards: Floats,
    at: Floats,
    rowptr: Ints,
    source: Ints,
    key: np.uint64,
    p: float,
    alpha: Floats,
    out: Floats,
) -> None:
    heads = alpha.shape[1]
    width = h.shape[1] // heads
    threshold = np.uint32(p * 2.0**32)
    scale = h.dtype.type(1 / (1 - p))
    slope = h.dtype.type(SLOPE)
    for i in range(len(h)):
        first, last = rowptr[i], rowptr[i + 1]
        for k in range(heads):
            highest = h.dtype.type(-np.inf)
            for edge in range(first, last):
                score = towards[source[edge], k] + at[i, k]
                score = score if score > 0 else slope * score
                alpha[edge, k] = score
                highest = max(highest, score)
            total = h.dtype.type(0)
            for edge in range(first, last):
                alpha[edge, k] = np.exp(alpha[edge, k] - highest)
                total += alpha[edge, k]
            for edge in range(first, last):
                alpha[edge, k] /= total
        for edge in range(first, last):
            for k in range(heads):
                if draw(key, edge * heads + k) >= threshold:
                    factor = scale * alpha[edge, k]
                    row = h[source[edge], k * width : (k + 1) * width]
                    sums = out[i, k * width : (k + 1) * width]
                    for d in range(width):
                        sums[d] += factor * row[d]


@njit(cache=True, nogil=True, fastmath=_FAST)
def _backward(
    h: Floats,
    towards: Floats,
    at: Floats,
    rowptr: Ints,
    source: Ints,
    alpha: Floats,
    key: np.uint64,
    p: float,
    gradient: Floats,
    to_h: Floats,
    to_towards: Floats,
    to_at: Floats,
) -> None:
    """The dropout mask is a function of the key: it is drawn again, not stored."""
    heads = alpha.shape[1]
    width = h.shape[1] // heads
    threshold = np.uint32(p * 2.0**32)
    scale = h.dtype.type(1 / (1 - p))
    slope = h.dtype.type(SLOPE)
    to_alpha = np.empty_like(alpha)
    for i in range(len(h)):
        first, last = rowptr[i], rowptr[i + 1]
        for edge in range(first, last):
            for k in range(heads):
                dot = h.dtype.type(0)
                if draw(key, edge * heads + k) >= threshold:
                    factor = scale * alpha[edge, k]
                    given = gradient[i, k * width : (k + 1) * width]
                    row = h[source[edge], k * width : (k + 1) * width]
                    sums = to_h[source[edge], k * width : (k + 1) * width]
                    for d in range(width):
                        dot += given[d] * row[d]
                    for d in range(width):
                        sums[d] += factor * given[d]
                to_alpha[edge, k] = scale * dot
        for k in range(heads):
            mean = h.dtype.type(0)
            for edge in range(first, last):
                mean += alpha[edge, k] * to_alpha[edge, k]
            for edge in range(first, last):
                change = alpha[edge, k] * (to_alpha[edge, k] - mean)
                if towards[source[edge], k] + at[i, k] <= 0:
                    change *= slope
                to_towards[source[edge], k] += change
                to_at[i, k] += change
