import torch
from torch.nn.functional import cross_entropy

from upwind import methods, nets, sampling


def test_it_is_the_sum_of_node_norm_times_loss_over_the_training_nodes(small):
    model = nets.build("gcn", 8, 3, {"hidden": 8, "layers": 1, "dropout": 0.0})
    batch = sampling.whole(small)
    batch.node_norm = torch.rand(60)
    rows = small.train_mask
    each = cross_entropy(model(batch)[rows], small.y[rows], reduction="none")
    expected = (batch.node_norm[rows] * each).sum()
    torch.testing.assert_close(methods.get("erm")(methods.NoOptions()).loss(model, batch), expected)
