"""What every backbone promises, and a module of one's own."""

from pathlib import Path

import pytest
import torch

from upwind import InputError, nets, sampling

OPTIONS = {
    "hidden": 16,
    "layers": 2,
    "heads": 2,
    "dropout": 0.5,
    "attention_dropout": 0.6,
}
BACKBONES = [*nets.names(), "torch_geometric.nn:GraphSAGE", "torch_geometric.nn:GCNConv"]


@pytest.mark.parametrize("backbone", BACKBONES)
class TestEveryBackbone:
    def test_logits_are_the_classifier_on_the_features(self, backbone, small):
        model = nets.build(backbone, 8, 3, OPTIONS).eval()
        batch = sampling.whole(small)
        features = model.features(batch)
        assert features.shape == (60, 16)
        assert torch.equal(model.classify(features), model(batch))

    def test_every_parameter_gets_a_gradient(self, backbone, small):
        model = nets.build(backbone, 8, 3, OPTIONS)
        model(sampling.whole(small)).square().sum().backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())

    def test_relabelled_nodes_have_the_same_logits(self, backbone, small):
        model = nets.build(backbone, 8, 3, OPTIONS).eval()
        expected = model(sampling.whole(small))
        order = torch.randperm(60)
        place = order.argsort()
        small.x, small.edge_index = small.x[order], place[small.edge_index]
        torch.testing.assert_close(model(sampling.whole(small)), expected[order])


class Narrow(torch.nn.Module):
    def __init__(self, in_channels, hidden_channels):
        super().__init__()
        self.linear = torch.nn.Linear(in_channels, hidden_channels - 1)

    def forward(self, x, edge_index):  # noqa: ARG002
        return self.linear(x)


def test_a_module_of_another_shape_is_refused(small):
    with pytest.raises(InputError, match="cannot be given \\(x, edge_index\\)"):
        nets.build("torch.nn:Linear", 8, 3, OPTIONS)
    model = nets.build(f"{__name__}:Narrow", 8, 3, OPTIONS)
    with pytest.raises(InputError, match="one row of hidden=16 features per node is wanted"):
        model(sampling.whole(small))


@pytest.mark.parametrize("name", nets.names())
def test_every_registered_backbone_has_a_test_file(name):
    assert (Path(__file__).parent / f"test_{name}.py").exists()


@pytest.mark.parametrize(
    ("backbone", "complaint"),
    [
        ("gnc", "did you mean gcn"),
        ("no.such:Thing", "cannot be imported"),
        ("torch.nn:NoSuch", "cannot be imported"),
        ("os:system", "is not a torch module class"),
        ("subprocess:Popen", "is not a torch module class"),
    ],
)
def test_what_is_no_backbone_is_refused(backbone, complaint):
    with pytest.raises(InputError, match=complaint):
        nets.build(backbone, 8, 3, OPTIONS)
