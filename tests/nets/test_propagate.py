import pytest
import torch
from torch_geometric.nn import GCNConv as Reference

from upwind.nets.gcn import GCNConv
from upwind.nets.propagate import gcn_operator


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loops", [False, True])
def test_it_equals_pygs_convolution_on_directed_graphs_with_duplicates(weighted, loops):
    torch.manual_seed(0)
    edge_index = torch.randint(0, 25, (2, 90))
    edge_index = edge_index[:, edge_index[0] != edge_index[1]]
    if loops:
        edge_index = torch.cat([edge_index, torch.tensor([[3, 8], [3, 8]])], 1)
    edge_weight = torch.rand(edge_index.shape[1]) if weighted else None
    reference, ours = Reference(6, 5), GCNConv(6, 5)
    ours.linear.weight.data = reference.lin.weight.data.T.clone()
    ours.bias.data = reference.bias.data = torch.randn(5)
    x = torch.randn(25, 6, requires_grad=True)
    expected = reference(x, edge_index, edge_weight)
    found = ours(x, gcn_operator(edge_index, edge_weight, 25))
    torch.testing.assert_close(found, expected)
    towards = torch.randn(25, 5)
    torch.testing.assert_close(
        torch.autograd.grad(found, x, towards), torch.autograd.grad(expected, x, towards)
    )


def test_a_node_without_edges_hears_itself():
    operator = gcn_operator(torch.empty(2, 0, dtype=torch.int64), None, 2)
    assert torch.equal(operator.to_dense(), torch.eye(2))
