"""How strong a shift is: labels and features of each environment and part, beside training's."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from upwind.data.covariate import environments
from upwind.data.sparse import to_scipy
from upwind.data.split import PARTS, Ids, mask_of

COMPONENTS = 5
BINS = 10
MOST = 20_000
"""Nodes of a group whose features are compared; of more, so many by chance."""

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Group:
    """An environment or a part of the split, and how far it is from the training set.

    Attributes:
        name: ``train``, ``env 0``, ..., ``id_val``, ``id_test``, ``val``, ``test``.
        nodes: How many.
        labels: The share of each class.
        along: Its nodes on the principal axis of `Strength`, in training standard deviations.
        label_shift: Total variation between its labels and the training set's.
        feature_shift: The largest Kolmogorov-Smirnov distance, over the leading principal axes,
            between its features and the training set's.
        concept_shift: Total variation between the labels *within a domain* and the training set's
            there, averaged over its nodes; None where no domain is shared.
    """

    name: str
    nodes: int
    labels: list[float]
    along: Vector
    label_shift: float
    feature_shift: float
    concept_shift: float | None


@dataclass(frozen=True)
class Strength:
    """How strong a shift is.

    Attributes:
        groups: ``train``, its environments, and the other parts that there are.
        axis: Which principal axis of the features (from 1) sets the last group, the test set,
            apart most.
    """

    groups: list[Group]
    axis: int


def shift_strength(data: Data) -> Strength:
    """Compare every environment and part of a split with the training set.

    All three distances lie between 0 and 1. Features are compared on 20,000 nodes of a group at
    most. What is sampling noise shows in ``id_test``, which is
    drawn from the training domains: a shift is what goes beyond that.

    >>> from upwind.data import load
    >>> strength = shift_strength(load("cbas", shift="covariate"))
    >>> groups = {group.name: group for group in strength.groups}
    >>> groups["id_test"].feature_shift < 0.2, groups["test"].feature_shift
    (True, 1.0)
    """
    y, train = data.y.numpy(), np.flatnonzero(mask_of(data, "train").numpy())
    domains = _binned(data.domain_id.numpy())
    env_id = data.env_id.numpy()
    members = {"train": train}
    members |= {f"env {env}": train[env_id[train] == env] for env in range(data.num_envs)}
    parts = {part: np.flatnonzero(mask_of(data, part).numpy()) for part in PARTS[1:]}
    members |= {part: nodes for part, nodes in parts.items() if nodes.size}

    seen = {name: _at_most(MOST, nodes) for name, nodes in members.items()}
    rows = np.unique(np.concatenate([*seen.values()]))
    x = data.x[torch.from_numpy(rows)] if data.x.layout == torch.strided else data.x
    axes = principal_axes(to_scipy(x) if x is not data.x else to_scipy(x)[rows])
    place = {name: np.searchsorted(rows, nodes) for name, nodes in seen.items()}
    axes = axes / np.maximum(axes[place["train"]].std(axis=0), 1e-12)
    start, last = place["train"], [*place.values()][-1]
    apart = int(np.argmax([_kolmogorov_smirnov(axis[last], axis[start]) for axis in axes.T]))

    def compare(name: str, nodes: Ids) -> Group:
        labels, known = _shares(y[nodes], data.num_classes), _shares(y[train], data.num_classes)
        return Group(
            name,
            len(nodes),
            labels.tolist(),
            axes[place[name], apart],
            _variation(labels, known),
            max(_kolmogorov_smirnov(axis[place[name]], axis[start]) for axis in axes.T),
            _concept(y, domains, nodes, train, data.num_classes),
        )

    return Strength([compare(*member) for member in members.items()], apart + 1)


def principal_axes(x: sp.csr_array) -> Vector:
    """Every row of x on its leading principal axes, each with the sign that skews it right.

    Sparse features stay sparse: the mean is taken off inside the product.

    >>> principal_axes(sp.csr_array([[0.0, 0.0], [0.0, 0.0], [3.0, 0.0]])).ravel().round(6).tolist()
    [-1.0, -1.0, 2.0]
    """
    x = x.astype(np.float64)
    n, features = x.shape
    mean = np.asarray(x.mean(axis=0)).ravel()
    k = min(COMPONENTS, n - 1, features - 1)
    if not (x.max(axis=0) - x.min(axis=0)).count_nonzero():  # all rows of x are the same
        return np.zeros((n, 1))
    if k < 1:
        return np.asarray(x.toarray() - mean, dtype=np.float64)
    centred = spl.LinearOperator(
        (n, features),
        matvec=lambda v: x @ v.ravel() - mean @ v.ravel(),
        rmatvec=lambda u: x.T @ u.ravel() - mean * u.sum(),
        dtype=np.float64,
    )
    start = np.random.default_rng(0).standard_normal(min(n, features))
    left, size, _ = spl.svds(centred, k=k, v0=start)
    order = np.argsort(-size, kind="stable")
    scores = left[:, order] * size[order]
    # An axis as short as what rounding leaves of nothing is no axis.
    scores = scores[:, size[order] > 1e-9 * np.sqrt(x.power(2).sum())]
    if scores.shape[1] == 0:
        return np.zeros((n, 1))
    skewed_right = np.where((scores**3).sum(axis=0) < 0, -1.0, 1.0)
    return np.asarray(scores * skewed_right)


def _at_most(count: int, nodes: Ids) -> Ids:
    if len(nodes) <= count:
        return nodes
    return np.sort(np.random.default_rng(0).choice(nodes, count, replace=False))


def _binned(domain_id: Ids) -> Ids:
    """At most ten groups of neighbouring domains, of about equal size; -1 stays."""
    bins = np.full(domain_id.shape, -1)
    known = np.flatnonzero(domain_id >= 0)
    order = known[np.argsort(domain_id[known], kind="stable")]
    bins[order] = environments(domain_id[order], at_most=BINS)
    return bins


def _shares(labels: Ids, classes: int) -> Vector:
    return np.bincount(labels[labels >= 0], minlength=classes) / max(len(labels), 1)


def _variation(p: Vector, q: Vector) -> float:
    return float(np.abs(p - q).sum() / 2)


def _kolmogorov_smirnov(a: Vector, b: Vector) -> float:
    both = np.concatenate([a, b])
    a, b = np.sort(a), np.sort(b)
    gap = np.searchsorted(a, both, "right") / len(a) - np.searchsorted(b, both, "right") / len(b)
    return float(np.abs(gap).max())


def _concept(y: Ids, domains: Ids, nodes: Ids, train: Ids, classes: int) -> float | None:
    shared = np.intersect1d(domains[nodes], domains[train])
    total, weight = 0.0, 0
    for domain in shared[shared >= 0]:
        here, there = nodes[domains[nodes] == domain], train[domains[train] == domain]
        total += len(here) * _variation(_shares(y[here], classes), _shares(y[there], classes))
        weight += len(here)
    return total / weight if weight else None
