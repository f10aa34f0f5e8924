"""Twitch: gamers of six languages, one graph, the language as the domain."""

import numpy as np
import torch
from torch_geometric.data import Data

from upwind.data.raw import RawFiles

LANGUAGES = ("DE", "EN", "ES", "FR", "PT", "RU")


def twitch(raw: RawFiles) -> Data:
    """Read the six graphs one after the other.

    The raw files already hold every edge in both directions and one self-loop a node.
    """
    features, labels, edges, languages = [], [], [], []
    offset = 0
    for name in LANGUAGES:
        file = raw.npz(f"Twitch/{name}/raw/{name}.npz")
        features.append(file["features"].astype(np.float32))
        labels.append(file["target"].astype(np.int64))
        edges.append(file["edges"].astype(np.int64) + offset)
        languages += [name] * len(labels[-1])
        offset += len(labels[-1])
    return Data(
        x=torch.from_numpy(np.concatenate(features)),
        edge_index=torch.from_numpy(np.concatenate(edges).T.copy()),
        y=torch.from_numpy(np.concatenate(labels)),
        language=languages,
    )
