"""The five parts of a split, and writing them into a graph as masks."""

import copy
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from upwind.errors import InputError

PARTS = ("train", "id_val", "id_test", "val", "test")
"""Training; validation and test from the training domains; validation and test from elsewhere."""

SEED = 123
"""The seed under which the public benchmark made its splits."""

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Domains:
    """Which domain each node is in, and what the domains are called, in their sorted order."""

    id: Ids
    names: list[str]


def mask_of(data: Data, part: str) -> torch.Tensor:
    """The mask of one part of the split, all false where the graph has none.

    >>> from torch_geometric.data import Data
    >>> mask_of(Data(num_nodes=2, val_mask=torch.tensor([True, False])), "val").tolist()
    [True, False]
    >>> mask_of(Data(num_nodes=2), "test").tolist()
    [False, False]
    """
    mask = getattr(data, f"{part}_mask", None)
    return torch.zeros(data.num_nodes, dtype=torch.bool) if mask is None else mask.bool()


def part_sizes(data: Data) -> dict[str, int]:
    """How many nodes each part has.

    >>> from torch_geometric.data import Data
    >>> part_sizes(Data(num_nodes=3, train_mask=torch.tensor([True, True, False])))
    {'train': 2, 'id_val': 0, 'id_test': 0, 'val': 0, 'test': 0}
    """
    return {part: int(mask_of(data, part).sum()) for part in PARTS}


def labelled_nodes(data: Data) -> Ids:
    """The nodes that can be trained and scored on: those with a label."""
    if getattr(data, "y", None) is None:
        return np.arange(data.num_nodes)
    return np.flatnonzero(data.y.numpy() >= 0)


def sorted_nodes(data: Data, domain_id: Ids, descending: bool) -> Ids:
    """The labelled nodes by domain; within a domain by id."""
    nodes = labelled_nodes(data)
    order = nodes[np.argsort(domain_id[nodes], kind="stable")]
    return order[::-1].copy() if descending else order


def renumbered(env_id: Ids) -> Ids:
    """The same environments, numbered without gaps, so that none is empty."""
    present = np.unique(env_id[env_id >= 0])
    numbers = np.full(env_id.shape, -1)
    numbers[env_id >= 0] = np.searchsorted(present, env_id[env_id >= 0])
    return numbers


def with_split(
    data: Data,
    parts: Mapping[str, Ids],
    env_id: Ids,
    *,
    shift: str,
    domains: Domains | None = None,
) -> Data:
    """A copy of the graph (tensors shared) that carries this split."""
    split = copy.copy(data)
    for part in PARTS:
        mask = torch.zeros(data.num_nodes, dtype=torch.bool)
        mask[torch.from_numpy(np.asarray(parts.get(part, []), dtype=np.int64))] = True
        split[f"{part}_mask"] = mask
    split.env_id = torch.from_numpy(env_id)
    split.num_envs = int(np.unique(env_id[parts["train"]][env_id[parts["train"]] >= 0]).size)
    domains = domains or Domains(np.full(data.num_nodes, -1), [])
    split.domain_id = torch.from_numpy(domains.id)
    split.domain_names = domains.names
    split.shift = shift
    return split


def cut_pool(pool: Ids, size: int, rng: random.Random) -> dict[str, Ids]:
    """Shuffle the nodes of the training domains; the last two slices of `size` become ID parts."""
    places = list(range(len(pool)))
    rng.shuffle(places)  # in Python, element by element: the benchmark's draws are this method's
    shuffled = pool[places]
    kept = len(pool) - 2 * size
    return {
        "train": shuffled[:kept],
        "id_val": shuffled[kept : kept + size],
        "id_test": shuffled[kept + size :],
    }


def random_split(data: Data, *, seed: int = SEED, domains: Domains | None = None) -> Data:
    """No shift at all: 60 % of the labelled nodes to train, 20 % to validate, 20 % to test.

    The yardstick for the shifts. As in the public benchmark the training nodes get one of nine
    environments by chance, so that methods that need environments run here too.

    >>> from torch_geometric.data import Data
    >>> ring = torch.stack([torch.arange(10), (torch.arange(10) + 1) % 10])
    >>> data = random_split(Data(edge_index=ring, y=torch.arange(10) % 2, num_nodes=10))
    >>> part_sizes(data)
    {'train': 6, 'id_val': 0, 'id_test': 0, 'val': 2, 'test': 2}
    """
    nodes = labelled_nodes(data)
    if len(nodes) < 5:
        raise InputError(
            f"a random split needs at least 5 labelled nodes, and the graph has {len(nodes)}; "
            "label more of them."
        )
    draws = torch.Generator().manual_seed(seed)
    shuffled = nodes[torch.randperm(len(nodes), generator=draws).numpy()]
    first, second = int(len(nodes) * 0.6), int(len(nodes) * 0.8)
    parts: dict[str, Any] = {
        "train": shuffled[:first],
        "val": shuffled[first:second],
        "test": shuffled[second:],
    }
    env_id = np.full(data.num_nodes, -1)
    env_id[parts["train"]] = torch.randint(0, 9, (first,), generator=draws).numpy()
    return with_split(data, parts, renumbered(env_id), shift="none", domains=domains)
