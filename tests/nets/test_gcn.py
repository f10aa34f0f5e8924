import torch
from torch import nn
from torch_geometric.nn import GCNConv

from upwind import sampling
from upwind.nets import GCN


def test_it_is_the_benchmarks_network(small):
    """Against PyG's layers put together as the recipe says."""
    torch.manual_seed(0)
    ours = GCN(8, hidden=16, layers=3).eval()
    h = small.x
    for i, convolution in enumerate(ours.convolutions):
        reference = GCNConv(h.shape[1], 16)
        reference.lin.weight.data = convolution.linear.weight.data.T.clone()
        h = nn.BatchNorm1d(16).eval()(reference(h, small.edge_index))
        h = h.relu() if i < 2 else h
    torch.testing.assert_close(ours(sampling.whole(small)), h)


def test_the_edge_norm_of_a_sample_is_used(small):
    net = GCN(8, hidden=4, layers=1).eval()
    plain = sampling.whole(small)
    small.edge_weight = torch.full((small.num_edges,), 2.0)
    assert not torch.allclose(net(plain), net(sampling.whole(small)))


def test_sparse_features_give_the_same(small):
    net = GCN(8, hidden=4, layers=2).eval()
    dense = net(sampling.whole(small))
    small.x = small.x.to_sparse_csr()
    torch.testing.assert_close(net(sampling.whole(small)), dense)
