import cvxpy as cp
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from upwind import InputError, methods, nets, sampling
from upwind.methods._kl_ball import worst_case


def divergence(q, p):
    return float(torch.special.entr(q).neg().sum() - (q * p.log()).sum())


@st.composite
def problems(draw, most=12):
    n = draw(st.integers(2, most))
    number = st.floats(-50, 50)
    losses = torch.tensor(draw(st.lists(number, min_size=n, max_size=n)), dtype=torch.float64)
    share = draw(st.lists(st.floats(0.05, 1), min_size=n, max_size=n))
    base = torch.tensor(share, dtype=torch.float64)
    return losses, base / base.sum()


@given(problems(), st.floats(1e-3, 3))
def test_the_weights_are_the_closed_form_on_the_ball_s_surface(problem, radius):
    losses, base = problem
    weights, temperature = worst_case(losses, base, radius)
    assert float(weights.sum()) == pytest.approx(1, abs=1e-12)
    assert divergence(weights, base) <= radius * (1 + 1e-6) + 1e-12
    if 0 < temperature < np.inf:
        assert divergence(weights, base) == pytest.approx(radius, rel=1e-6, abs=1e-9)
        closed = (base.log() + losses / temperature).softmax(0)
        torch.testing.assert_close(weights, closed, rtol=1e-6, atol=1e-12)
    elif temperature == 0:
        assert (weights[losses < losses.max()] == 0).all()


@given(problems(), st.floats(1e-3, 3))
def test_the_temperature_minimises_the_dual(problem, radius):
    losses, base = problem
    weights, temperature = worst_case(losses, base, radius)
    best = float(weights @ losses)

    def dual(t):
        return float(t * radius + t * torch.logsumexp(base.log() + losses / t, 0))

    scale = float(losses.max() - losses.min()) + 1e-9
    for t in np.geomspace(1e-3, 1e3, 25) * scale:
        assert dual(t) >= best - 1e-7 * (scale + abs(best))
    if 0 < temperature < np.inf:
        assert dual(temperature) == pytest.approx(best, rel=1e-6, abs=1e-6 * scale)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("radius", [0.01, 0.1, 1.0])
def test_a_convex_solver_finds_the_same_weights(seed, radius):
    random = np.random.default_rng(seed)
    losses, base = random.exponential(size=30), random.dirichlet(np.ones(30))
    q = cp.Variable(30)
    ball = cp.sum(cp.kl_div(q, base)) <= radius
    worst = cp.Problem(cp.Maximize(losses @ q), [ball, cp.sum(q) == 1])
    worst.solve(solver="CLARABEL")
    weights, _ = worst_case(torch.tensor(losses), torch.tensor(base), radius)
    np.testing.assert_allclose(weights.numpy(), q.value, atol=1e-4)
    assert float(losses @ weights.numpy()) == pytest.approx(worst.value, rel=1e-6)


def test_equal_losses_change_nothing_and_a_wide_ball_holds_the_worst_alone():
    base = torch.tensor([0.2, 0.3, 0.5])
    weights, temperature = worst_case(torch.ones(3), base, 1.0)
    assert (weights.tolist(), temperature) == (base.double().tolist(), float("inf"))
    weights, temperature = worst_case(torch.tensor([1.0, 3.0, 3.0]), base, 1.0)
    assert weights.tolist() == pytest.approx([0, 0.375, 0.625])
    assert temperature == 0


def make(spec, data):
    torch.manual_seed(0)
    model = nets.build("gcn", 8, 3, {"hidden": 8, "layers": 1, "dropout": 0.0})
    method = methods.build(methods.resolve(spec, data.name, data.shift))
    method.on_start(model, data)
    return model, method


def test_the_loss_is_the_sampler_s_sum_under_the_worst_weights(small):
    model, method = make("kldro:radius=0.2", small)
    batch = sampling.whole(small)
    batch.node_norm = torch.rand(60) + 0.1
    rows, norm = batch.mask, batch.node_norm[batch.mask]
    each = methods.row_losses(model(batch)[rows], batch.y[rows])
    weights, _ = worst_case(each, norm / norm.sum(), 0.2)
    expected = norm.sum() * (weights.float() * each).sum()
    torch.testing.assert_close(method.loss(model, batch), expected)
    plain = (norm * each).sum()
    assert expected > 1.05 * plain
    assert method.node_weights()[small.train_mask].std() > 0.1


def test_a_ball_without_radius_is_erm(small):
    model, method = make("kldro:radius=0", small)
    batch = sampling.whole(small)
    plain = methods.get("erm")(methods.NoOptions()).loss(model, batch)
    torch.testing.assert_close(method.loss(model, batch), plain)


def test_a_radius_below_zero_is_refused(small):
    with pytest.raises(InputError, match="radius=-1"):
        make("kldro:radius=-1", small)
