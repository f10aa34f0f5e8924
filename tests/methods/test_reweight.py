import pytest
import torch
from torch.nn.functional import cross_entropy

from tests.methods.tails import make, tail
from upwind import sampling
from upwind.methods import Step


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


def test_a_class_that_was_filled_up_is_rare_no_more(small):
    model, method = make("reweight", small)
    batch = sampling.whole(tail(small))
    rare = (small.train_mask & (small.y == 2)).nonzero().flatten()[:1].expand(40)
    more = sampling.Batch(
        x=torch.cat([batch.x, batch.x[rare]]),
        edge_index=batch.edge_index,
        edge_weight=None,
        y=torch.cat([batch.y, batch.y[rare]]),
        n_id=torch.cat([batch.n_id, rare]),
        seeds=torch.cat([batch.seeds, torch.ones(40, dtype=torch.bool)]),
        mask=torch.cat([batch.mask, torch.ones(40, dtype=torch.bool)]),
        node_norm=torch.cat([batch.node_norm, batch.node_norm[rare]]),
        env_id=torch.cat([batch.env_id, batch.env_id[rare]]),
        synthesised=40,
    )
    y = more.y[more.mask]
    step = Step(model, more, torch.zeros(len(more.y), 3))
    weights = method.weights(step, torch.zeros(len(y)))
    counts = y.bincount().float()
    torch.testing.assert_close(weights * counts[y], (weights * counts[y])[0].expand(len(y)))
    assert weights.mean() == pytest.approx(1)
