"""Concept shift: labels are tied to domains, and the tie turns round at test time."""

import contextlib
import copy
import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch_geometric.data import Data

from upwind.data.domains import node_domains
from upwind.data.refusal import BALANCE, called, refuse_empty
from upwind.data.split import PARTS, SEED, Ids, cut_pool, sorted_nodes, with_split
from upwind.errors import InputError


def concept_shift(
    data: Data,
    domain: str | ArrayLike,
    *,
    bias: Sequence[float] = (0.95, 0.95, 0.9, 0.85, 0.5),
    seed: int | random.Random = SEED,
    balance: bool = False,
) -> Data:
    """Tie label to domain, and turn the tie round at test time: p(y | domain) changes.

    Domains in the first half of the sorted nodes lean to labels above the mean, those in the
    second half to labels below it; in the OOD test set it is the other way round, and in the OOD
    validation set neither. Five passes over the nodes that are left take, in this order, training
    environment 0, the OOD test set, environments 1 and 2, and the OOD validation set. A pass takes
    a node on its domain's own side with probability bias, and one on the other side with
    probability 1 - bias. 15 % of the training nodes each become the ID validation and test set.

    Args:
        data: The graph with labels ``y``, taken as numbers; nodes without one (-1) are left out.
        domain: As in `node_domains`.
        bias: How strong the tie is in each of the five passes (0.5 is no tie). The default is the
            benchmark's for Cora.
        seed: A number, or a generator of Python's `random`: for all draws.
        balance: Where one domain holds more than half of the nodes and all would lean to the same
            side, turn at the domain end nearest to half instead. Without it that is an error.

    Returns:
        A copy of the graph with the five masks, ``env_id`` and ``domain_id``.

    >>> import torch
    >>> from torch_geometric.data import Data
    >>> ring = torch.stack([torch.arange(400), (torch.arange(400) + 1) % 400])
    >>> data = Data(edge_index=ring, y=torch.arange(400) % 2, num_nodes=400)
    >>> data = concept_shift(data, domain=torch.arange(400) // 200)
    >>> def share(part, domain):
    ...     return data.y[part & (data.domain_id == domain)].float().mean().item()
    >>> share(data.train_mask, 0) > 0.8, share(data.test_mask, 0) < 0.2
    (True, True)
    """
    domains = node_domains(data, domain)
    nodes = sorted_nodes(data, domains.id, descending=False)
    ids, name = domains.id[nodes], called(domain)
    y = data.y.numpy()[nodes].astype(np.float64)
    if np.unique(y).size < 2:
        raise InputError(
            f"concept shift by {name} ties labels to domains, and the labelled nodes have "
            f"{np.unique(y).size} distinct label; it needs two."
        )
    above = y - y.mean()
    direction = _directions(ids, balance=balance)
    if np.all(direction > 0):
        last = np.bincount(ids)[ids[-1]]
        advice = "give a domain with more values, or more even ones"
        if not balance:
            with contextlib.suppress(InputError):  # what is offered has been tried
                concept_shift(data, domain, bias=bias, seed=copy.deepcopy(seed), balance=True)
                advice = f"use {BALANCE}"
        raise InputError(
            f"concept shift by {name}: domain {domains.names[ids[-1]]} holds {last} of {len(ids)} "
            "nodes, so every domain would lean to the same labels and nothing would shift; "
            f"{advice}."
        )

    rng = seed if isinstance(seed, random.Random) else random.Random(seed)
    passes: list[Ids] = []
    left = np.arange(len(nodes))
    for i, (tie, ratio) in enumerate(zip(bias, (0.4, 0.6, 0.5, 1.0, 1.0), strict=True)):
        pick, draw = _draws(rng, len(left))
        if i == len(bias) - 1:
            taken = left
        else:
            lean = direction[left] if i != 1 else -direction[left]
            taken = _one_pass(left, ids[left], lean * above[left] > 0, pick < ratio, draw, tie)
        passes.append(nodes[taken])
        left = np.setdiff1d(left, taken)

    pool = np.concatenate([passes[0], passes[2], passes[3]])
    size = int(len(pool) * 0.15)
    parts = cut_pool(pool, size, rng)
    parts |= {"test": passes[1], "val": passes[4]}
    env_id = np.full(data.num_nodes, -1)
    for env, members in enumerate((passes[0], passes[2], passes[3])):
        env_id[members] = env
    env_id[np.concatenate([parts["id_val"], parts["id_test"]])] = -1
    what = f"concept shift by {name}: with {len(nodes)} labelled nodes the published five passes"
    advice = "label more nodes, or give a domain with more nodes a value"
    refuse_empty({part: len(parts[part]) for part in PARTS}, what, advice)
    envs = np.bincount(env_id[parts["train"]], minlength=3)
    refuse_empty({f"environment {i}": int(k) for i, k in enumerate(envs)}, what, advice)
    return with_split(data, parts, env_id, shift="concept", domains=domains)


def _directions(ids: Ids, *, balance: bool) -> Ids:
    """+1 for nodes in domains of the first half, -1 for those in the second."""
    n = len(ids)
    starts = np.flatnonzero(np.diff(ids, prepend=-1))
    turned = starts >= n / 2
    if balance and not turned.any() and len(starts) > 1:
        turned = starts >= starts[1:][np.argmin(np.abs(starts[1:] - n / 2))]
    return np.repeat(np.where(turned, -1, 1), np.diff(np.append(starts, n)))


def _draws(rng: random.Random, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    pairs = np.fromiter((rng.random() for _ in range(2 * n)), dtype=np.float64, count=2 * n)
    return pairs[0::2], pairs[1::2]


def _one_pass(
    left: Ids,
    ids: Ids,
    own: NDArray[np.bool_],
    picked: NDArray[np.bool_],
    draw: NDArray[np.float64],
    tie: float,
) -> Ids:
    """The places that one pass takes, domain by domain.

    A domain that has both sides and gave only one also gives the last node of the other.
    """
    taken = picked & np.where(own, draw < tie, draw > tie)
    domains = int(ids.max(initial=-1)) + 1
    extra = []
    for side, other in ((own, ~own), (~own, own)):
        gave = np.bincount(ids[taken & side], minlength=domains) > 0
        lacks = np.bincount(ids[taken & other], minlength=domains) == 0
        last = np.full(domains, -1)
        last[ids[other]] = np.flatnonzero(other)  # the last assignment to a domain stays
        extra.append(last[gave & lacks & (last >= 0)])
    added = np.concatenate(extra)
    chosen = np.concatenate([np.flatnonzero(taken), added])
    # Within its domain the added node comes last: the order decides the later shuffle.
    late = np.concatenate([np.zeros(int(taken.sum())), np.ones(len(added))])
    order: Ids = chosen[np.lexsort((chosen, late, ids[chosen]))]
    return left[order]
