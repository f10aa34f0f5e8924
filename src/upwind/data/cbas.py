"""CBAS: a generated graph of houses on a Barabasi-Albert base, and colours that mislead.

Everything is drawn here, nothing is downloaded. NumPy and torch draw the graph, Python's `random`
the split and the colours, each from the same seed, in the order in which PyG's ``BAShapes`` and
the public benchmark draw them, so that seed 123 gives the benchmark's own graph and node sets.
"""

import random

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from upwind.data.split import SEED, Domains, Ids, cut_pool, with_split

BASE, HOUSES, LINKS = 300, 80, 5

# Walls 0-1-2-3, roof 4 on 0 and 1; the label says where in the house a node is.
HOUSE = ((0, 1), (0, 3), (0, 4), (1, 2), (1, 4), (2, 3))
HOUSE_LABELS = (1, 1, 2, 2, 3)

COVARIATE_COLOURS: tuple[tuple[float, ...], ...] = (
    (1, 0, 0, 0.5),
    (0, 1, 0, 0.7),
    (0, 0, 1, 0.3),
    (1, 1, 0, 0.4),
    (0, 1, 1, 0.6),
    (1, 0, 1, 1),
    (0, 0, 0, 0.1),
)
CONCEPT_COLOURS = ((1, 0, 0, 0.5), (0, 1, 0, 0.7), (0, 0, 1, 0.3), (1, 1, 0, 0.2))
COLOUR_IS_LABEL = (0.95, 0.9, 0.85, 0.8, 0.75, 0.3, 0.0)  # five environments, validation, test


def cbas(shift: str, seed: int = SEED) -> Data:
    """The graph with the colours and the split of this shift: covariate, concept or none.

    >>> data = cbas("covariate")
    >>> data.x.shape, data.edge_index.shape, int(data.train_mask.sum())
    (torch.Size([700, 4]), torch.Size([2, 3962]), 420)
    """
    data = _houses(seed)
    rng = random.Random(seed)
    order = list(range(data.num_nodes))
    rng.shuffle(order)
    nodes = np.array(order)
    n = len(nodes)
    train, val = (0.8, 0.9) if shift == "covariate" else (0.6, 0.8)
    first, second = int(n * train), int(n * val)
    groups = [*np.split(nodes[:first], 5), nodes[first:second], nodes[second:]]
    env_id = np.empty(n, dtype=np.int64)
    for env, members in enumerate(groups):
        env_id[members] = env
    parts: dict[str, Ids] = {"val": groups[5], "test": groups[6]}

    if shift == "none":
        env_id[env_id > 4] = -1
        data.x = torch.ones(n, 4)
        return with_split(data, parts | {"train": nodes[:first]}, env_id, shift=shift)
    if shift == "covariate":
        colour, table = env_id, COVARIATE_COLOURS
    else:
        rng.shuffle(list(range(int(n * 0.8))))  # the benchmark has drawn its covariate split here
        colour, table = _misleading(data.y.numpy(), groups, rng), CONCEPT_COLOURS
    data.x = torch.tensor(table, dtype=torch.float32)[torch.from_numpy(colour)]
    size = int(n * 0.1) if shift == "covariate" else int(n * 0.2)
    parts |= cut_pool(nodes[:first], size, rng)
    domains = Domains(colour, [f"colour {i}" for i in range(len(table))])
    return with_split(data, parts, env_id, shift=shift, domains=domains)


def _misleading(y: NDArray[np.int64], groups: list[Ids], rng: random.Random) -> Ids:
    """The label as a colour, or another colour by chance: ever more often the latter."""
    colour = np.empty(len(y), dtype=np.int64)
    for tie, members in zip(COLOUR_IS_LABEL, groups, strict=True):
        for node in members:
            other = rng.randint(0, 3)
            colour[node] = y[node] if rng.random() < tie else other
    return colour


def _houses(seed: int) -> Data:
    """80 houses of five nodes, each hung on a node of a graph grown by preferential attachment."""
    numpy_draws = np.random.RandomState(seed)
    torch_draws = torch.Generator().manual_seed(seed)
    row = np.concatenate([np.arange(LINKS), np.repeat(np.arange(LINKS, BASE), LINKS)])
    column = torch.randperm(LINKS, generator=torch_draws).numpy()
    for _ in range(LINKS, BASE):
        # The new node is among its own targets, with its full degree: loops, dropped below.
        seen = np.concatenate([row[: len(column) + LINKS], column])
        column = np.concatenate([column, numpy_draws.choice(seen, LINKS)])
    base = np.stack([row, column])
    first = BASE + 5 * np.arange(HOUSES)
    house = (np.array(HOUSE).T[:, None, :] + first[None, :, None]).reshape(2, -1)
    hung = np.stack([torch.randperm(BASE, generator=torch_draws).numpy()[:HOUSES], first])
    pairs = np.concatenate([base[:, base[0] != base[1]], house, hung], axis=1)
    edges = np.unique(np.concatenate([pairs, pairs[::-1]], axis=1), axis=1)
    y = np.concatenate([np.zeros(BASE, dtype=np.int64), np.tile(HOUSE_LABELS, HOUSES)])
    return Data(edge_index=torch.from_numpy(edges), y=torch.from_numpy(y), num_nodes=len(y))
