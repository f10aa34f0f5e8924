import pytest
import torch
from torch.nn.functional import elu
from torch_geometric.nn import GATConv

from upwind import InputError, sampling
from upwind.nets import GAT


def test_it_is_two_of_pygs_attention_layers(small):
    torch.manual_seed(0)
    ours = GAT(8, hidden=32, heads=4).eval()
    h = small.x
    for convolution in ours.convolutions:
        reference = GATConv(h.shape[1], 8, heads=4)
        state = convolution.state_dict()
        state["lin.weight"] = state["lin.weight"].T
        reference.load_state_dict(state)
        h = elu(reference(h, small.edge_index))
    torch.testing.assert_close(ours(sampling.whole(small)), h)


def test_sparse_features_give_the_same(small):
    net = GAT(8, hidden=16, heads=2).eval()
    dense = net(sampling.whole(small))
    small.x = small.x.to_sparse_csr()
    torch.testing.assert_close(net(sampling.whole(small)), dense)


def test_a_width_that_heads_cannot_share_is_refused():
    with pytest.raises(InputError, match="shared out over 8 heads"):
        GAT(8, hidden=30, heads=8)
