"""Covariate shift: train on some domains, meet others at test time."""

import random
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from torch_geometric.data import Data

from upwind.data.domains import node_domains
from upwind.data.refusal import BALANCE, called, count_domains, refuse_empty
from upwind.data.split import SEED, Ids, cut_pool, sorted_nodes, with_split
from upwind.errors import InputError


def covariate_shift(
    data: Data,
    domain: str | ArrayLike,
    *,
    seed: int | random.Random = SEED,
    descending: bool = False,
    balance: bool = False,
) -> Data:
    """Train on some domains, validate and test on others: p(x) changes, p(y | x) need not.

    Labelled nodes are sorted by domain and cut at the first domain ends past 60 % and past 80 %,
    so the three parts share no domain. Of the first part, 10 % of all nodes each become the ID
    validation and ID test set; the rest is cut, again at domain ends, into at most ten
    environments of about equal size.

    Args:
        data: The graph; needs ``edge_index``, and ``y`` if some labels are missing (-1).
        domain: As in `node_domains`: an attribute's name, ``"degree"``, ``"word"``,
            ``"pagerank"``, or one value a node.
        seed: A number, or a generator of Python's `random`: for the ID parts.
        descending: Train on the largest values instead of the smallest.
        balance: Where the published cuts leave a part empty, cut at the domain ends *nearest* to
            60 % and 80 % instead; if only one domain is left for validation and test, each gets
            half of it, and no ID part takes more than a sixth of the first part. Without it an
            empty part is an error.

    Returns:
        A copy of the graph with the five masks, ``env_id`` and ``domain_id``.

    >>> import torch
    >>> from torch_geometric.data import Data
    >>> ring = torch.stack([torch.arange(100), (torch.arange(100) + 1) % 100])
    >>> data = Data(edge_index=ring, y=torch.arange(100) % 2, num_nodes=100)
    >>> data = covariate_shift(data, domain=[i // 10 for i in range(100)])
    >>> [int(data[f"{part}_mask"].sum()) for part in ("train", "id_val", "id_test", "val", "test")]
    [40, 10, 10, 20, 20]
    >>> data.num_envs
    6
    """
    domains = node_domains(data, domain)
    nodes = sorted_nodes(data, domains.id, descending)
    cuts = covariate_cuts(domains.id[nodes], balance=balance)
    name = called(domain)
    advice = "give a domain with more values"
    better = covariate_cuts(domains.id[nodes], balance=True)
    if not balance and 6 <= better.first < better.second < len(nodes) and len(nodes) >= 10:
        advice = f"{BALANCE} takes the nearest domain ends and not the next, or {advice}"
    refuse_empty(
        {"train": cuts.first, "val": cuts.second - cuts.first, "test": len(nodes) - cuts.second},
        f"covariate shift by {name}: cuts at 60 % and 80 % of {len(nodes)} labelled nodes, moved "
        f"to domain ends ({count_domains(domains.id[nodes])}),",
        advice,
    )
    rng = seed if isinstance(seed, random.Random) else random.Random(seed)
    size = int(len(nodes) * 0.1)
    if balance:  # a training part that came out short gives no more than a third of itself
        size = min(size, cuts.first // 6)
    if size == 0 or cuts.first <= 2 * size:
        raise InputError(
            f"covariate shift by {name}: {cuts.first} of {len(nodes)} labelled nodes are left for "
            "training, too few to take two ID parts of a tenth of all nodes from; "
            "label more nodes or give another domain."
        )
    parts = cut_pool(nodes[: cuts.first], size, rng)
    parts |= {"val": nodes[cuts.first : cuts.second], "test": nodes[cuts.second :]}

    train = nodes[np.isin(nodes, parts["train"])]
    env_id = np.full(data.num_nodes, -1)
    env_id[train] = environments(domains.id[train], at_most=10)
    return with_split(data, parts, env_id, shift="covariate", domains=domains)


@dataclass(frozen=True)
class Cuts:
    """Where the sorted nodes are cut: training before `first`, test from `second`."""

    first: int
    second: int


def covariate_cuts(sorted_ids: Ids, *, balance: bool) -> Cuts:
    """The two cuts of the covariate split among nodes sorted by domain.

    >>> covariate_cuts(np.repeat([0, 1, 2, 3], [5, 2, 2, 1]), balance=False)
    Cuts(first=7, second=9)
    >>> covariate_cuts(np.repeat([0, 1, 2], [3, 3, 4]), balance=False)  # nobody left to test on
    Cuts(first=6, second=10)
    >>> covariate_cuts(np.repeat([0, 1, 2], [3, 3, 4]), balance=True)
    Cuts(first=6, second=8)
    """
    n = len(sorted_ids)
    ends = np.append(np.flatnonzero(np.diff(sorted_ids)) + 1, n)
    marks = int(n * 0.6), int(n * 0.8)
    first = int(ends[ends >= marks[0]][0])
    later = ends[(ends >= marks[1]) & (ends > first)]
    second = int(later[0]) if later.size else n
    if not balance or second < n or len(ends) == 1:
        return Cuts(first, second)
    inner = ends[:-1]
    first = int(inner[np.argmin(np.abs(inner - marks[0]))])
    later = inner[inner > first]
    second = int(later[np.argmin(np.abs(later - marks[1]))]) if later.size else (first + n) // 2
    return Cuts(first, second)


def environments(ids: Ids, at_most: int) -> Ids:
    """Consecutive environments of about equal size that end where a domain ends."""
    size = len(ids) // at_most
    env = np.empty(len(ids), dtype=np.int64)
    starts = np.append(np.flatnonzero(np.diff(ids, prepend=-1)), len(ids))
    current = -1
    for start, end in pairwise(starts):
        if current < at_most - 1 and start >= (current + 1) * size:
            current += 1
        env[start:end] = current
    return env
