"""Topology-aware margins."""

from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor
from torch.nn.functional import one_hot
from torch_geometric.data import Data

from upwind._options import option
from upwind.methods._classes import class_counts
from upwind.methods._sum import Step, Summand
from upwind.nets import Model

_LEAST = 1e-6  # of a share or a divergence, so that quotients and logarithms exist


@dataclass(frozen=True)
class TAMOptions:
    """The names of the public code; its search space, its defaults."""

    alpha: float = option(2.5, "Strength of the connectivity margin.", grid=(0.25, 0.5, 1.5, 2.5))
    beta: float = option(0.5, "Strength of the distribution margin.", grid=(0.125, 0.25, 0.5))
    phi: float = option(1.2, "Sharpness of the model's predictions as labels.", grid=(0.8, 1.2))
    gamma: float = option(0.4, "How much sharper they are for frequent classes.")
    warmup: int = option(5, "Epochs without margins.")


@final
class TAM(Summand):
    r"""A node in a neighbourhood unlike its class's is asked for less (Song et al., ICML 2022).

    With D_v the mean label of v and its neighbours (predictions where there is no label), M_c
    its mean over class c, y the class of v, and J the Jensen-Shannon divergence,

        m_vc = alpha log min(1, (D_vy / M_yy) (M_yc / D_vc))
             - beta (J(D_v, M_y)^2 + J(M_y, M_c)^2 - J(D_v, M_c)^2) / (2 J(M_y, M_c)^2)

    and m_vy = 0. Predictions are softmax(t_c z_c) with t_c = phi (1 + r_c - max r) and
    r_c = gamma n_c / n + 1 - gamma. It adds up with a loss that knows the class sizes; alone,
    as in the paper's ablation, it does not know them.
    """

    name: ClassVar[str] = "tam"
    Options: ClassVar[type] = TAMOptions
    uses: ClassVar[frozenset[str]] = frozenset({"unlabelled inputs"})

    sharpness: Tensor

    def on_start(self, model: Model, data: Data) -> None:  # noqa: ARG002
        """The temperatures of the classes."""
        counts = class_counts(data)
        gamma = self.options.gamma
        share = gamma * counts / counts.sum() + 1 - gamma
        sharpness = self.options.phi * (1 + share - share.max())
        self.register_buffer("sharpness", sharpness, persistent=False)
        self.warm = False

    def on_epoch_start(self, epoch: int) -> None:
        """The model's first predictions are no labels."""
        self.warm = epoch >= self.options.warmup

    @torch.no_grad()
    def margins(self, step: Step) -> Tensor | None:
        """Of each training row."""
        if not self.warm:
            return None
        batch, logits = step.batch, step.logits.detach()
        if logits.shape[1] == 1:
            logits = torch.cat([torch.zeros_like(logits), logits], 1)
        labels = (self.sharpness * logits).softmax(1)
        y = batch.y[batch.mask]
        labels[batch.mask] = one_hot(y, labels.shape[1]).to(labels)
        near = neighbour_means(labels, batch.edge_index)[batch.mask]
        own = self.options.alpha * connectivity(near, y).log()
        margins: Tensor = own - self.options.beta * distribution(near, y)
        return margins


def neighbour_means(values: Tensor, edge_index: Tensor) -> Tensor:
    """Mean over each node and those with an edge to it.

    >>> neighbour_means(torch.tensor([[0.0], [1.0]]), torch.tensor([[0], [1]])).tolist()
    [[0.0], [0.5]]
    """
    source, target = edge_index
    heard = 1 + target.bincount(minlength=len(values))
    means: Tensor = values.index_add(0, target, values[source]) / heard.unsqueeze(1)
    return means


def class_means(near: Tensor, y: Tensor) -> Tensor:
    """M: the mean row of each class, ``[classes, classes]``; zero without examples."""
    classes = near.shape[1]
    total = near.new_zeros(classes, classes).index_add_(0, y, near)
    return total / y.bincount(minlength=classes).clamp(min=1).unsqueeze(1)


def connectivity(near: Tensor, y: Tensor) -> Tensor:
    """ACM: at most one, and lower the more often v sees c, and the less often y, than others."""
    mean = class_means(near, y).clamp(min=_LEAST)
    near = near.clamp(min=_LEAST)
    own = near.gather(1, y[:, None]) / mean.diagonal()[y, None]
    return (own * mean[y] / near).clamp(max=1).scatter(1, y[:, None], 1.0)


def distribution(near: Tensor, y: Tensor) -> Tensor:
    """ADM: where v projects to on the way from the mean of its class (0) to that of c (1)."""
    mean = class_means(near, y).clamp(min=_LEAST)
    near = near.clamp(min=_LEAST)
    between = divergence(mean[:, None], mean[None]).clamp(min=_LEAST)[y].square()
    towards = divergence(near[:, None], mean[None]).square()
    own = towards.gather(1, y[:, None])
    return ((own + between - towards) / (2 * between)).scatter(1, y[:, None], 0.0)


def divergence(p: Tensor, q: Tensor) -> Tensor:
    """Jensen-Shannon, over the last dimension.

    >>> divergence(torch.tensor([1.0, 1e-9]), torch.tensor([1e-9, 1.0])).item()
    0.6931471824645996
    """
    middle = (p + q) / 2
    return (p * (p / middle).log() + q * (q / middle).log()).sum(-1) / 2
