"""Synthesised neighbourhoods for rare classes."""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from upwind._options import option
from upwind.errors import InputError
from upwind.methods._egos import mix, neighbours
from upwind.methods._sum import Step, Summand
from upwind.methods.tam import neighbour_means
from upwind.nets import Model
from upwind.nets.linear import Linear
from upwind.sampling import Batch
from upwind.sparse import csr


@dataclass(frozen=True)
class GraphENSOptions:
    """The public code's defaults and search space."""

    keep: float = option(0.05, "Share of features that may be kept whole.", grid=(0.01, 0.05))
    temperature: float = option(2.0, "Softens predictions before they are compared.", grid=(1, 2))
    warmup: int = option(5, "Epochs in which a new node has its source's neighbours.")


@final
class GraphENS(Summand):
    """Rare classes get new nodes, with a neighbourhood of their own (Park et al., ICLR 2022).

    Each class gets as many as it lacks to the largest. A new node v is made from a source s of
    its class and a target t of any class c (drawn by log n_c). With K = KL(p_s, p_t) between the
    predictions of the last step, averaged over neighbours,

    - its neighbours are drawn without replacement from own / d_s on N(s) + (1 - own) / d_t on
      N(t), own = 1 / (1 + exp(-K)); how many, is the degree of any node, at most that of s.
      Messages flow to v and none from it;
    - its features are those of s and t mixed by a Beta(2, 2) share, but a number of features,
      sigmoid(K / 3) * keep of them all, are those of s: drawn without replacement by how much the
      loss changes with the target's features.

    The loss is the mean over old and new nodes. Drawn by rejection from rows of the sparse graph:
    memory is linear in the edges.
    """

    name: ClassVar[str] = "graphens"
    Options: ClassVar[type] = GraphENSOptions
    uses: ClassVar[frozenset[str]] = frozenset({"unlabelled inputs"})

    predictions: Tensor
    gradient: Tensor
    first_weight: Tensor
    row_of: Tensor

    def on_start(self, model: Model, data: Data) -> None:
        """Room for what is remembered of the training nodes from step to step."""
        first = next((m for m in model.encoder.modules() if isinstance(m, Linear)), None)
        if first is None:
            raise InputError(
                "graphens reads how the loss changes with the features in the first layer of gcn "
                "or gat, and this backbone is neither"
            )
        first.register_forward_hook(self._watch)
        train = data.train_mask & (data.y >= 0)
        rows, classes = int(train.sum()), int(data.num_classes)
        width, device = first.weight.shape[1], first.weight.device
        self.register_buffer("predictions", torch.full((rows, classes), 1 / classes))
        self.register_buffer("gradient", torch.zeros(rows, width))
        self.register_buffer("first_weight", torch.zeros_like(first.weight, device=device))
        row_of = torch.full_like(data.y, -1)
        row_of[train] = torch.arange(rows)
        self.register_buffer("row_of", row_of, persistent=False)
        self.rows: Tensor | None = None  # training nodes of the step being taken

    def on_epoch_start(self, epoch: int) -> None:
        """Whether there is something to go by yet."""
        self.warm = epoch >= self.options.warmup

    @torch.no_grad()
    def synthesise(self, batch: Batch) -> Batch:
        """The batch with new rows at its end."""
        self.rows = self.row_of[batch.n_id[batch.mask]]
        self.places = batch.mask.nonzero().squeeze(1)
        source, target = pairs(batch.y, self.places)
        if len(source) == 0:
            return batch
        rowptr, col = _graph(batch)
        degrees = rowptr.diff()
        degree = degrees[source]
        distance = torch.zeros(len(source))
        own, count = torch.ones(len(source)), torch.zeros_like(source)
        if self.warm:
            distance = self._distance(batch.n_id[source], batch.n_id[target])
            own = distance.sigmoid()
            degree = degree.minimum(degrees[torch.randint(len(degrees), (len(source),))])
            most = int(batch.x.shape[1] * self.options.keep)
            count = ((distance / 3).sigmoid() * most).long().clamp(min=min(1, most))
        found = neighbours(*_arrays(rowptr, col, source, target, own, degree), _key())
        edges = torch.stack(
            [
                torch.from_numpy(found),
                (batch.num_nodes + torch.arange(len(source))).repeat_interleave(degree),
            ]
        ).to(batch.edge_index)
        x = self._features(batch, source, target, count)
        origin = source.to(batch.y.device)
        norm = torch.cat([batch.node_norm, batch.node_norm[origin]])
        total = batch.node_norm[batch.mask].sum()
        new = torch.ones_like(origin, dtype=torch.bool)
        weight = batch.edge_weight
        return dataclasses.replace(
            batch,
            x=x,
            edge_index=torch.cat([batch.edge_index, edges], 1),
            edge_weight=weight
            if weight is None
            else torch.cat([weight, weight.new_ones(len(found))]),
            y=torch.cat([batch.y, batch.y[origin]]),
            n_id=torch.cat([batch.n_id, batch.n_id[origin]]),
            seeds=torch.cat([batch.seeds, new]),
            mask=torch.cat([batch.mask, new]),
            node_norm=norm * total / (total + batch.node_norm[origin].sum()),
            env_id=torch.cat([batch.env_id, batch.env_id[origin]]),
            synthesised=batch.synthesised + len(source),
            memo={},
        )

    @torch.no_grad()
    def margins(self, step: Step) -> None:
        """None; the predictions are remembered for the next step."""
        batch, logits = step.batch, step.logits.detach()
        if logits.shape[1] == 1:
            logits = torch.cat([torch.zeros_like(logits), logits], 1)
        near = neighbour_means(logits, batch.edge_index)[self.places]
        self.predictions[self.rows] = (near / self.options.temperature).softmax(1)

    def _watch(self, layer: Linear, _: Any, output: Tensor) -> None:
        """Remember the gradient at the first layer: times its weight, it is the features'."""
        if self.rows is None or not output.requires_grad:
            return
        rows, places = self.rows, self.places

        def remember(gradient: Tensor) -> None:
            self.gradient[rows] = gradient[places]
            self.first_weight.copy_(layer.weight.detach())

        output.register_hook(remember)  # type: ignore[no-untyped-call]

    def _distance(self, source: Tensor, target: Tensor) -> Tensor:
        p, q = (self.predictions[self.row_of[ids]] for ids in (source, target))
        return (p * (p / q).log()).nan_to_num(0).sum(1).clamp(min=0).cpu()

    def _features(self, batch: Batch, source: Tensor, target: Tensor, count: Tensor) -> Tensor:
        """All rows of x, the new ones last."""
        if "csr" not in batch.memo:
            sparse = batch.x.layout == torch.sparse_csr
            batch.memo["csr"] = (batch.x if sparse else batch.x.to_sparse_csr()).cpu()
        x = batch.memo["csr"]
        distinct, row = torch.unique(target, return_inverse=True)
        rows = self.row_of[batch.n_id[distinct.to(batch.n_id.device)]]
        saliency = (self.gradient[rows] @ self.first_weight.T).abs().cpu()
        share = torch.distributions.Beta(2.0, 2.0).sample((len(source),))
        rowptr, col, value = mix(
            *_arrays(x.crow_indices(), x.col_indices(), x.values()),
            *_arrays(source, target, share, saliency, row, count),
            _key(),
        )
        parts = torch.from_numpy(rowptr), torch.from_numpy(col), torch.from_numpy(value)
        new = csr(*parts, (len(source), x.shape[1]))
        if batch.x.layout != torch.sparse_csr:
            return torch.cat([batch.x, new.to_dense().to(batch.x)])
        return _stack(batch.x, new.to(batch.x.device))


def pairs(y: Tensor, training: Tensor) -> tuple[Tensor, Tensor]:
    """Source and target of every new node, as rows, from the ``training`` rows.

    >>> source, target = pairs(torch.tensor([0, 0, 0, 1]), torch.arange(4))
    >>> source.tolist(), bool((target < 3).all())
    ([3, 3], True)
    """
    training = training.cpu()
    labels, order = y.cpu()[training].sort(stable=True)
    training = training[order]
    sizes = labels.bincount()
    lacking = torch.where(sizes > 0, sizes.max() - sizes, 0) if len(labels) else sizes
    total = int(lacking.sum())
    if total == 0 or int(sizes.max()) < 2:
        return training[:0], training[:0]
    start = sizes.cumsum(0) - sizes

    def member(of: Tensor) -> Tensor:
        return training[start[of] + (torch.rand(total) * sizes[of]).long()]

    classes = torch.arange(len(sizes)).repeat_interleave(lacking)
    towards = torch.multinomial(sizes.clamp(min=1).float().log(), total, replacement=True)
    return member(classes), member(towards)


def _graph(batch: Batch) -> tuple[Tensor, Tensor]:
    """CSR of the distinct neighbours with an edge into each row."""
    if "distinct" not in batch.memo:
        source, target = batch.edge_index.cpu()
        edges = (target * batch.num_nodes + source).unique()
        rowptr = torch.zeros(batch.num_nodes + 1, dtype=torch.int64)
        into = edges.div(batch.num_nodes, rounding_mode="floor")
        rowptr[1:] = into.bincount(minlength=batch.num_nodes).cumsum(0)
        batch.memo["distinct"] = rowptr, edges % batch.num_nodes
    graph: tuple[Tensor, Tensor] = batch.memo["distinct"]
    return graph


def _stack(above: Tensor, below: Tensor) -> Tensor:
    """Two CSR matrices, one above the other."""
    rowptr = torch.cat([above.crow_indices(), above.crow_indices()[-1] + below.crow_indices()[1:]])
    col = torch.cat([above.col_indices(), below.col_indices()])
    value = torch.cat([above.values(), below.values()])
    return csr(rowptr, col, value, (len(rowptr) - 1, above.shape[1]))


def _arrays(*tensors: Tensor) -> list[Any]:
    return [tensor.numpy() for tensor in tensors]


def _key() -> np.uint64:
    return np.uint64(int(torch.randint(2**63 - 1, ())))
