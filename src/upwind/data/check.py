"""Everything that can be wrong with a graph, found before training and listed at once."""

import numpy as np
import torch
from torch_geometric.data import Data

from upwind.data.check_edges import check_edges
from upwind.data.check_split import check_split
from upwind.data.defects import Defect, Findings, node_name


def check(data: Data, *, training: bool = True) -> list[Defect]:
    """List every defect of a graph.

    Args:
        data: The graph, with whatever it has of ``x, edge_index, edge_weight, y``, the five masks
            and ``env_id``; ``label_names`` says how many classes there are, if it is there.
        training: Whether the graph is to be trained on, or only predicted for: then labels and
            masks may be missing.

    >>> edges = torch.tensor([[0, 1, 7], [1, 0, 0]])
    >>> data = Data(x=torch.tensor([[1.0], [float("nan")]]), edge_index=edges)
    >>> for defect in check(data, training=False):
    ...     print(defect)
    error: nodes with a NaN or infinite feature: 1 (node 1); fill such values in or drop the nodes.
    error: edges that point outside the 2 nodes: 1 (edge 2: 7 -> 0); correct the ids or drop them.
    """
    found = check_graph(data)
    return found + check_split(data) if training and data.num_nodes else found


def check_graph(data: Data) -> list[Defect]:
    """The defects of features, edges and labels."""
    if data.num_nodes == 0:
        return [Defect("empty_graph", "error", "the graph has no nodes", "give one that has")]
    return [
        *_check_features(data),
        *check_edges(data),
        *_check_labels(data),
        *_check_groups(data),
        *_check_names(data),
    ]


def _check_features(data: Data) -> list[Defect]:
    x = getattr(data, "x", None)
    if x is None or x.dim() != 2 or x.shape[0] != data.num_nodes or x.shape[1] == 0:
        seen = "is missing" if x is None else f"has shape {tuple(x.shape)}"
        what = f"the feature matrix x {seen}, and there are {data.num_nodes} nodes"
        return [Defect("features", "error", what, "give it a row a node and a column or more")]
    if x.layout == torch.strided:
        # NaN and infinity both survive a sum, so no second matrix of truths is needed.
        rows = np.flatnonzero(~np.isfinite(x.sum(dim=1, dtype=torch.float64).numpy()))
    else:
        broken = np.flatnonzero(~torch.isfinite(x.values()).numpy())
        rows = np.unique(np.searchsorted(x.crow_indices().numpy(), broken, "right") - 1)
    found = Findings()
    found.each(
        "nan_features",
        "error",
        rows,
        "nodes with a NaN or infinite feature",
        "fill such values in or drop the nodes",
        lambda node: f"node {node_name(data, node)}",
    )
    return found


def _check_labels(data: Data) -> list[Defect]:
    y = getattr(data, "y", None)
    if y is None:
        return []
    if tuple(y.shape) != (data.num_nodes,) or y.is_floating_point():
        what = f"y has shape {tuple(y.shape)} and type {y.dtype}, with {data.num_nodes} nodes"
        advice = "give one whole number a node, -1 where there is no label"
        return [Defect("label_shape", "error", what, advice)]
    label_names = getattr(data, "label_names", None)
    # Without a list of classes: at least there cannot be more of them than nodes.
    classes = len(label_names) if label_names else data.num_nodes
    labels = y.numpy()
    found = Findings()
    found.each(
        "label_range",
        "error",
        np.flatnonzero((labels < -1) | (labels >= classes)),
        "labels out of range",
        f"number the classes from 0, at most to {classes - 1}, and use -1 for a missing label",
        lambda node: f"node {node_name(data, node)}: {labels[node]}",
    )
    return found


def _check_groups(data: Data) -> list[Defect]:
    """Environments and domains: one number a node, and no more domains than there can be."""
    names = getattr(data, "domain_names", None)
    most = len(names) if names else data.num_nodes
    return [*_check_group(data, "env_id", None), *_check_group(data, "domain_id", most)]


def _check_group(data: Data, name: str, most: int | None) -> list[Defect]:
    groups = getattr(data, name, None)
    if groups is None:
        return []
    if tuple(groups.shape) != (data.num_nodes,):
        what = f"{name} has shape {tuple(groups.shape)}, and there are {data.num_nodes} nodes"
        advice = "give one whole number a node, -1 where there is none"
        return [Defect("group_shape", "error", what, advice)]
    ids = groups.numpy()
    outside = ids < -1 if most is None else (ids < -1) | (ids >= most)
    found = Findings()
    found.each(
        "group_range",
        "error",
        np.flatnonzero(outside),
        f"values of {name} out of range",
        "number from 0, and use -1 where there is none",
        lambda node: f"node {node_name(data, node)}: {ids[node]}",
    )
    return found


def _check_names(data: Data) -> list[Defect]:
    """The names of nodes and classes, with which predictions are written down."""
    found = Findings()
    names = getattr(data, "node_names", None) or []
    if names and len(names) != data.num_nodes:
        what = f"node_names has {len(names)} names, and there are {data.num_nodes} nodes"
        found.append(Defect("node_names", "error", what, "give every node one, or none at all"))
    labels = getattr(data, "label_names", None) or []
    twins = sorted({name for name in labels if labels.count(name) > 1})
    found.each(
        "label_names",
        "error",
        np.arange(len(twins)),
        "names that several classes have",
        "give every class a name of its own",
        lambda place: twins[place],
    )
    return found
