"""The graph with the weight of every node over the epochs, packed for the page to draw."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from upwind.data import PARTS
from upwind.errors import InputError, RunError
from upwind.report.layout import force_layout
from upwind.report.records import Finished, Floats, trace
from upwind.runs import Comparison
from upwind.runs.record import facts
from upwind.train import load_data

_MOST_EDGES = 15_000  # more make the picture no clearer
_BEYOND = 0.002  # share of the weights that are drawn like the end of the scale
_HALF = 127  # a weight is a byte: 0 is the low end of the scale, 127 the mean, 254 the high end


def picture(
    comparison: Comparison, methods: Sequence[Finished], data: Data | None
) -> dict[str, Any] | str:
    """What the page draws, or why there is nothing to draw.

    The records hold weights, not the graph: that is loaded again unless the caller has it, and
    must have the fingerprint that the runs had.
    """
    traces = {method.slot: _mean_trace(method) for method in methods}
    known = {slot: found for slot, found in traces.items() if found is not None}
    if not known:
        return "No method here moves weight between nodes, or their records keep no trace of it."
    try:
        data = load_data(comparison.asked) if data is None else data
        run = next(iter(methods[0].runs.values()))
        if facts(data)["sha256"] != run.data["sha256"]:
            return "The data is no longer what the runs were trained on, so the graph is not drawn."
    except (InputError, RunError, OSError) as error:
        return f"The graph is not drawn, because its data cannot be loaded: {error}"
    nodes = next(iter(known.values()))[2]
    nodes = np.arange(int(data.num_nodes)) if nodes is None else nodes
    logs = {slot: np.log2(np.maximum(w, 2.0**-10)) for slot, (_, w, _) in known.items()}
    # Without outliers: next to them nothing else would have a colour. Each side has its own end.
    low = max(0.01, *(-float(np.quantile(log, _BEYOND)) for log in logs.values()))
    high = max(0.01, *(float(np.quantile(log, 1 - _BEYOND)) for log in logs.values()))
    return {
        **_graph(data, nodes),
        "low": low,
        "high": high,
        "methods": [
            {
                "name": method.name,
                "runs": len(method.runs),
                "epochs": known[method.slot][0].tolist(),
                "frames": _packed(_bytes(logs[method.slot], low, high)),
            }
            for method in methods
            if method.slot in known
        ],
    }


def _mean_trace(
    method: Finished,
) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64] | None] | None:
    """Epochs, and the mean weights over the runs."""
    found = [known for run in method.runs.values() if (known := trace(run)) is not None]
    if not found:
        return None
    return found[0][0], np.mean([weights for _, weights, _ in found], 0), found[0][2]


def _graph(data: Data, nodes: NDArray[np.int64]) -> dict[str, Any]:
    """Places, edges, and what is known of each node, of the graph among these nodes."""
    new = np.full(int(data.num_nodes), -1)
    new[nodes] = np.arange(len(nodes))
    ends = new[data.edge_index.numpy()]
    ends = np.sort(ends[:, (ends >= 0).all(0) & (ends[0] != ends[1])], axis=0)
    edges = np.unique(ends, axis=1)
    places = force_layout(edges[0], edges[1], len(nodes))
    shown = edges
    if edges.shape[1] > _MOST_EDGES:
        kept = np.random.default_rng(0).choice(edges.shape[1], _MOST_EDGES, replace=False)
        shown = edges[:, np.sort(kept)]
    degree = np.bincount(data.edge_index[0].numpy(), minlength=int(data.num_nodes))
    part = np.full(int(data.num_nodes), len(PARTS))
    for code, name in enumerate(PARTS):
        part[data[f"{name}_mask"].numpy()] = code
    return {
        "nodes": len(nodes),
        "of": int(data.num_nodes),
        "drawn_edges": shown.shape[1],
        "edges": edges.shape[1],
        "labels": list(data.label_names),
        "ids": _packed(nodes.astype("<u4")),
        "places": _packed((places * 65535).round().astype("<u2")),
        "ends": _packed(shown.T.astype("<u2")),
        "degree": _packed(degree[nodes].astype("<u4")),
        "class": _packed(data.y.numpy()[nodes].astype("<i2")),
        "part": _packed(part[nodes].astype("<u1")),
    }


def _bytes(log: Floats, low: float, high: float) -> NDArray[np.uint8]:
    share = log / np.where(log < 0, low, high)
    return np.asarray(_HALF + np.round(_HALF * np.clip(share, -1, 1)), np.uint8)


def _packed(values: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
