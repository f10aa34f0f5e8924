"""Labelled nodes a few at a time, each with a bounded number of neighbours per layer."""

from collections.abc import Iterator
from typing import Any, ClassVar, final

import numpy as np
import torch
import torch_geometric.typing
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.loader import NodeLoader
from torch_geometric.sampler import (
    BaseSampler,
    NeighborSampler,
    NodeSamplerInput,
    SamplerOutput,
)

from upwind.sampling import _kernels
from upwind.sampling._base import Sampler
from upwind.sampling._batch import Batch, subgraph


@final
class Neighbour(Sampler):
    """Mini-batches of training nodes with sampled neighbourhoods, through PyG's ``NodeLoader``.

    Every training node is a seed once an epoch; the loss is the mean over a batch's seeds.
    Each of ``layers`` layers draws ``fanout`` in-neighbours without replacement (-1: all).
    PyG's own sampler does the drawing where ``pyg-lib`` is installed, ours where it is not.
    """

    name: ClassVar[str] = "neighbour"
    options: ClassVar[tuple[str, ...]] = ("batch_size", "fanout", "layers")

    def __init__(
        self,
        data: Data,
        *,
        seed: int,
        batch_size: int = 1024,
        fanout: int = 10,
        layers: int = 3,
    ) -> None:
        self._data = data
        self._size = batch_size
        self._random = np.random.default_rng(seed)
        self._train = (data.train_mask & (data.y >= 0)).nonzero().flatten()
        # The loader sees the structure only: features stay sparse, and rows are taken once.
        bare = Data(edge_index=data.edge_index, num_nodes=data.num_nodes)
        rowptr = getattr(data, "rowptr", None)
        self._loader = NodeLoader(
            bare, node_sampler=neighbour_sampler(bare, (fanout,) * layers, seed, rowptr)
        )

    def epoch(self) -> Iterator[Batch]:
        """Batches of seeds in random order; the last may be smaller."""
        order = torch.from_numpy(self._random.permutation(len(self._train)))
        yield from self.batches(self._train[order])

    def batches(self, nodes: Tensor) -> Iterator[Batch]:
        """Batches whose seeds are these nodes, in this order."""
        for seeds in torch.split(nodes, self._size):
            drawn = self._loader(seeds)
            n_id, rank = drawn.n_id.sort()
            row_of = torch.empty_like(rank)
            row_of[rank] = torch.arange(len(rank))
            weight = self._data.edge_weight
            yield subgraph(
                self._data,
                n_id,
                row_of[drawn.edge_index],
                edge_weight=None if weight is None else weight[drawn.e_id],
                seeds=rank < len(seeds),
                node_norm=torch.full((len(n_id),), 1 / len(seeds)),
            )

    def __len__(self) -> int:
        """Batches that the training nodes fill."""
        return -(-len(self._train) // self._size)

    def state_dict(self) -> dict[str, Any]:
        """The random states: of the order, and of our sampler where it is the one in use."""
        state = {"order": self._random.bit_generator.state}
        if isinstance(self._loader.node_sampler, CompiledSampler):
            state["draws"] = self._loader.node_sampler.random.bit_generator.state
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from these random states."""
        self._random.bit_generator.state = state["order"]
        if isinstance(self._loader.node_sampler, CompiledSampler):
            self._loader.node_sampler.random.bit_generator.state = state["draws"]


def neighbour_sampler(
    data: Data, fanout: tuple[int, ...], seed: int, rowptr: Tensor | None = None
) -> BaseSampler:
    """PyG's sampler where its compiled half is installed and the edges must be sorted, else ours.

    With ``rowptr`` the edges are sorted by target already, perhaps on disk, and stay there.
    """
    if rowptr is not None:
        return CompiledSampler(data.edge_index, int(data.num_nodes), fanout, seed, rowptr)
    if torch_geometric.typing.WITH_PYG_LIB or torch_geometric.typing.WITH_TORCH_SPARSE:
        return NeighborSampler(data, num_neighbors=list(fanout))
    return CompiledSampler(data.edge_index, int(data.num_nodes), fanout, seed)


@final
class CompiledSampler(BaseSampler):  # type: ignore[misc]  # PyG ships no types
    """PyG's sampler interface over our kernel: what ``NeighborSampler`` does with its defaults.

    Usable in any PyG loader: ``NodeLoader(data, node_sampler=CompiledSampler(...))``.
    """

    def __init__(
        self,
        edge_index: Tensor,
        num_nodes: int,
        fanout: tuple[int, ...],
        seed: int,
        rowptr: Tensor | None = None,
    ) -> None:
        super().__init__()
        source, target = edge_index.numpy()
        # By target: a node's row lists those it hears from.
        self._position: np.ndarray[Any, Any] | None = None
        if rowptr is not None:
            self._rowptr, self._col = rowptr.numpy(), source
        else:
            self._rowptr, self._col, self._position = _kernels.compress(target, source, num_nodes)
        self._fanout = fanout
        self._row_of = np.full(num_nodes, -1, np.int64)
        self.random = np.random.default_rng(seed)

    def sample_from_nodes(self, index: NodeSamplerInput) -> SamplerOutput:
        """The seeds first, then each layer's new nodes; edges point towards the seeds."""
        nodes = index.node.numpy()
        frontier = nodes
        self._row_of[nodes] = np.arange(len(nodes))
        heads, tails, edges, sizes = [], [], [], [len(nodes)]
        for limit in self._fanout:
            draws = self.random.random((len(frontier), max(limit, 0)))
            rows, slots = _kernels.pick(self._rowptr, limit, frontier, draws)
            others = self._col[slots]
            new = np.unique(others[self._row_of[others] < 0])
            self._row_of[new] = len(nodes) + np.arange(len(new))
            heads.append(self._row_of[others])
            tails.append(self._row_of[frontier[rows]])
            edges.append(slots if self._position is None else self._position[slots])
            sizes.append(len(new))
            nodes, frontier = np.concatenate([nodes, new]), new
        self._row_of[nodes] = -1
        return SamplerOutput(
            node=torch.from_numpy(nodes),
            row=torch.from_numpy(np.concatenate(heads)),
            col=torch.from_numpy(np.concatenate(tails)),
            edge=torch.from_numpy(np.concatenate(edges)),
            num_sampled_nodes=sizes,
            num_sampled_edges=[len(part) for part in edges],
            metadata=(index.input_id, index.time),
        )

    def sample_from_edges(self, index: object, neg_sampling: object = None) -> SamplerOutput:
        """Node classifiers start from nodes."""
        raise NotImplementedError("this sampler starts from nodes, not from edges")

    @property
    def edge_permutation(self) -> None:
        """Edges are already numbered as in ``edge_index``."""
