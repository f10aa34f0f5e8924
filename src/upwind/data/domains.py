"""The domain of every node: the attribute along which a graph is shifted."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from torch_geometric.data import Data

from upwind.data.sparse import to_scipy
from upwind.data.split import Domains
from upwind.errors import InputError

BUILT_IN = ("degree", "word", "pagerank")


def node_domains(data: Data, domain: str | ArrayLike) -> Domains:
    """Sort the values of a node attribute and number them; equal values are one domain.

    Args:
        data: The graph.
        domain: The name of an attribute of the graph with one value a node; or ``"degree"`` (number
            of out-going edges), ``"word"`` (number of non-zero features) or ``"pagerank"``; or the
            values themselves, numbers or strings.

    >>> from torch_geometric.data import Data
    >>> node_domains(Data(num_nodes=3), ["fr", "de", "fr"])
    Domains(id=array([1, 0, 1]), names=['de', 'fr'])
    >>> star = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]])
    >>> node_domains(Data(edge_index=star, num_nodes=3), "degree")
    Domains(id=array([1, 0, 0]), names=['1', '2'])
    """
    said = f"domain {domain!r}" if isinstance(domain, str) else "the domain vector"
    values = _values(data, domain) if isinstance(domain, str) else _array(domain)
    if values.shape != (data.num_nodes,):
        raise InputError(
            f"{said} has shape {values.shape}, and the graph has {data.num_nodes} nodes; "
            "give one value a node."
        )
    missing = np.flatnonzero(np.isnan(values) if values.dtype.kind == "f" else values == "")
    if missing.size:
        raise InputError(
            f"{said} is missing for {missing.size} nodes, first for node {missing[0]}; "
            "fill it in, for instance with a value of its own."
        )
    distinct, domain_id = np.unique(values, return_inverse=True)
    return Domains(domain_id.astype(np.int64), [_said(value) for value in distinct])


def _array(domain: ArrayLike) -> NDArray[Any]:
    values = np.asarray(domain)
    if values.dtype.kind != "O":
        return values
    return np.array(["" if value is None else str(value) for value in values])


def _said(value: np.generic) -> str:
    number = value.item()
    if isinstance(number, float):
        return str(int(number)) if number.is_integer() else f"{number:.6g}"
    return str(number)


def _values(data: Data, name: str) -> NDArray[Any]:
    own = getattr(data, name, None)
    if own is not None:
        if not isinstance(own, torch.Tensor | np.ndarray | Sequence) or isinstance(own, str):
            raise InputError(f"domain {name!r} is not an attribute with one value a node.")
        return _array(own)
    if name == "degree":
        return np.bincount(data.edge_index[0].numpy(), minlength=data.num_nodes)
    if name == "word":
        return np.asarray(to_scipy(data.x).astype(bool).sum(axis=1, dtype=np.int64))
    if name == "pagerank":
        return pagerank(data)
    columns = sorted(
        key
        for key, value in data.to_dict().items()
        if isinstance(value, torch.Tensor | np.ndarray | list)
        and np.shape(value) == (data.num_nodes,)
        and not key.endswith("_mask")
    )
    raise InputError(
        f"the graph has no domain {name!r}; there are {', '.join([*columns, *BUILT_IN])}, "
        "or give a vector with one value a node."
    )


def pagerank(data: Data, *, damping: float = 0.85, tolerance: float = 1e-12) -> NDArray[np.float64]:
    """PageRank of every node, by power iteration; nodes without out-edges jump anywhere.

    Rounded to nine significant digits, so that nodes that are alike share a domain.

    >>> from torch_geometric.data import Data
    >>> star = torch.tensor([[1, 2, 3], [0, 0, 0]])
    >>> pagerank(Data(edge_index=star, num_nodes=4)).round(3).tolist()
    [0.542, 0.153, 0.153, 0.153]
    """
    n = data.num_nodes
    source, target = data.edge_index.numpy()
    out = np.bincount(source, minlength=n)
    hop = sp.csr_array((1.0 / out[source], (target, source)), shape=(n, n))
    rank = np.full(n, 1.0 / n)
    change = np.inf
    while change > tolerance:
        lost = rank[out == 0].sum()
        new = damping * (hop @ rank + lost / n) + (1 - damping) / n
        rank, change = new, np.abs(new - rank).sum()
    digits = 8 - np.floor(np.log10(rank))
    return np.asarray(np.rint(rank * 10.0**digits) / 10.0**digits)
