import numpy as np
import pytest
import torch

from tests.methods.environments import accuracy, begin, fit, spurious, uneven
from upwind import methods


@pytest.mark.parametrize("seed", range(3))
def test_it_finds_the_invariant_feature_where_erm_takes_the_spurious_one(seed):
    data, reversed_ = spurious(seed), spurious(seed + 50, agree=(0.1, 0.1))
    assert accuracy(fit("erm", data, seed=seed)[0], reversed_) < 0.2
    assert accuracy(fit("vrex:penalty=100", data, seed=seed)[0], reversed_) > 0.7


@pytest.mark.parametrize("outputs", [1, 2])
def test_its_penalty_is_the_unbiased_variance_of_the_environments_losses(outputs):
    data, batch = uneven()
    model, vrex = begin("vrex:penalty=7", data, outputs=outputs)
    rows = batch.mask
    losses = methods.row_losses(model(batch)[rows], batch.y[rows]) * batch.node_norm[rows]
    losses, env = losses.detach().numpy(), batch.env_id[rows].numpy()
    risks = [len(losses) * losses[env == e].mean() for e in range(3)]
    expected = losses.sum() + 7 * np.var(risks, ddof=1)
    assert vrex.loss(model, batch).item() == pytest.approx(expected, rel=1e-5)


def test_a_batch_with_one_environment_has_no_penalty():
    data, batch = uneven()
    model, vrex = begin("vrex", data)
    batch.mask = batch.mask & (batch.env_id == 2)
    plain = methods.get("erm")(methods.NoOptions()).loss(model, batch)
    torch.testing.assert_close(vrex.loss(model, batch), plain)
