import torch

from upwind import methods, nets, sampling


def test_weight_stays_among_the_labelled_nodes(small):
    model = nets.build("gcn", 8, 3, {"hidden": 8, "layers": 1, "dropout": 0.0})
    method = methods.build(methods.resolve("tar_n:tau=0.05:neighbours=2", "small", None))
    method.on_start(model, small)
    method.loss(model, sampling.whole(small))
    weights = method.node_weights()
    assert torch.allclose(weights[~small.train_mask], torch.ones(30))
    assert weights[small.train_mask].std() > 0


def test_the_reconnected_graph_joins_labelled_nodes_only(small):
    method = methods.build(methods.resolve("tar_n:neighbours=2", "small", None))
    method.on_start(None, small)
    assert small.train_mask[method.tar.graph.edge_index].all()
