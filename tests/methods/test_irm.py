import pytest
import torch

from tests.methods.environments import accuracy, begin, fit, spurious, uneven
from upwind import methods


@pytest.mark.parametrize("seed", range(3))
def test_it_finds_the_invariant_feature_where_erm_takes_the_spurious_one(seed):
    data, reversed_ = spurious(seed), spurious(seed + 50, agree=(0.1, 0.1))
    assert accuracy(fit("erm", data, seed=seed)[0], reversed_) < 0.2
    assert accuracy(fit("irm:penalty=100", data, seed=seed)[0], reversed_) > 0.7


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize(("over", "combine"), [("mean", torch.mean), ("sum", torch.sum)])
def test_its_penalty_is_the_squared_gradient_at_a_dummy_scale(outputs, over, combine):
    data, batch = uneven()
    model, irm = begin(f"irm:penalty=7:over={over}", data, outputs=outputs)
    scale = torch.ones((), requires_grad=True)
    rows, squares = batch.mask, []
    losses = methods.row_losses(scale * model(batch)[rows], batch.y[rows]) * batch.node_norm[rows]
    for env in range(3):
        risk = losses[batch.env_id[rows] == env].mean() * int(rows.sum())
        squares.append(torch.autograd.grad(risk, scale, create_graph=True)[0] ** 2)
    expected = losses.sum() + 7 * combine(torch.stack(squares))
    torch.testing.assert_close(irm.loss(model, batch), expected)
    ours = torch.autograd.grad(irm.loss(model, batch), [*model.parameters()])
    theirs = torch.autograd.grad(expected, [*model.parameters()])
    torch.testing.assert_close(ours, theirs)


def test_until_annealed_the_penalty_weighs_one():
    data, batch = uneven()
    model, one = begin("irm:penalty=1", data)
    annealed, constant = (begin(spec, data)[1] for spec in ("irm:anneal=0.5", "irm"))
    for progress, expected in ((0.4, one), (0.5, constant)):
        annealed.on_step_start(progress)
        assert annealed.loss(model, batch) == expected.loss(model, batch)


def test_an_environment_that_the_batch_lacks_is_left_out():
    data, batch = uneven()
    model, irm = begin("irm", data)
    batch.mask = batch.mask & (batch.env_id != 1)
    with_two = irm.loss(model, batch)
    batch.env_id = torch.where(batch.env_id == 2, 1, batch.env_id)
    torch.testing.assert_close(irm.loss(model, batch), with_two)


def test_the_benchmarks_choices_are_the_defaults_on_its_data():
    assert methods.resolve("irm", "webkb", "concept")["irm"]["penalty"] == 1
    assert methods.resolve("irm", "dblp_word", "concept")["irm"]["penalty"] == 0.1
