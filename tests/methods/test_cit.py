import pytest
import torch
from torch.nn.functional import one_hot
from torch_geometric.data import Data

from upwind import InputError, methods, nets, sampling
from upwind.methods._clusters import (
    cut_loss,
    orthogonality_loss,
    other_clusters,
    statistics,
    transfer,
)

NET = {"hidden": 16, "layers": 2, "dropout": 0.0}


def make(spec, data, seed=0):
    torch.manual_seed(seed)
    model = nets.build("gcn", data.x.shape[1], 3, NET)
    method = methods.build(methods.resolve(spec, data.name, data.shift))
    method.on_start(model, data)
    return model, method


def test_the_statistics_of_hard_clusters_are_their_means_and_deviations():
    z, cluster = torch.randn(40, 5) + 3, torch.arange(40) % 4
    mean, deviation = statistics(z, one_hot(cluster).float())
    for c in range(4):
        torch.testing.assert_close(mean[c], z[cluster == c].mean(0))
        expected = z[cluster == c].std(0, correction=0)
        torch.testing.assert_close(deviation[c], expected, rtol=1e-3, atol=1e-3)


def test_nodes_take_on_the_statistics_of_the_cluster_that_they_are_sent_to():
    z, cluster = torch.randn(60, 5), torch.arange(60) % 3
    z = z * (1 + cluster[:, None]) + 4 * cluster[:, None]
    mean, deviation = statistics(z, one_hot(cluster).float())
    moved = transfer(z, cluster, (cluster + 1) % 3, mean, deviation)
    for c in range(3):
        sent = moved[(cluster + 1) % 3 == c]
        torch.testing.assert_close(sent.mean(0), mean[c], rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(sent.std(0, correction=0), deviation[c], rtol=1e-3, atol=1e-3)
        of_own = (z[cluster == c] - mean[c]) / deviation[c]
        there = (c + 1) % 3
        kept = (moved[cluster == c] - mean[there]) / deviation[there]
        torch.testing.assert_close(kept, of_own, rtol=1e-3, atol=1e-3)


def test_a_node_is_never_sent_to_its_own_cluster_and_to_all_others_alike():
    own = torch.full((30_000,), 2)
    share = other_clusters(own, 4).bincount(minlength=4) / 30_000
    assert share[2] == 0
    assert share[[0, 1, 3]].tolist() == pytest.approx([1 / 3] * 3, abs=0.02)


def test_the_cut_is_that_of_dense_matrices():
    random = torch.Generator().manual_seed(1)
    edges = torch.randint(0, 10, (2, 30), generator=random)
    weight = torch.rand(30, generator=random)
    s = torch.rand(10, 3, generator=random).softmax(1)
    a = torch.zeros(10, 10).index_put((edges[0], edges[1]), weight, accumulate=True)
    d = torch.diag(a.sum(0) + a.sum(1)) / 2
    expected = -torch.trace(s.T @ a @ s) / torch.trace(s.T @ d @ s)
    torch.testing.assert_close(cut_loss(edges, weight, s), expected)


def test_clusters_that_cut_nothing_and_are_of_one_size_have_the_least_losses():
    edges = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
    halves = one_hot(torch.tensor([0, 0, 1, 1])).float()
    assert float(cut_loss(edges, None, halves)) == pytest.approx(-1)
    assert float(orthogonality_loss(halves)) == pytest.approx(0, abs=1e-6)
    assert float(orthogonality_loss(torch.full((4, 2), 0.5))) > 0.5


def blocks(seed):
    """Two blocks of 40 nodes with few edges between them; labels have nothing to do with them."""
    random = torch.Generator().manual_seed(seed)
    inside = torch.randint(0, 40, (2, 300), generator=random)
    across = torch.randint(0, 40, (2, 15), generator=random) + torch.tensor([[0], [40]])
    edges = torch.cat([inside, inside + 40, across], 1)
    data = Data(
        x=torch.randn(80, 8, generator=random),
        edge_index=torch.cat([edges, edges.flip(0)], 1),
        edge_weight=None,
        y=torch.arange(80) % 3,
        train_mask=torch.arange(80) % 2 == 0,
        env_id=torch.zeros(80, dtype=torch.long),
        name="blocks",
        shift="none",
    )
    return data, torch.arange(80) // 40


@pytest.mark.parametrize("seed", range(3))
def test_training_finds_the_graph_s_clusters(seed):
    data, block = blocks(seed)
    model, method = make("cit:clusters=2", data, seed)
    optimiser = torch.optim.Adam([*model.parameters(), *method.learned()], lr=0.01)
    for _ in range(80):
        optimiser.zero_grad()
        method.loss(model, sampling.whole(data)).backward()
        optimiser.step()
    found = method.assign(model.features(sampling.whole(data))).argmax(1)
    agreement = float((found == block).float().mean())
    assert max(agreement, 1 - agreement) > 0.9


def test_the_loss_is_the_released_sum_and_moved_nodes_change_it(small):
    model, method = make("cit:clusters=4:probability=0", small)
    batch = sampling.whole(small)
    features = model.features(batch)
    s = method.assign(features).softmax(1)
    logits = model.classify(features)[batch.mask]
    plain = methods.row_losses(logits, batch.y[batch.mask]).mean()
    cut = cut_loss(batch.edge_index, None, s)
    expected = 0.5 * plain + 0.3 * cut + 0.2 * orthogonality_loss(s)
    torch.testing.assert_close(method.loss(model, batch), expected)
    model, method = make("cit:clusters=4:probability=1", small)
    assert abs(float((method.loss(model, batch) - expected).detach())) > 1e-3


def test_nodes_are_moved_in_every_so_many_th_epoch_only(small):
    model, method = make("cit:probability=1:every=3", small)
    losses = []
    for epoch in range(4):
        method.on_epoch_start(epoch)
        torch.manual_seed(epoch)
        losses.append(float(method.loss(model, sampling.whole(small)).detach()))
    assert losses[1] == losses[2]
    assert losses[0] != losses[1]
    assert losses[3] != losses[2]


def test_so_many_nodes_are_moved_as_was_asked(small):
    _, method = make("cit:probability=0.3", small)
    z = torch.randn(3000, 16)
    moved = method._moved(z, method.assign(z).softmax(1))
    assert float((moved != z).any(1).float().mean()) == pytest.approx(0.3, abs=0.04)


def test_one_cluster_is_refused(small):
    with pytest.raises(InputError, match="clusters=1"):
        make("cit:clusters=1", small)
