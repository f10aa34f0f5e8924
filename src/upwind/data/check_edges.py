"""What can be wrong with the edges of a graph."""

import numpy as np
from torch_geometric.data import Data

from upwind.data.defects import Defect, Findings, node_name
from upwind.data.split import Ids


def check_edges(data: Data) -> list[Defect]:
    """The defects of ``edge_index`` and ``edge_weight``, in time of a sort of the edges."""
    edges, n = getattr(data, "edge_index", None), data.num_nodes
    if edges is None or edges.dim() != 2 or edges.shape[0] != 2 or edges.is_floating_point():
        seen = "missing" if edges is None else f"of shape {tuple(edges.shape)}, {edges.dtype}"
        advice = "give two rows of node ids"
        return [Defect("edge_index", "error", f"edge_index is {seen}", advice)]
    found = Findings(_check_weights(data))
    source, target = edges.numpy()

    def call(edge: int) -> str:
        ends = (node_name(data, int(end[edge])) for end in (source, target))
        return f"edge {edge}: {' -> '.join(ends)}"

    inside = (source >= 0) & (source < n) & (target >= 0) & (target < n)
    found.each(
        "outside",
        "error",
        np.flatnonzero(~inside),
        f"edges that point outside the {n} nodes",
        "correct the ids or drop them",
        call,
    )
    if not inside.any():
        what, advice = "there are no edges between nodes", "no weight will move from node to node"
        found.append(Defect("no_edges", "warning", what, advice))
        return found

    looped = source == target
    found.each(
        "self_loops",
        "warning",
        np.flatnonzero(looped & inside),
        "self-loops",
        "the flow ignores them",
        call,
    )
    isolated = np.ones(n, dtype=bool)
    for end in (source, target):
        isolated[end[inside & ~looped]] = False
    found.each(
        "isolated",
        "warning",
        np.flatnonzero(isolated),
        "isolated nodes",
        "nothing flows to or from them, so they keep the weight they start with",
        lambda node: f"node {node_name(data, node)}",
    )
    repeated, one_way = _repeated_and_one_way(source, target, np.flatnonzero(inside), n)
    found.each(
        "duplicates",
        "warning",
        repeated,
        "edges that repeat an earlier one",
        "k parallel edges act as one of weight k; drop those not meant so",
        call,
    )
    found.each(
        "directed",
        "warning",
        one_way,
        "edges without their reverse",
        "the flow uses every edge both ways, messages go only the way it points; "
        "add the reverse edges if the graph is meant to be undirected",
        call,
    )
    return found


def _repeated_and_one_way(source: Ids, target: Ids, places: Ids, n: int) -> tuple[Ids, Ids]:
    """Both from one sort, by a key in which an edge and its reverse are neighbours."""
    start, end = source[places], target[places]
    keys = (np.minimum(start, end) * n + np.maximum(start, end)) * 2 + (start > end)
    order = np.argsort(keys, kind="stable")
    keys, places = keys[order], places[order]
    new = np.append(True, keys[1:] != keys[:-1])
    repeated, places, pair = places[~new], places[new], keys[new] // 2
    matched = np.append(False, pair[1:] == pair[:-1])
    matched[:-1] |= matched[1:]
    matched |= source[places] == target[places]
    return np.sort(repeated), np.sort(places[~matched])


def _check_weights(data: Data) -> list[Defect]:
    weights = getattr(data, "edge_weight", None)
    if weights is None:
        return []
    edges = data.edge_index.shape[1]
    if tuple(weights.shape) != (edges,):
        what = f"edge_weight has shape {tuple(weights.shape)}, and there are {edges} edges"
        return [Defect("weight_shape", "error", what, "give one weight an edge")]
    value = weights.numpy()
    found = Findings()
    for code, bad, what in (
        ("negative_weights", value < 0, "negative edge weights"),
        ("nan_weights", ~np.isfinite(value), "NaN or infinite edge weights"),
    ):
        found.each(
            code,
            "error",
            np.flatnonzero(bad),
            what,
            "give finite weights of zero or more",
            lambda edge: f"edge {edge}: {value[edge]:g}",
        )
    return found
