"""GraphSAINT's random walks, with the normalisation that undoes their bias."""

from collections.abc import Iterator
from typing import Any, ClassVar, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from upwind.sampling import _kernels
from upwind.sampling._base import Sampler
from upwind.sampling._batch import Batch, subgraph

_LARGEST_EDGE_NORM = 1e4
_UNDEFINED = 0.1  # stands for an edge norm of 0/0, and for a count of a node never seen


@final
class Saint(Sampler):
    """Subgraphs induced on random walks (Zeng et al., GraphSAINT, ICLR 2020).

    A step draws ``batch_size`` roots uniformly with replacement, walks ``walk_length`` steps
    from each, and takes the subgraph on the distinct nodes visited. Before training, subgraphs
    are drawn until they hold ``coverage`` times as many nodes as the graph. With C(.) the
    number of those M subgraphs that hold a node or an edge, of N nodes,

        node norm of v        = M / C(v) / N
        edge norm of u -> v   = C(u) / C(u -> v), at most 1e4.

    The public kernel reads the next row's first neighbour at a node that no edge leaves; here
    the walk stays there.
    """

    name: ClassVar[str] = "saint"
    options: ClassVar[tuple[str, ...]] = (
        "batch_size",
        "walk_length",
        "steps_per_epoch",
        "coverage",
    )

    def __init__(
        self,
        data: Data,
        *,
        seed: int,
        batch_size: int = 4096,
        walk_length: int = 3,
        steps_per_epoch: int = 10,
        coverage: int = 100,
    ) -> None:
        self._data = data
        self._num_nodes = int(data.num_nodes)
        self._roots, self._length, self._steps = batch_size, walk_length, steps_per_epoch
        source, target = data.edge_index.numpy()
        self._rowptr, self._col, place = _kernels.compress(source, target, self._num_nodes)
        self._seen = np.zeros(self._num_nodes, np.bool_)
        self._local = np.full(self._num_nodes, -1, np.int64)
        self._random = np.random.default_rng(seed)
        node_norm, edge_norm = self._estimate(coverage)
        self.node_norm = torch.from_numpy(node_norm).float()
        self.edge_norm = torch.from_numpy(edge_norm).float()
        self._edge_weight = self.edge_norm
        if data.edge_weight is not None:
            self._edge_weight = self.edge_norm * data.edge_weight[torch.from_numpy(place)]

    def epoch(self) -> Iterator[Batch]:
        """``steps_per_epoch`` subgraphs; every node of one is a seed."""
        for _ in range(self._steps):
            nodes, edges, slots = self._draw()
            n_id = torch.from_numpy(nodes)
            yield subgraph(
                self._data,
                n_id,
                torch.from_numpy(edges),
                seeds=torch.ones(len(nodes), dtype=torch.bool),
                node_norm=self.node_norm[n_id],
                edge_weight=self._edge_weight[torch.from_numpy(slots)],
            )

    def __len__(self) -> int:
        """Steps per epoch."""
        return self._steps

    def state_dict(self) -> dict[str, Any]:
        """The random state; the norms follow from the seed."""
        return {"random": self._random.bit_generator.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from this random state."""
        self._random.bit_generator.state = state["random"]

    def _draw(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        roots = self._random.integers(self._num_nodes, size=self._roots)
        draws = self._random.random((self._roots, self._length))
        nodes = _kernels.visit(self._rowptr, self._col, roots, draws, self._seen)
        edges, slots = _kernels.induce(self._rowptr, self._col, nodes, self._local)
        return nodes, edges, slots

    def _estimate(self, coverage: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Norm of every node, and of every edge in the order of ``_col``."""
        of_node = np.zeros(self._num_nodes)
        of_edge = np.zeros(len(self._col))
        held = subgraphs = 0
        while held < coverage * self._num_nodes:
            for _ in range(self._steps):
                nodes, _edges, slots = self._draw()
                of_node[nodes] += 1
                of_edge[slots] += 1
                held += len(nodes)
                subgraphs += 1
        of_source = np.repeat(of_node, np.diff(self._rowptr))
        with np.errstate(divide="ignore", invalid="ignore"):
            edge_norm = np.minimum(of_source / of_edge, _LARGEST_EDGE_NORM)
        edge_norm[np.isnan(edge_norm)] = _UNDEFINED
        of_node[of_node == 0] = _UNDEFINED
        return subgraphs / of_node / self._num_nodes, edge_norm
