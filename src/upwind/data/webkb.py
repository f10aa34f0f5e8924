"""WebKB: the web pages of three universities, one graph, the university as the domain."""

import numpy as np
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from upwind.data.raw import RawFiles
from upwind.data.sparse import to_torch

UNIVERSITIES = ("wisconsin", "cornell", "texas")  # in the benchmark's order of nodes


def webkb(raw: RawFiles) -> Data:
    """Read the three graphs, directed as they are, one after the other."""
    features, labels, edges, universities = [], [], [], []
    offset = 0
    for name in UNIVERSITIES:
        nodes = raw.original(f"WebKB/{name}/raw/out1_node_feature_label.txt").decode()
        rows = [line.split("\t") for line in nodes.splitlines()[1:]]
        features.append(np.array([row[1].split(",") for row in rows], dtype=np.float32))
        labels.append(np.array([row[2] for row in rows], dtype=np.int64))
        pairs = raw.original(f"WebKB/{name}/raw/out1_graph_edges.txt").decode().splitlines()
        # Sorted by source, then target, each pair once.
        edges.append(np.unique(np.loadtxt(pairs, dtype=np.int64, skiprows=1), axis=0) + offset)
        universities += [name] * len(rows)
        offset += len(rows)
    return Data(
        x=to_torch(sp.csr_array(np.concatenate(features))),
        edge_index=torch.from_numpy(np.concatenate(edges).T.copy()),
        y=torch.from_numpy(np.concatenate(labels)),
        university=universities,
    )
