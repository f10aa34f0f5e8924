"""The graph that weight flows on: validated once, symmetric, never changed."""

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from upwind.errors import InputError, InputWarning, whole_number
from upwind.flow import csr
from upwind.flow.layout import Slabs, lay


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected weighted graph as symmetric CSR, its columns sorted within each row.

    Build one with :meth:`from_edge_index`. ``weight`` is None where all weights are one. The
    indices are int32 where they fit.

    >>> graph = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=4)
    >>> graph
    Graph(num_nodes=4, num_edges=4, num_components=2)
    """

    rowptr: Tensor
    col: Tensor
    weight: Tensor | None = None

    @classmethod
    def from_edge_index(
        cls,
        edge_index: Tensor,
        num_nodes: int | None = None,
        edge_weight: Tensor | None = None,
    ) -> "Graph":
        """Build the graph from PyTorch Geometric's ``edge_index``, in time linear in the edges.

        Parallel edges are summed and self-loops dropped (they move no weight). If the two
        directions of an edge differ, or one is missing, the larger weight counts for both, and an
        :class:`InputWarning` says so.

        Args:
            edge_index: shape [2, E], any integer type; both directions of each edge.
            num_nodes: N; by default one more than the largest index.
            edge_weight: shape [E], non-negative; an edge of weight zero is no edge.
        """
        n = _checked_num_nodes(edge_index, num_nodes)
        weight = None if edge_weight is None else _checked_weight(edge_weight, edge_index.shape[1])
        kind = torch.int32 if edge_index.dtype == torch.int32 else torch.int64
        source, target = (row.detach().to("cpu", kind).contiguous().numpy() for row in edge_index)
        values = None if weight is None else weight.cpu().contiguous().numpy()
        try:
            rowptr, col, summed, directed = csr.symmetric(source, target, values, n)
        except (MemoryError, ValueError) as error:  # the latter for sizes beyond any memory
            raise InputError(
                f"a graph of {n} nodes and {len(source)} edges does not fit into memory; nodes are "
                "numbered from 0, and every number counts, used or not."
            ) from error
        if directed:
            warnings.warn(
                "the graph is directed; weight flows both ways along every edge, so each edge was "
                "given its missing direction (and the larger of two differing weights). "
                "torch_geometric.utils.to_undirected makes the input undirected.",
                InputWarning,
                stacklevel=2,
            )
        return cls(
            torch.from_numpy(rowptr).to(edge_index.device),
            torch.from_numpy(col).to(edge_index.device),
            None if summed is None else torch.from_numpy(summed).to(edge_index.device),
        )

    @property
    def num_nodes(self) -> int:
        """N."""
        return self.rowptr.numel() - 1

    @property
    def num_edges(self) -> int:
        """How many directed edges are stored: twice the undirected ones."""
        return self.col.numel()

    @property
    def device(self) -> torch.device:
        """Where the graph lives."""
        return self.col.device

    @cached_property
    def row(self) -> Tensor:
        """The row of each stored edge; with ``col`` this is ``edge_index`` again."""
        return torch.repeat_interleave(self.rowptr.diff().long()).to(self.col.dtype)

    @property
    def edge_index(self) -> Tensor:
        """Shape [2, num_edges], sorted, in both directions."""
        return torch.stack([self.row, self.col]).long()

    @cached_property
    def strength(self) -> Tensor:
        """The sum of the weights at each node, float64."""
        if self.weight is None:
            return self.rowptr.diff().double()
        total = torch.zeros(self.num_nodes, dtype=torch.float64, device=self.device)
        return total.index_add_(0, self.row, self.weight.double())

    @cached_property
    def max_strength(self) -> float:
        """The largest of ``strength``; zero for a graph without nodes."""
        largest = float(self.strength.max()) if self.num_nodes else 0.0
        if largest == float("inf"):
            raise InputError(
                f"the edge weights of node {int(self.strength.argmax())} add up to infinity; "
                "divide all weights by a constant."
            )
        return largest

    @cached_property
    def component(self) -> Tensor:
        """The connected component of each node, numbered from zero by first node, int64."""
        labels = csr.components(self.rowptr.cpu().numpy(), self.col.cpu().numpy())
        return torch.from_numpy(labels).to(self.device)

    @cached_property
    def num_components(self) -> int:
        """How many connected components there are; an isolated node is one."""
        return int(self.component.max()) + 1 if self.num_nodes else 0

    def subgraph(self, nodes: Tensor) -> "Graph":
        """Return the graph on ``nodes`` alone, numbered in their order, in linear time.

        Args:
            nodes: the ids of the nodes, each once.

        >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> path.subgraph(torch.tensor([2, 1]))
        Graph(num_nodes=2, num_edges=2, num_components=1)
        """
        self.check_nodes(nodes)
        weight = np.empty(0, np.float32) if self.weight is None else self.weight.cpu().numpy()
        rowptr, col, value = csr.induced(
            self.rowptr.cpu().numpy(),
            self.col.cpu().numpy(),
            weight,
            nodes.long().cpu().numpy(),
            self._place,
        )
        return Graph(
            torch.from_numpy(rowptr).to(self.rowptr.dtype),
            torch.from_numpy(col),
            None if self.weight is None else torch.from_numpy(value),
        ).to(self.device)

    def check_nodes(self, nodes: Tensor) -> None:
        """Refuse what does not name nodes of this graph, each at most once."""
        if not isinstance(nodes, Tensor) or nodes.dtype not in _INTEGERS or nodes.dim() != 1:
            kind = getattr(nodes, "dtype", type(nodes).__name__)
            raise InputError(
                f"nodes must be a vector of node ids, not {kind} of shape "
                f"{list(getattr(nodes, 'shape', []))}; for a mask, pass mask.nonzero().squeeze(1)."
            )
        outside = (nodes < 0) | (nodes >= self.num_nodes)
        if outside.any():
            raise InputError(
                f"node {int(nodes[outside][0])} is not in the graph, whose {self.num_nodes} nodes "
                f"are numbered 0 to {self.num_nodes - 1}."
            )
        repeat = csr.first_repeat(nodes.long().cpu().numpy(), self._place)
        if repeat >= 0:
            raise InputError(f"node {int(nodes[repeat])} is named twice.")

    @cached_property
    def _place(self) -> csr.Ints:
        return np.full(self.num_nodes, -1, np.int64)

    def weight_as(self, dtype: torch.dtype) -> Tensor | None:
        """The edge weights in the precision of the flow; None where all are one."""
        if self.weight is None or self.weight.dtype == dtype:
            return self.weight
        if dtype not in self._weights:
            cast = self.weight.to(dtype)
            if not torch.isfinite(cast).all():
                raise InputError(
                    f"edge weights up to {float(self.weight.max()):.3g} do not fit {dtype}; "
                    "divide all weights by a constant, or pass float64 losses."
                )
            self._weights[dtype] = cast
        return self._weights[dtype]

    def adjacency(self, dtype: torch.dtype) -> Tensor:
        """The weights as a sparse matrix, for products."""
        if dtype not in self._adjacencies:
            weight = self.weight_as(dtype)
            ones = torch.ones(self.num_edges, dtype=dtype, device=self.device)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
                self._adjacencies[dtype] = torch.sparse_csr_tensor(
                    self.rowptr,
                    self.col,
                    ones if weight is None else weight,
                    (self.num_nodes, self.num_nodes),
                    check_invariants=False,
                )
        return self._adjacencies[dtype]

    def layout(self, dtype: torch.dtype) -> Slabs:
        """The edges in the order in which the compiled kernel reads them, laid out on first use."""
        if dtype not in self._layouts:
            weight = self.weight_as(dtype)
            self._layouts[dtype] = lay(
                self.rowptr.numpy(), self.col.numpy(), None if weight is None else weight.numpy()
            )
        return self._layouts[dtype]

    @cached_property
    def _weights(self) -> dict[torch.dtype, Tensor]:
        return {}

    @cached_property
    def _adjacencies(self) -> dict[torch.dtype, Tensor]:
        return {}

    @cached_property
    def _layouts(self) -> dict[torch.dtype, Slabs]:
        return {}

    def to(self, device: torch.device | str) -> "Graph":
        """Return the same graph on another device."""
        if torch.device(device) == self.device:
            return self
        weight = None if self.weight is None else self.weight.to(device)
        return Graph(self.rowptr.to(device), self.col.to(device), weight)

    def __reduce__(self) -> tuple[object, ...]:
        # What is cached is made again where it is wanted; sparse tensors cannot be copied anyway.
        return Graph, (self.rowptr, self.col, self.weight)

    def __repr__(self) -> str:
        return (
            f"Graph(num_nodes={self.num_nodes}, num_edges={self.num_edges}, "
            f"num_components={self.num_components})"
        )


_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def _checked_num_nodes(edge_index: Tensor, num_nodes: int | None) -> int:
    if not isinstance(edge_index, Tensor) or edge_index.dtype not in _INTEGERS:
        kind = getattr(edge_index, "dtype", type(edge_index).__name__)
        raise InputError(f"edge_index must be a tensor of integers, not {kind}.")
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise InputError(
            f"edge_index must have shape [2, num_edges], not {list(edge_index.shape)}."
        )
    wanted = None if num_nodes is None else whole_number(num_nodes, "num_nodes")
    if edge_index.numel() == 0:
        return wanted or 0
    low, high = (int(bound) for bound in edge_index.aminmax())
    n = high + 1 if wanted is None else wanted
    if low < 0 or high >= n:
        outside = ((edge_index < 0) | (edge_index >= n)).any(dim=0)
        first = int(outside.nonzero()[0])
        a, b = edge_index[:, first].tolist()
        raise InputError(
            f"edge {first} joins nodes {a} and {b}, but the graph has {n} nodes, "
            f"numbered 0 to {n - 1}."
        )
    return n


def _checked_weight(edge_weight: Tensor, num_edges: int) -> Tensor:
    if not isinstance(edge_weight, Tensor) or edge_weight.is_complex():
        kind = getattr(edge_weight, "dtype", type(edge_weight).__name__)
        raise InputError(f"edge_weight must be a tensor of real numbers, not {kind}.")
    if edge_weight.shape != (num_edges,):
        raise InputError(
            f"edge_weight must have one weight for each of the {num_edges} edges, "
            f"but its shape is {list(edge_weight.shape)}."
        )
    wide = edge_weight.dtype in (torch.float32, torch.float64)
    weight = edge_weight.detach() if wide else edge_weight.detach().float()
    bad = ~((weight >= 0) & (weight < np.inf))
    if bad.any():
        first = int(bad.nonzero()[0])
        raise InputError(
            f"edge weights must be finite and not negative, but weight {first} is "
            f"{float(weight[first])}."
        )
    return weight
