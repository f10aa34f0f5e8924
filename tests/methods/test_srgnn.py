import cvxpy as cp
import numpy as np
import pytest
import torch
from scipy import sparse

from upwind import InputError, methods, nets, sampling
from upwind.methods import srgnn
from upwind.methods._kernel_mean import kernel, match, solve
from upwind.methods.srgnn import central_moment_discrepancy


def make(spec, data, outputs=3, seed=0):
    torch.manual_seed(seed)
    model = nets.build("gcn", 8, outputs, {"hidden": 16, "layers": 1, "dropout": 0.0})
    method = methods.build(methods.resolve(spec, data.name, data.shift))
    method.on_start(model, data)
    return model, method


def rows(seed, size, share):
    """Two kinds of rows of an adjacency matrix, the first with this share."""
    random = np.random.default_rng(seed)
    kind = np.arange(size) >= share * size
    likely = np.where(kind[:, None], [0.02] * 20 + [0.3] * 20, [0.3] * 20 + [0.02] * 20)
    return sparse.csr_matrix((random.random((size, 40)) < likely).astype(float)), kind


def test_the_kernel_is_the_mean_of_three_gaussians():
    a, b = rows(0, 5, 0.5)[0], rows(1, 7, 0.5)[0]
    square = ((a.toarray()[:, None] - b.toarray()[None]) ** 2).sum(2)
    expected = (np.exp(-square) + np.exp(-0.1 * square) + np.exp(-0.001 * square)) / 3
    np.testing.assert_allclose(kernel(a, b), expected)


@pytest.mark.parametrize("seed", range(4))
def test_another_solver_finds_the_same_weights(seed):
    random = np.random.default_rng(seed)
    root = random.normal(size=(25, 25))
    gram, wanted = root @ root.T / 25 + 0.1 * np.eye(25), random.random(25)
    groups = random.integers(0, 3, 25)
    w = cp.Variable(25)
    objective = cp.quad_form(w, cp.psd_wrap(gram)) / 2 - 25 * wanted @ w
    balance = [cp.sum(w[groups == g]) == (groups == g).sum() for g in np.unique(groups)]
    cp.Problem(cp.Minimize(objective), [w >= 0.2, *balance]).solve(solver="OSQP", eps_abs=1e-9)
    np.testing.assert_allclose(solve(gram, wanted, groups, 0.2), w.value, atol=2e-3)


@pytest.mark.parametrize("seed", range(4))
def test_the_weights_bring_the_mean_of_the_kernel_to_the_target(seed):
    source, kind = rows(seed, 80, 0.5)
    target, _ = rows(seed + 100, 100, 0.8)
    labels = np.arange(80) % 2
    weights = match(source, target, labels, 0.2)
    assert weights.min() >= 0.2 - 1e-6
    assert [weights[labels == c].mean() for c in (0, 1)] == pytest.approx([1, 1])
    assert weights[~kind].sum() / 80 > 0.65

    def gap(w):
        k, f, z = kernel(source, source), kernel(source, target), kernel(target, target)
        return w @ k @ w / 80**2 - 2 * w @ f.mean(1) / 80 + z.mean()

    assert gap(weights) < 0.75 * gap(np.ones(80))


def test_each_environment_is_matched_in_parts_of_a_bounded_size(small, monkeypatch):
    sizes = []

    def counting(source, target, labels, lowest):
        sizes.append((source.shape[0], target.shape[0]))
        return match(source, target, labels, lowest)

    monkeypatch.setattr(srgnn, "_MOST_ROWS", 4)
    monkeypatch.setattr(srgnn, "match", counting)
    _, method = make("srgnn", small)
    assert sum(size for size, _ in sizes) == int(small.train_mask.sum())
    assert max(size for size, _ in sizes) <= 4
    assert {target for _, target in sizes} == {int(small.val_mask.sum())}
    weights = method.node_weights()
    assert (weights[~small.train_mask] == 1).all()
    for env in range(3):
        for label in range(3):
            members = small.train_mask & (small.env_id == env) & (small.y == label)
            if members.any():
                assert float(weights[members].mean()) == pytest.approx(1, abs=1e-4)


def test_the_discrepancy_is_that_of_five_central_moments():
    a, b = np.random.default_rng(0).normal(size=(2, 30, 4))
    b = b[:20] ** 2
    expected = np.linalg.norm(a.mean(0) - b.mean(0))
    for k in range(2, 6):
        gap = ((a - a.mean(0)) ** k).mean(0) - ((b - b.mean(0)) ** k).mean(0)
        expected += np.linalg.norm(gap)
    found = central_moment_discrepancy(torch.tensor(a), torch.tensor(b))
    assert float(found) == pytest.approx(expected)
    assert float(central_moment_discrepancy(torch.tensor(a), torch.tensor(a))) == 0


@pytest.mark.parametrize("seed", range(3))
def test_training_draws_the_features_of_environments_to_the_validation_nodes(small, seed):
    small.x[small.val_mask] += 2.0
    found = {}
    batch = sampling.whole(small)
    for penalty in (0.0, 0.1):
        model, method = make(f"srgnn:penalty={penalty}", small, seed=seed)
        optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(60):
            optimiser.zero_grad()
            method.loss(model, batch).backward()
            optimiser.step()
        found[penalty] = float(method.discrepancy(model.features(batch), batch).detach())
    assert found[0.1] < 0.7 * found[0.0]


@pytest.mark.parametrize("outputs", [1, 3])
def test_each_node_s_loss_has_its_own_weight(small, outputs):
    if outputs == 1:
        small.y = small.y % 2
    model, method = make("srgnn:penalty=0.01", small, outputs)
    method.weights.copy_(torch.rand(60) + 0.5)
    batch = sampling.whole(small)
    each = methods.row_losses(model(batch)[batch.mask], batch.y[batch.mask])
    plain = (method.weights[batch.mask] * each).mean()
    features = model.features(batch)
    terms = [
        central_moment_discrepancy(
            features[small.train_mask & (small.env_id == env)], features[small.val_mask]
        )
        for env in range(3)
    ]
    expected = plain + 0.01 * sum(terms) / 3
    torch.testing.assert_close(method.loss(model, batch), expected)


def test_without_environments_all_training_nodes_are_one(small):
    small.env_id[:] = -1
    model, method = make("srgnn", small)
    assert method.node_weights()[small.train_mask].std() > 0.01
    assert method.discrepancy(model.features(sampling.whole(small)), sampling.whole(small)) > 0


def test_a_split_without_validation_nodes_is_refused(small):
    small.val_mask[:] = False
    with pytest.raises(InputError, match="this split has none"):
        make("srgnn", small)
