"""How far the flow reaches with the paper's settings, on its data sets."""

import warnings
from dataclasses import dataclass

import torch
from torch_geometric.data import Data

from upwind.errors import InputWarning
from upwind.flow import Graph, Reach, gradient_flow, reach
from upwind.methods.tar import TAR

STEPS_AN_EPOCH = 10
"""Training steps of an epoch in the public benchmark."""


@dataclass(frozen=True)
class Setting:
    """A row of the paper's settings table."""

    data: str
    shift: str
    tau: float
    steps: int
    beta: float
    epochs: int


PAPER = [
    Setting(data, shift, epochs=epochs, **TAR.published[f"{data}/{shift}"])
    for data, epochs in (("webkb", 100), ("cbas", 200))
    for shift in ("concept", "covariate")
]


@dataclass(frozen=True)
class Guard:
    """What one flow moves, and what a training moves that never starts again."""

    setting: Setting
    one_flow: Reach
    whole_training: Reach


def graph_of(data: Data) -> Graph:
    """The data's graph, undirected."""
    with warnings.catch_warnings():
        # That directed edges carry weight both ways is what the documentation says of TAR.
        warnings.simplefilter("ignore", InputWarning)
        return Graph.from_edge_index(data.edge_index, int(data.num_nodes))


def guard(data: Data, setting: Setting, seed: int) -> Guard:
    """Let losses of an untrained model's size flow, once and for a whole training.

    Labelled training nodes have losses drawn from an exponential distribution with mean log(number
    of classes); the others have the mean of those, as in the paper. For the whole training the
    losses stay as they are, so what it moves is an upper estimate.
    """
    graph = graph_of(data)
    random = torch.Generator().manual_seed(seed)
    drawn = torch.empty(graph.num_nodes, dtype=torch.float64).exponential_(generator=random)
    labeled = data.train_mask & (data.y >= 0)
    drawn *= torch.tensor(float(data.num_classes)).log()
    losses = torch.where(labeled, drawn, drawn[labeled].mean())
    start = torch.full_like(losses, 1 / graph.num_nodes)
    found = []
    for flows in (1, STEPS_AN_EPOCH * setting.epochs):
        steps = flows * setting.steps
        flow = gradient_flow(graph, losses, steps=steps, tau=setting.tau, beta=setting.beta)
        found.append(reach(graph, start, flow.weights))
    return Guard(setting, *found)
