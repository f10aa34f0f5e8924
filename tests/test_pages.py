"""The examples on the pages of the flow and the plug-in run as they stand there."""

import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data

import upwind

DOCS = Path(__file__).resolve().parents[1] / "docs"
N = 12
RING = torch.stack([torch.arange(N), (torch.arange(N) + 1) % N])
EDGES = torch.cat([RING, RING.flip(0)], 1)


def setting():
    """What a reader of the pages has already: a graph, losses, batches."""
    mask = torch.arange(N) % 2 == 0
    ids = torch.arange(6)
    batch = Data(n_id=ids, edge_index=torch.tensor([[0, 1], [1, 0]]))
    return {
        "upwind": upwind,
        "torch": torch,
        "F": F,
        "data": Data(edge_index=EDGES, y=torch.arange(N) % 3, train_mask=mask, num_nodes=N),
        "edge_index": EDGES,
        "n": N,
        "seed": mask[ids],
        "batch": batch,
        "loader": [batch, batch],
        "losses": torch.rand(N),
        "values": torch.rand(N),
        "known": mask,
        "labeled": mask,
        "k": 2,
    }


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("page", ["flow.md", "plugin.md"])
def test_every_block_of_the_page_runs(page):
    names = setting()
    if page == "plugin.md":
        names["losses"] = torch.rand(3)  # of the labelled nodes of a batch
    found = blocks(page)
    assert len(found) >= 2
    for block in found:
        exec(block, names)
