import pytest
import torch
from torch.nn.functional import cross_entropy

from tests.methods.tails import make, tail
from upwind import sampling


def test_it_is_torchs_cross_entropy_with_weights_of_least_over_own_count(small):
    batch = sampling.whole(tail(small))
    model, method = make("reweight", small)
    y = small.y[small.train_mask]
    counts = y.bincount().float()
    expected = cross_entropy(model(batch)[small.train_mask], y, weight=counts.min() / counts)
    torch.testing.assert_close(method.loss(model, batch), expected)


def test_every_class_has_the_same_share_of_the_weight(small):
    tail(small)
    _, method = make("reweight", small)
    weights = method.node_weights()[small.train_mask]
    share = torch.zeros(3).index_add_(0, small.y[small.train_mask], weights)
    torch.testing.assert_close(share, share.mean().expand(3))
    assert weights.mean() == pytest.approx(1)


def test_the_power_is_what_it_says(small):
    counts = tail(small).y[small.train_mask].bincount().float()
    for power in (0.5, -1.0, 0.0):
        _, method = make(f"reweight:power={power}", small)
        ratio = method.per_class / counts**-power
        torch.testing.assert_close(ratio, ratio[0].expand(3))
