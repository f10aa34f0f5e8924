import copy

import numpy as np
import pytest
import torch

from tests.methods.environments import begin, fit, problem, uneven
from upwind import methods, sampling


def minority(seed):
    """The first feature tells the label of 900 nodes; the second that of 100, less surely."""
    random = torch.Generator().manual_seed(seed)
    x, env = torch.randn(1000, 2, generator=random), (torch.arange(1000) >= 900).long()
    flip = (torch.rand(1000, generator=random) < 0.15) & (env == 1)
    return problem(x, (x[torch.arange(1000), env] > 0).long() ^ flip, env)


def worst(model, data):
    with torch.no_grad():
        losses = methods.row_losses(model(sampling.whole(data)), data.y)
    return max(float(losses[data.env_id == env].mean()) for env in (0, 1))


@pytest.mark.parametrize("seed", range(3))
def test_it_lifts_the_worst_group_beyond_what_equal_weights_do(seed):
    data = minority(seed)
    specs = ("erm", "groupdro:eta=0", "groupdro:eta=2", "groupdro:eta=0.1:mode=running")
    erm, equal, step, running = (worst(fit(spec, data, seed=seed)[0], data) for spec in specs)
    assert erm > equal + 0.5
    assert equal > step + 0.01
    assert equal > running + 0.03


def risks(model, batch):
    """Each environment's, by NumPy."""
    rows = batch.mask
    losses = methods.row_losses(model(batch)[rows], batch.y[rows]) * batch.node_norm[rows]
    losses, env = losses.detach().numpy(), batch.env_id[rows].numpy()
    return np.array([len(losses) * losses[env == e].mean() for e in np.unique(env)])


@pytest.mark.parametrize("outputs", [1, 2])
def test_by_default_its_weights_are_the_softmax_of_this_steps_losses(outputs):
    data, batch = uneven()
    model, groupdro = begin("groupdro:eta=0.3", data, outputs=outputs)
    for present in (3, 2, 3):  # the last environment is missing once
        part = copy.copy(batch)
        part.mask = batch.mask & (batch.env_id < present)
        each = risks(model, part)
        q = np.exp(0.3 * each) / np.exp(0.3 * each).sum()
        assert groupdro.loss(model, part).item() == pytest.approx(q @ each, rel=1e-5)


def test_the_running_weights_are_exponentiated_gradient_ascent():
    data, batch = uneven()
    model, groupdro = begin("groupdro:eta=0.3:mode=running", data)
    each, q = risks(model, batch), np.ones(3) / 3
    for _ in range(4):
        q = q * np.exp(0.3 * each)
        q /= q.sum()
        assert groupdro.loss(model, batch).item() == pytest.approx(q @ each, rel=1e-5)
    assert abs(q - 1 / 3).max() > 0.02


def test_the_running_weights_are_in_the_checkpoint():
    data, batch = uneven()
    model, first = begin("groupdro:eta=0.3:mode=running", data)
    first.loss(model, batch)
    second = begin("groupdro:eta=0.3:mode=running", data)[1]
    second.load_state_dict(first.state_dict())
    assert torch.equal(second.node_weights(), first.node_weights())
    assert first.loss(model, batch) == second.loss(model, batch)


def test_no_gradient_goes_through_its_weights():
    data, batch = uneven()
    model, groupdro = begin("groupdro:eta=3", data)
    groupdro.loss(model, batch).backward()
    q, rows = groupdro.log_q.exp(), batch.mask
    env = batch.env_id[rows]
    share = (q / env.bincount())[env] * len(env)
    losses = methods.row_losses(model(batch)[rows], batch.y[rows]) * batch.node_norm[rows]
    gradient = torch.autograd.grad((share * losses).sum(), model.classifier.weight)[0]
    torch.testing.assert_close(model.classifier.weight.grad, gradient)


def test_a_nodes_weight_is_its_environments_shared_out():
    data, batch = uneven()
    model, groupdro = begin("groupdro:eta=3", data)
    groupdro.loss(model, batch)
    weights, q = groupdro.node_weights(), groupdro.log_q.exp()
    assert (weights[~data.train_mask] == 1).all()
    for env in range(3):
        assert weights[data.env_id == env].sum() / 70 == pytest.approx(q[env].item(), rel=1e-5)
