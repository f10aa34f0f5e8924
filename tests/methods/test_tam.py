import numpy as np
import torch
from scipy.spatial.distance import jensenshannon

from tests.methods.tails import make
from upwind import methods, sampling
from upwind.methods.tam import connectivity, distribution, divergence, neighbour_means


def written_out(step, options, counts):
    """Node by node and class by class, as the paper has it."""
    batch, classes = step.batch, len(counts)
    share = options.gamma * counts / counts.sum() + 1 - options.gamma
    sharp = options.phi * (1 + share - share.max())
    z = step.logits.detach().numpy().astype(float) * sharp
    label = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    rows = batch.mask.nonzero()[:, 0].tolist()
    for v in rows:
        label[v] = np.eye(classes)[batch.y[v]]
    edges = batch.edge_index.T.tolist()
    near = np.array([np.mean([label[v], *(label[s] for s, t in edges if t == v)], 0) for v in rows])
    y = batch.y[rows].numpy()
    mean = np.array([near[y == c].mean(0) for c in range(classes)]).clip(1e-6)
    near = near.clip(1e-6)

    def apart(p, q):
        # SciPy's is the root, and of vectors scaled to one.
        return jensenshannon(p / p.sum(), q / q.sum()) ** 2

    margins = np.zeros((len(rows), classes))
    for i, v in enumerate(y):
        for c in set(range(classes)) - {v}:
            ratio = near[i, v] / mean[v, v] * mean[v, c] / near[i, c]
            own, other = apart(near[i], mean[v]), apart(near[i], mean[c])
            between = apart(mean[v], mean[c])
            way = (own**2 + between**2 - other**2) / (2 * between**2)
            margins[i, c] = options.alpha * np.log(min(1, ratio)) - options.beta * way
    return margins


def test_margins_are_those_written_out_after_the_warm_up(small):
    small.train_mask &= (small.y > 0) | (torch.arange(60) % 2 == 0)
    model, method = make("tam:warmup=2", small)
    batch = sampling.whole(small)
    step = methods.Step(model, batch, model(batch))
    method.on_epoch_start(1)
    assert method.margins(step) is None
    method.on_epoch_start(2)
    counts = small.y[small.train_mask].bincount(minlength=3).numpy()
    expected = written_out(step, method.options, counts)
    np.testing.assert_allclose(method.margins(step).numpy(), expected, rtol=2e-3, atol=2e-4)


def test_a_node_as_its_class_is_has_no_margin_and_one_like_another_class_a_whole_one():
    near = torch.tensor([[0.8, 0.2], [0.8, 0.2], [0.3, 0.7]])
    y = torch.tensor([0, 0, 1])
    torch.testing.assert_close(connectivity(near, y), torch.ones(3, 2))
    torch.testing.assert_close(distribution(near, y), torch.zeros(3, 2), atol=1e-5, rtol=0)
    near = torch.tensor([[0.9, 0.1], [0.3, 0.7], [0.3, 0.7]])
    assert torch.allclose(distribution(near, y)[1], torch.tensor([0.0, 1.0]), atol=1e-5)


def test_divergence_is_symmetric_and_zero_only_of_equals():
    p, q = torch.tensor([0.2, 0.8]), torch.tensor([0.6, 0.4])
    assert divergence(p, q) == divergence(q, p) > divergence(p, p) == 0


def test_a_node_counts_among_its_neighbours(small):
    means = neighbour_means(torch.eye(60), small.edge_index)
    torch.testing.assert_close(means.sum(1), torch.ones(60))
    assert (means.diagonal() > 0).all()
