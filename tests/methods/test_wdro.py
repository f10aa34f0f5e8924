import pytest
import torch

from upwind import InputError, methods, nets, sampling
from upwind.methods._as_used import as_used
from upwind.methods.wdro import ascend


def make(spec, data, backbone="gcn", dropout=0.0, seed=0):
    torch.manual_seed(seed)
    net = {"hidden": 16, "layers": 2, "dropout": dropout, "heads": 2, "attention_dropout": dropout}
    model = nets.build(backbone, data.x.shape[1], 3, net)
    method = methods.build(methods.resolve(spec, data.name, data.shift))
    method.on_start(model, data)
    return model, method


def train(model, method, data, epochs=60):
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    batch = sampling.whole(data)
    for _ in range(epochs):
        model.train()
        optimiser.zero_grad()
        method.loss(model, batch).backward()
        optimiser.step()
    return model.eval()


def identity(a):
    return a


@pytest.mark.parametrize("steps", [1, 4])
def test_a_linear_loss_is_raised_to_its_maximum_in_one_step(steps):
    slope, norm = torch.randn(5, 3), torch.rand(5) + 0.5
    worst = ascend(lambda d: (slope * d).sum(), identity, torch.zeros(5, 3), norm, 2.0, steps)
    torch.testing.assert_close(worst, slope / (4 * norm[:, None]))


def test_the_ascent_tends_to_the_maximum_of_a_quadratic():
    slope, norm = torch.randn(5, 3), torch.ones(5)

    def loss(d):
        return (slope * d - d.square() / 2).sum()

    worst = ascend(loss, identity, torch.zeros(5, 3), norm, 2.0, 60)
    torch.testing.assert_close(worst, slope / 5, rtol=0.03, atol=1e-3)


def test_a_step_that_overshoots_is_not_kept():
    def loss(d):
        return (d - 10 * d.square()).sum()

    worst = ascend(loss, identity, torch.zeros(2, 2), torch.ones(2), 0.1, 1)
    assert (worst == 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_features_move_to_a_higher_loss_that_is_worth_the_price(small, seed):
    batch, gamma = sampling.whole(small), 0.1
    model, _ = make("erm", small, seed=seed)
    train(model, methods.get("erm")(methods.NoOptions()), small)

    def loss(d):
        moved = sampling.whole(small)
        moved.x = small.x + d
        return methods.get("erm")(methods.NoOptions()).loss(model, moved)

    start = torch.zeros_like(small.x)
    worst = ascend(loss, identity, start, batch.node_norm, gamma, 5)
    price = gamma * float((batch.node_norm * worst.square().sum(1)).sum())
    gain = float((loss(worst) - loss(start)).detach())
    assert gain > 0.02
    assert 0 < price < gain


@pytest.mark.parametrize("backbone", ["gcn", "gat"])
def test_sparse_features_give_what_dense_ones_give(small, backbone):
    gradients = []
    for x in (small.x, small.x.to_sparse_csr()):
        model, method = make("wdro:gamma=0.1:steps=4", small, backbone)
        batch = sampling.whole(small)
        batch.x = x
        loss = method.loss(model, batch)
        loss.backward()
        gradients.append([loss.detach(), *(p.grad for p in model.parameters())])
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-5)


def test_the_ascent_leaves_batch_norm_and_the_random_state_alone(small):
    draws = []
    for spec in ("erm", "wdro:steps=3"):
        model, method = make(spec, small, dropout=0.5)
        torch.manual_seed(4)
        method.loss(model, sampling.whole(small))
        draws.append(torch.rand(3).tolist())
        assert all(norm.num_batches_tracked == 1 for norm in model.encoder.norms)
        assert model.training
    assert draws[0] == draws[1]


def test_a_high_price_is_erm(small):
    model, method = make("wdro:gamma=1e9", small)
    batch = sampling.whole(small)
    plain = methods.get("erm")(methods.NoOptions()).loss(model, batch)
    torch.testing.assert_close(method.loss(model, batch), plain)


@pytest.mark.parametrize("seed", range(3))
def test_a_model_trained_with_it_has_a_lower_loss_under_attack(small, seed):
    found = {}
    for spec in ("erm", "wdro:gamma=10"):
        model, method = make(spec, small, seed=seed)
        train(model, method, small)
        attack = methods.build(methods.resolve("wdro:gamma=10:steps=15", "small", None))
        with as_used(model):
            found[spec] = float(attack.loss(model, sampling.whole(small)).detach())
    assert found["wdro:gamma=10"] < 0.8 * found["erm"]


@pytest.mark.parametrize("bad", ["gamma=0", "steps=0"])
def test_a_price_or_a_number_of_steps_that_cannot_be_is_refused(small, bad):
    with pytest.raises(InputError, match=bad.split("=")[0]):
        make(f"wdro:{bad}", small)
