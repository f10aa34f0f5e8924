"""Citation and co-author networks: one npz with two CSR matrices and the labels."""

from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from upwind.data.sparse import to_torch


def citation(file: Mapping[str, NDArray[np.generic]]) -> Data:
    """The graph in such a file, made undirected, without self-loops, features 0 or 1."""
    x, adjacency = (
        sp.csr_array(
            (file[f"{of}_data"], file[f"{of}_indices"], file[f"{of}_indptr"]),
            shape=tuple(int(n) for n in file[f"{of}_shape"]),
        )
        for of in ("attr", "adj")
    )
    x.data[x.data > 0] = 1
    x.eliminate_zeros()
    both = sp.csr_array(adjacency + adjacency.T)
    both.setdiag(0)
    both.eliminate_zeros()
    both.sort_indices()
    row, column = both.nonzero()
    edge_index = np.stack([row, column]).astype(np.int64)
    return Data(
        x=to_torch(x),
        edge_index=torch.from_numpy(edge_index),
        y=torch.from_numpy(np.asarray(file["labels"], dtype=np.int64)),
    )
