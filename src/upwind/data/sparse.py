"""Feature matrices that stay sparse: between SciPy's CSR and torch's."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp
import torch


@contextmanager
def no_beta_warning() -> Iterator[None]:
    """Torch says once a process that CSR is in beta; that is no news to the user."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
        yield


def to_torch(matrix: sp.csr_array) -> torch.Tensor:
    """A float32 CSR tensor with this content.

    >>> to_torch(sp.csr_array([[0.0, 2.0], [0.0, 0.0]])).to_dense().tolist()
    [[0.0, 2.0], [0.0, 0.0]]
    """
    matrix.sort_indices()
    with no_beta_warning():
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr.astype(np.int64)),
            torch.from_numpy(matrix.indices.astype(np.int64)),
            torch.from_numpy(matrix.data.astype(np.float32)),
            size=matrix.shape,
            check_invariants=True,  # a stranger's bad arrays would end in a segfault
        )


def to_scipy(x: torch.Tensor) -> sp.csr_array:
    """The features as a SciPy CSR array, whether they are stored dense or sparse.

    >>> to_scipy(torch.eye(2)).nnz
    2
    """
    if x.layout == torch.strided:
        return sp.csr_array(x.numpy())
    csr = x if x.layout == torch.sparse_csr else x.to_sparse_csr()
    parts = csr.values().numpy(), csr.col_indices().numpy(), csr.crow_indices().numpy()
    return sp.csr_array(parts, shape=tuple(csr.shape))
