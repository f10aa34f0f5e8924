"""Planetoid: Cora, CiteSeer and PubMed with the split that trains on all other nodes."""

import collections
import io
import pickle
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from upwind.data.raw import RawFiles
from upwind.data.sparse import to_torch

# What the original pickles are made of: nothing else is let in, though their hash has matched.
_MADE_OF = {
    ("numpy", "dtype"): np.dtype,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("scipy.sparse.csr", "csr_matrix"): sp.csr_matrix,
    ("collections", "defaultdict"): collections.defaultdict,
    ("__builtin__", "list"): list,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _MADE_OF[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"{module}.{name} has no place in this file") from None


def planetoid(raw: RawFiles, name: str) -> Data:
    """Read one of the three; validation has 500 nodes, test 1,000, training all others.

    Args:
        raw: The raw files.
        name: ``Cora``, ``CiteSeer`` or ``PubMed``.
    """
    folder = f"Planetoid/{name}/raw/ind.{name.lower()}"

    def read(part: str) -> Any:
        content = raw.original(f"{folder}.{part}")
        return _Unpickler(io.BytesIO(content), encoding="latin1").load()

    known_x, known_y = sp.csr_array(read("allx")), read("ally")
    test = np.array(raw.original(f"{folder}.test.index").split(), dtype=np.int64)
    first = int(test.min())
    # The rows of tx belong to the nodes in `test`, in that order; a node of CiteSeer's test range
    # that is not among them has neither features nor a label of its own, and gets class 0.
    n = int(test.max()) + 1
    rows = sp.csr_array(read("tx"))
    place = sp.csr_array(
        (np.ones(len(test), dtype=np.float32), (test - first, np.arange(len(test)))),
        shape=(n - first, len(test)),
    )
    x = sp.csr_array(sp.vstack([known_x, place @ rows]))
    one_hot = np.zeros((n, known_y.shape[1]), dtype=known_y.dtype)
    one_hot[:first], one_hot[test] = known_y, read("ty")

    lists = read("graph")
    target = np.repeat(np.fromiter(lists, dtype=np.int64), [len(seen) for seen in lists.values()])
    source = np.concatenate([np.asarray(seen, dtype=np.int64) for seen in lists.values()])
    pairs = np.stack([target, source])[:, source != target]
    edge_index = np.unique(pairs[::-1], axis=1)[::-1]  # by target, then source, each pair once

    labelled = len(read("y"))
    parts = {"val": np.arange(labelled, labelled + 500), "test": test}
    masks = {}
    for part, nodes in parts.items():
        masks[part] = torch.zeros(n, dtype=torch.bool)
        masks[part][torch.from_numpy(nodes)] = True
    return Data(
        x=to_torch(x),
        edge_index=torch.from_numpy(edge_index.copy()),
        y=torch.from_numpy(one_hot.argmax(axis=1)),
        train_mask=~(masks["val"] | masks["test"]),
        val_mask=masks["val"],
        test_mask=masks["test"],
    )
