import itertools

import numpy as np
import pytest
import torch

from tests.methods.environments import accuracy, begin, fit, problem, uneven
from upwind import methods, sampling


def scaled(seed):
    """The first feature tells the label; the others differ in size between 3 environments."""
    random = torch.Generator().manual_seed(seed)
    y, env = torch.randint(0, 2, (600,), generator=random), torch.arange(600) % 3
    x = torch.randn(600, 4, generator=random)
    x[:, 1:] *= 3 ** env[:, None]
    x[:, 0] += 4 * y - 2
    return problem(x, y, env)


def gap(model, data):
    """The largest distance between two environments' covariances, over their sizes."""
    with torch.no_grad():
        z = model.features(sampling.whole(data)).numpy()
    found = [np.cov(z[data.env_id == env].T) for env in range(3)]
    size = np.linalg.norm
    return max(size(a - b) / (size(a) + size(b)) for a, b in itertools.combinations(found, 2))


@pytest.mark.parametrize("seed", range(3))
def test_the_covariances_meet_and_the_label_is_still_told(seed):
    data, options = scaled(seed), {"seed": seed, "width": 4, "lr": 0.02}
    erm, coral = (fit(spec, data, **options)[0] for spec in ("erm", "deepcoral:penalty=1"))
    assert gap(erm, data) > 0.4
    assert gap(coral, data) < 0.2
    assert accuracy(coral, data) > 0.95


@pytest.mark.parametrize("outputs", [1, 2])
def test_its_penalty_is_the_papers_over_all_ordered_pairs(outputs):
    data, batch = uneven()
    model, coral = begin("deepcoral:penalty=7", data, outputs=outputs, width=4)
    rows = batch.mask
    features = model.features(batch)[rows]
    losses = methods.row_losses(model.classify(features), batch.y[rows])
    plain = (batch.node_norm[rows] * losses).sum().item()
    covariances = []
    for env in range(3):
        x = features[batch.env_id[rows] == env].detach().double().numpy()
        n, m = len(x), x.mean(0)
        covariances.append((x.T @ x - n * np.outer(m, m)) / (n - 1))
    pairs = [((a - b) ** 2).sum() / (4 * 4**2) for a, b in itertools.permutations(covariances, 2)]
    expected = plain + 7 * np.mean(pairs)
    assert coral.loss(model, batch).item() == pytest.approx(expected, rel=1e-5)


def test_an_environment_of_one_node_has_no_covariance():
    data, batch = uneven()
    model, coral = begin("deepcoral", data)
    first = (batch.mask & (batch.env_id == 0)).nonzero()[0]
    few = torch.zeros_like(batch.mask)
    few[first] = True
    batch.mask = few | (batch.mask & (batch.env_id == 1))
    plain = methods.get("erm")(methods.NoOptions()).loss(model, batch)
    torch.testing.assert_close(coral.loss(model, batch), plain)
