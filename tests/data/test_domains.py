"""Domains come from attributes, from the graph itself, or from outside."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from upwind.data.domains import node_domains, pagerank
from upwind.errors import InputError

EDGES = torch.tensor([[0, 0, 1, 2, 3], [1, 2, 2, 0, 0]])


@pytest.fixture
def data():
    x = torch.tensor([[0.0, 2], [1, 1], [0, 0], [3, 0]])
    return Data(x=x, edge_index=EDGES, num_nodes=4, age=torch.tensor([30, 20, 30, 40]))


def test_each_source_of_a_domain(data):
    found = {name: node_domains(data, name).id.tolist() for name in ("age", "degree", "word")}
    assert found == {"age": [1, 0, 1, 2], "degree": [1, 0, 0, 0], "word": [1, 2, 0, 1]}
    assert node_domains(data, torch.tensor([0.5, 2, 0.5, 1])).names == ["0.5", "1", "2"]
    assert node_domains(data, ["b", "a", "b", "c"]).id.tolist() == [1, 0, 1, 2]


def test_pagerank_is_the_stationary_distribution_of_the_surfer(data):
    hop = np.zeros((4, 4))
    hop[EDGES[1], EDGES[0]] = [0.5, 0.5, 1, 1, 1]
    surfer = 0.85 * hop + 0.15 / 4
    values, vectors = np.linalg.eig(surfer)
    stationary = np.real(vectors[:, np.argmax(np.real(values))])
    np.testing.assert_allclose(pagerank(data), stationary / stationary.sum(), rtol=1e-7)


def test_nodes_that_are_alike_have_the_same_pagerank():
    star = torch.stack([torch.arange(1, 50), torch.zeros(49, dtype=torch.long)])
    assert len(node_domains(Data(edge_index=star, num_nodes=50), "pagerank").names) == 2


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ("agee", "no domain 'agee'; there are age, degree, word, pagerank"),
        ("x", r"domain 'x' has shape \(4, 2\)"),
        ([1, 2, 3], r"the domain vector has shape \(3,\), and the graph has 4 nodes"),
        ([1, 2, np.nan, 3], "is missing for 1 nodes, first for node 2"),
        (["a", None, "", "b"], "is missing for 2 nodes, first for node 1"),
    ],
)
def test_a_domain_that_cannot_be_used_is_named(data, domain, message):
    with pytest.raises(InputError, match=message):
        node_domains(data, domain)
