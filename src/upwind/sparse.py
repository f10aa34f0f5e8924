"""Products with a sparse matrix on the left, where only the right side learns.

torch's own CSR product gives no gradient that is both right and sparse here; these two loops
are the product and its transpose, and both read the same CSR.
"""

import warnings
from typing import Any

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

with warnings.catch_warnings():
    # torch says once a process that CSR is in beta: that is no news to a user, so it says it here.
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor([0], [], [], size=(0, 0), check_invariants=False)

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


def csr(rowptr: Tensor, col: Tensor, value: Tensor, shape: tuple[int, int]) -> Tensor:
    """A CSR tensor of parts that are known to be right, so that torch need not check them."""
    return torch.sparse_csr_tensor(rowptr, col, value, size=shape, check_invariants=False)


def product(matrix: Tensor, dense: Tensor) -> Tensor:
    """``matrix @ dense`` for a CSR ``matrix``, with a gradient for ``dense`` only.

    >>> rowptr, col = torch.tensor([0, 1, 3]), torch.tensor([1, 0, 1])
    >>> matrix = csr(rowptr, col, torch.tensor([2.0, 1.0, 1.0]), (2, 2))
    >>> product(matrix, torch.tensor([[1.0], [10.0]])).tolist()
    [[20.0], [11.0]]
    """
    if matrix.requires_grad:
        raise NotImplementedError("a sparse matrix gets no gradient here")
    result: Tensor = _Product.apply(matrix, dense)  # type: ignore[no-untyped-call]
    return result


def take_rows(x: Tensor, index: Tensor) -> Tensor:
    """``x[index]``, dense or CSR.

    >>> take_rows(torch.eye(3).to_sparse_csr(), torch.tensor([2, 0])).to_dense().tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    if x.layout != torch.sparse_csr:
        return x.index_select(0, index)
    parts = _take(
        x.crow_indices().numpy(), x.col_indices().numpy(), x.values().numpy(), index.numpy()
    )
    rowptr, col, value = (torch.from_numpy(part) for part in parts)
    return csr(rowptr, col, value, (len(index), x.shape[1]))


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, dense: Tensor) -> Tensor:
        ctx.save_for_backward(matrix)
        if matrix.is_cuda:
            return matrix @ dense
        out = torch.zeros(matrix.shape[0], dense.shape[1], dtype=dense.dtype)
        _gather(*_arrays(matrix), dense.detach().contiguous().numpy(), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        (matrix,) = ctx.saved_tensors
        if matrix.is_cuda:
            return None, matrix.t() @ gradient
        out = torch.zeros(matrix.shape[1], gradient.shape[1], dtype=gradient.dtype)
        _scatter(*_arrays(matrix), gradient.contiguous().numpy(), out.numpy())
        return None, out


def _arrays(matrix: Tensor) -> tuple[Ints, Ints, Floats]:
    return (
        matrix.crow_indices().numpy(),
        matrix.col_indices().numpy(),
        matrix.values().detach().numpy(),
    )


@njit(cache=True, nogil=True, fastmath={"contract"})
def _gather(rowptr: Ints, col: Ints, value: Floats, dense: Floats, out: Floats) -> None:
    """out[i] += sum_k value_ik dense[k]; four at a time, since ``out`` is what costs."""
    for row in range(len(rowptr) - 1):
        total = out[row]
        slot, end = rowptr[row], rowptr[row + 1]
        while slot + 4 <= end:
            d0, d1 = dense[col[slot]], dense[col[slot + 1]]
            d2, d3 = dense[col[slot + 2]], dense[col[slot + 3]]
            v0, v1, v2, v3 = value[slot], value[slot + 1], value[slot + 2], value[slot + 3]
            for j in range(len(total)):
                total[j] += v0 * d0[j] + v1 * d1[j] + v2 * d2[j] + v3 * d3[j]
            slot += 4
        for last in range(slot, end):
            d0, v0 = dense[col[last]], value[last]
            for j in range(len(total)):
                total[j] += v0 * d0[j]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _scatter(rowptr: Ints, col: Ints, value: Floats, dense: Floats, out: Floats) -> None:
    """out[k] += sum_i value_ik dense[i]."""
    for row in range(len(rowptr) - 1):
        given = dense[row]
        for slot in range(rowptr[row], rowptr[row + 1]):
            total, weight = out[col[slot]], value[slot]
            for j in range(len(total)):
                total[j] += weight * given[j]


@njit(cache=True, nogil=True)
def _take(rowptr: Ints, col: Ints, value: Floats, rows: Ints) -> tuple[Ints, Ints, Floats]:
    new_rowptr = np.zeros(len(rows) + 1, np.int64)
    for i in range(len(rows)):
        new_rowptr[i + 1] = new_rowptr[i] + rowptr[rows[i] + 1] - rowptr[rows[i]]
    new_col = np.empty(new_rowptr[-1], np.int64)
    new_value = np.empty(new_rowptr[-1], value.dtype)
    for i in range(len(rows)):
        first, last = rowptr[rows[i]], rowptr[rows[i] + 1]
        new_col[new_rowptr[i] : new_rowptr[i + 1]] = col[first:last]
        new_value[new_rowptr[i] : new_rowptr[i + 1]] = value[first:last]
    return new_rowptr, new_col, new_value
