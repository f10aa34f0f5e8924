"""One training step's part of the graph."""

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from upwind.sparse import take_rows


@dataclass
class Batch:
    """A subgraph, its rows sorted by global id.

    Attributes:
        x: Features, dense or CSR, of shape ``[rows, features]``.
        edge_index: Edges between rows, ``[2, edges]``.
        edge_weight: What messages are multiplied by, ``[edges]``, or none: the graph's own
            weight times the sampler's edge norm.
        y: Labels; -1 where there is none.
        n_id: Global id of each row, ascending; of a synthesised row, that of its origin.
        seeds: Rows that were drawn to be learnt from; the others are their context.
        mask: Rows that count in the loss: seeds that are labelled training nodes.
        node_norm: What the sampler multiplies each row's loss by; the loss of a step is
            ``sum(node_norm * loss)`` over ``mask``.
        env_id: Training environment of each row; -1 where none.
        is_whole: Whether this is `whole`'s batch, perhaps with synthesised rows.
        synthesised: Rows at the end that are no nodes of the graph.
        memo: What a network derived from the structure and may use again on this batch.
    """

    x: Tensor
    edge_index: Tensor
    edge_weight: Tensor | None
    y: Tensor
    n_id: Tensor
    seeds: Tensor
    mask: Tensor
    node_norm: Tensor
    env_id: Tensor
    is_whole: bool = False
    synthesised: int = 0
    memo: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def num_nodes(self) -> int:
        """How many rows there are."""
        return int(self.n_id.numel())

    def to(self, device: torch.device) -> "Batch":
        """The same batch there; copied at most once, so that what is derived from it is kept."""
        if self.x.device == device:
            return self
        if str(device) not in self.memo:
            tensors = {k: v for k, v in vars(self).items() if isinstance(v, Tensor)}
            parts: dict[str, Any] = {k: v.to(device) for k, v in tensors.items()}
            self.memo[str(device)] = replace(self, **parts, memo={})
        there: Batch = self.memo[str(device)]
        return there


def subgraph(
    data: Data,
    n_id: Tensor,
    edge_index: Tensor,
    *,
    seeds: Tensor,
    node_norm: Tensor,
    edge_weight: Tensor | None = None,
) -> Batch:
    """The batch of these nodes (ascending global ids) and edges (between rows)."""
    y = data.y[n_id]
    return Batch(
        x=data.x if len(n_id) == len(data.y) else take_rows(data.x, n_id),
        edge_index=edge_index,
        edge_weight=edge_weight,
        y=y,
        n_id=n_id,
        seeds=seeds,
        mask=data.train_mask[n_id] & seeds & (y >= 0),
        node_norm=node_norm,
        env_id=data.env_id[n_id],
    )


def whole(data: Data) -> Batch:
    """The whole graph as one batch, whose loss is the mean over the training nodes.

    Nodes that a long tail removed (``kept_nodes``) are left out: no edge, in no part, and half
    of PubMed.
    """
    kept = getattr(data, "kept_nodes", torch.ones_like(data.train_mask))
    n_id = kept.nonzero().squeeze(1)
    place = kept.cumsum(0) - 1
    every = torch.ones_like(n_id, dtype=torch.bool)
    train = int((data.train_mask & (data.y >= 0)).sum())
    batch = subgraph(
        data,
        n_id,
        place[data.edge_index],
        seeds=every,
        node_norm=torch.full((len(n_id),), 1 / max(train, 1)),
        edge_weight=data.edge_weight,
    )
    return replace(batch, is_whole=True)
