"""Long-tailed training sets: rare classes lose the nodes that hold the graph together least."""

import numpy as np
import torch
from torch_geometric.data import Data

from upwind.data.split import Ids, mask_of, with_split
from upwind.errors import InputError

ROUNDS = 10


def long_tail(data: Data, *, ratio: float = 100.0) -> Data:
    """Thin out the training classes so that their sizes fall geometrically by `ratio`.

    The class of rank r, from frequent to rare, keeps n_max * ratio^(-r / (C - 1)) training nodes,
    rounded down, and no more than it has. Its surplus goes in ten rounds: the nodes of lowest
    in-degree in the graph that is left, and among equal degrees those of lowest id, which is what
    makes the set the same on every machine. A node that goes loses all its edges and its place in
    the training set; it stays as an isolated node, so ids do not change.

    Args:
        data: A graph with labels and a ``train_mask``; validation and test are not touched.
        ratio: Size of the most frequent class over that of the rarest.

    Returns:
        A copy with the thinned ``train_mask`` and ``edge_index``, and ``kept_nodes``, a mask.

    >>> ring = torch.stack([torch.arange(40), (torch.arange(40) + 1) % 40])
    >>> y = torch.tensor([0] * 20 + [1] * 20)
    >>> data = Data(edge_index=ring, y=y, train_mask=torch.ones(40, dtype=torch.bool), num_nodes=40)
    >>> long_tail(data, ratio=10).y[long_tail(data, ratio=10).train_mask].bincount().tolist()
    [20, 2]
    """
    if not ratio >= 1:
        raise InputError(f"the imbalance ratio is {ratio:g}; give one of at least 1.")
    y, train = data.y.numpy(), mask_of(data, "train").numpy()
    if (y[train] < 0).any() or not train.any():
        raise InputError("a long tail needs a training set in which every node has a label.")
    sizes = np.bincount(y[train])
    goals = long_tail_sizes(sizes, ratio)

    source, target = data.edge_index.numpy()
    kept = np.ones(data.num_nodes, dtype=bool)
    for c in np.argsort(-sizes, kind="stable")[1:]:
        members = np.flatnonzero(train & (y == c))
        surplus = int(sizes[c] - goals[c])
        for goal in surplus * np.arange(1, ROUNDS + 1) // ROUNDS:
            alive = members[kept[members]]
            degree = np.bincount(target[kept[source] & kept[target]], minlength=data.num_nodes)
            lowest = np.argsort(degree[alive], kind="stable")
            kept[alive[lowest[: goal - (len(members) - len(alive))]]] = False

    parts = {part: np.flatnonzero(mask_of(data, part).numpy()) for part in ("val", "test")}
    parts["train"] = np.flatnonzero(train & kept)
    thinned = with_split(data, parts, np.full(data.num_nodes, -1), shift="long_tail")
    thinned.kept_nodes = torch.from_numpy(kept)
    edges = torch.from_numpy(kept[source] & kept[target])
    thinned.edge_index = data.edge_index[:, edges]
    if getattr(data, "edge_weight", None) is not None:
        thinned.edge_weight = data.edge_weight[edges]
    return thinned


def long_tail_sizes(sizes: Ids, ratio: float) -> Ids:
    """How many training nodes each class keeps.

    >>> long_tail_sizes(np.array([50, 1000, 300]), ratio=100).tolist()
    [10, 1000, 100]
    """
    if len(sizes) < 2 or sizes.min() == 0:
        raise InputError(
            f"a long tail needs two classes or more, each with training nodes; they have "
            f"{sizes.tolist()}."
        )
    order = np.argsort(-sizes, kind="stable")
    # The power of the per-rank factor, in this order of operations, decides the rounding.
    factor = np.power(1 / ratio, 1 / (len(sizes) - 1))
    goals = np.empty_like(sizes)
    goals[order] = (sizes.max() * np.power(factor, np.arange(len(sizes)))).astype(np.int64)
    if goals.min() < 1:
        raise InputError(
            f"at ratio {ratio:g} the rarest class would keep no node, as the largest has "
            f"{sizes.max()}; give a ratio of at most {sizes.max()}."
        )
    return np.minimum(goals, sizes)
