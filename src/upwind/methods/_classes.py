"""How many training nodes each class has, and weights made of that."""

from abc import abstractmethod

import torch
from torch import Tensor
from torch_geometric.data import Data

from upwind.methods._sum import Step, Summand
from upwind.nets import Model


def class_counts(data: Data) -> Tensor:
    """Labelled training nodes per class; a class without any counts as one.

    >>> y, mask = torch.tensor([0, 0, 2, -1]), torch.tensor([True, True, True, True])
    >>> class_counts(Data(y=y, train_mask=mask, num_classes=3)).tolist()
    [2.0, 1.0, 1.0]
    """
    return _counts(data.y[data.train_mask & (data.y >= 0)], int(data.num_classes))


def counts_of(step: Step, of_data: Tensor) -> Tensor:
    """Those of the training set, or with what was synthesised for this step.

    A class that was filled up is rare no more: to weigh it up as well would count it twice.
    """
    if not step.batch.synthesised:
        return of_data
    return _counts(step.batch.y[step.batch.mask], len(of_data))


def _counts(y: Tensor, num_classes: int) -> Tensor:
    counts: Tensor = y.bincount(minlength=num_classes).float().clamp(min=1)
    return counts


def by_class(data: Data, class_weight: Tensor) -> tuple[Tensor, Tensor]:
    """These weights with mean one over the training nodes: per class, and per node.

    A node that is not in training weighs one.
    """
    train = data.train_mask & (data.y >= 0)
    scaled = class_weight / class_weight[data.y[train]].mean()
    per_node = torch.ones(len(train))
    per_node[train] = scaled[data.y[train]]
    return scaled, per_node


class ClassWeights(Summand):
    """Weights that are a function of the class alone."""

    counts: Tensor
    per_class: Tensor
    per_node: Tensor

    @abstractmethod
    def of_counts(self, counts: Tensor) -> Tensor:
        """What each class weighs, up to a factor."""

    def on_start(self, model: Model, data: Data) -> None:  # noqa: ARG002
        """Count the classes."""
        counts = class_counts(data)
        per_class, per_node = by_class(data, self.of_counts(counts))
        self.register_buffer("counts", counts, persistent=False)
        self.register_buffer("per_class", per_class, persistent=False)
        self.register_buffer("per_node", per_node, persistent=False)

    def weights(self, step: Step, losses: Tensor) -> Tensor:  # noqa: ARG002
        """By the label of each row."""
        y = step.batch.y[step.batch.mask]
        if not step.batch.synthesised:
            return self.per_class[y]
        weights = self.of_counts(counts_of(step, self.counts))[y]
        return weights / weights.mean()

    def node_weights(self) -> Tensor:
        """Of every node of the graph."""
        return self.per_node
