"""Where a method put its weight: figures per epoch, and a trace for pictures."""

from collections import deque
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

_MOST_NODES = 5_000  # a picture of more is no picture,
_SAMPLED = 2_000  # so of larger graphs some nodes are traced,
_ROOTS, _FANOUT = 20, 5  # those around a few training nodes
_MOST_FRAMES = 50


class WeightLog:
    """Sums up weights over the training nodes, by class, environment and degree."""

    def __init__(self, data: Data, epochs: int) -> None:
        self._train = data.train_mask & (data.y >= 0)
        y, env = data.y[self._train], data.env_id[self._train]
        degree = data.edge_index[0].bincount(minlength=int(data.num_nodes))[self._train]
        self._groups = {
            "class": y,
            "env": env,
            # Bin k holds degrees of 2^(k-1) to 2^k - 1; bin 0 the isolated nodes.
            "degree": torch.floor(torch.log2(degree.double().clamp(min=0.5))).long() + 1,
        }
        frames = np.unique(np.linspace(0, epochs - 1, _MOST_FRAMES).round().astype(int))
        self._frames = set(frames.tolist())
        self._edge_index = data.edge_index
        self.epochs: list[int] = []
        self.trace: list[Tensor] = []

    @cached_property
    def nodes(self) -> Tensor | None:
        """Whose weights the trace holds; none stands for all nodes."""
        few = len(self._train) <= _MOST_NODES
        return None if few else _neighbourhoods(self._edge_index, self._train)

    def record(self, epoch: int, weights: Tensor) -> dict[str, Any]:
        """Effective sample size as a share, and the share of weight and of nodes per group."""
        weights = weights.detach().cpu()
        if epoch in self._frames:
            self.epochs.append(epoch)
            self.trace.append((weights if self.nodes is None else weights[self.nodes]).half())
        w = weights[self._train].double()
        return {
            "effective_share": float(w.sum() ** 2 / (w.square().sum() * len(w))),
            "largest": float(w.max()),
            "smallest": float(w.min()),
            "share": {name: _shares(group, w / w.sum()) for name, group in self._groups.items()},
        }

    def state_dict(self) -> dict[str, Any]:
        """The trace so far."""
        return {"epochs": self.epochs, "trace": self.trace}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue this trace."""
        self.epochs, self.trace = list(state["epochs"]), list(state["trace"])


def _neighbourhoods(edge_index: Tensor, train: Tensor) -> Tensor:
    """Some nodes with edges among them: a few training nodes, a few neighbours of each, and on.

    They depend on nothing but the graph, so that all runs on it trace the same nodes.
    """
    random = np.random.default_rng(0)
    source, target = edge_index.numpy()
    order = np.argsort(source, kind="stable")
    start = np.searchsorted(source[order], np.arange(len(train) + 1))
    roots = deque(random.permutation(np.flatnonzero(train.numpy())).tolist())
    found: set[int] = set()
    queue: deque[int] = deque()
    while len(found) < _SAMPLED and (queue or roots):
        if not queue:
            queue.extend(roots.popleft() for _ in range(min(_ROOTS, len(roots))))
        node = queue.popleft()
        if node in found:
            continue
        found.add(node)
        neighbours = target[order[start[node] : start[node + 1]]]
        queue.extend(random.permutation(neighbours)[:_FANOUT].tolist())
    return torch.tensor(sorted(found))


def _shares(group: Tensor, share: Tensor) -> dict[str, list[float]]:
    """Per group id (as text): share of the weight, share of the nodes."""
    ids, place = torch.unique(group, return_inverse=True)
    weight = place.bincount(share, minlength=len(ids))
    nodes = place.bincount(minlength=len(ids)).double() / len(group)
    return {str(int(i)): [float(w), float(n)] for i, w, n in zip(ids, weight, nodes, strict=True)}
