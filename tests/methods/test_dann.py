import copy
import math

import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn.functional import cross_entropy

from tests.methods.environments import accuracy, begin, fit, problem, uneven
from upwind import methods, sampling


def marked(seed):
    """The first feature tells the label, the second the environment."""
    random = torch.Generator().manual_seed(seed)
    y, env = torch.randint(0, 2, (2, 2000), generator=random)
    x = 0.3 * torch.randn(2000, 2, generator=random)
    return problem(x + torch.stack([2 * y - 1, 3 * (2 * env - 1)], 1), y, env)


def legibility(model, data):
    """How often a new classifier on half of the features tells the environment of the others."""
    with torch.no_grad():
        z, env = model.features(sampling.whole(data)).numpy(), data.env_id.numpy()
    return LogisticRegression().fit(z[::2], env[::2]).score(z[1::2], env[1::2])


@pytest.mark.parametrize("seed", range(3))
def test_its_features_do_not_tell_the_environment_and_still_the_label(seed):
    # The noise makes small what is hidden; the discriminator is ahead of the encoder.
    data, options = marked(seed), {"seed": seed, "width": 4, "noise": 1.0, "lr": 0.005, "hurry": 10}
    erm, dann = (fit(spec, data, **options)[0] for spec in ("erm", "dann:penalty=1"))
    assert legibility(erm, data) > 0.75
    assert legibility(dann, data) < 0.6
    assert accuracy(dann, data) > 0.9


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("progress", [0.0, 0.3])
def test_the_gradient_is_plain_for_the_discriminator_and_reversed_for_the_encoder(
    outputs, progress
):
    data, batch = uneven()
    model, dann = begin("dann:penalty=0.7", data, outputs=outputs, width=4)
    dann.on_step_start(progress)
    dann.loss(model, batch).backward()
    rows, strength = batch.mask, 2 / (1 + math.exp(-10 * progress)) - 1

    features = model.features(batch)[rows]
    env = batch.env_id[rows]
    adversary = 0.7 * cross_entropy(dann.discriminator(features), env)
    losses = methods.row_losses(model.classify(features), batch.y[rows])
    plain = (batch.node_norm[rows] * losses).sum()
    torch.testing.assert_close(dann.loss(model, batch), plain + adversary)
    own, encoder = dann.discriminator.weight, model.encoder.map.weight
    (expected,) = torch.autograd.grad(adversary, own, retain_graph=True)
    torch.testing.assert_close(own.grad, expected)
    (expected,) = torch.autograd.grad(plain - strength * adversary, encoder)
    torch.testing.assert_close(encoder.grad, expected)


def test_the_discriminator_is_in_the_checkpoint_and_trained():
    data, _ = uneven()
    before = copy.deepcopy(begin("dann", data)[1].state_dict())
    after = fit("dann", data, steps=3)[1].state_dict()
    assert set(before) == {"discriminator.weight", "discriminator.bias"}
    assert not torch.equal(before["discriminator.weight"], after["discriminator.weight"])
