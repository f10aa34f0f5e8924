import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch_geometric.data import Data

from tests.methods.tails import make, tail
from upwind import InputError, methods, nets, sampling
from upwind.methods._egos import choose, mix, neighbours
from upwind.methods.graphens import pairs

KEY = np.uint64(12345)


def graph_of(rows):
    rowptr = np.cumsum([0, *map(len, rows)])
    return rowptr, np.array([node for row in rows for node in row])


def drawn(rows, source, target, own, degree, times):
    """The neighbours of ``times`` new nodes, a row each."""
    rowptr, col = graph_of(rows)
    full = [np.full(times, value) for value in (source, target)]
    share, count = np.full(times, own, np.float32), np.full(times, degree)
    return neighbours(rowptr, col, *full, share, count, KEY).reshape(times, degree)


def of_sets(probability, size):
    """Chance of each set by drawing one after another without replacement."""
    if size == 0:
        return {frozenset(): 1.0}
    chances = {}
    for chosen, chance in of_sets(probability, size - 1).items():
        left = sum(p for node, p in probability.items() if node not in chosen)
        for node, p in probability.items():
            if node not in chosen:
                both = chosen | {node}
                chances[both] = chances.get(both, 0) + chance * p / left
    return chances


@pytest.mark.parametrize(("own", "degree"), [(0.5, 1), (0.7, 2), (0.9, 3)])
def test_neighbours_follow_the_mixed_distribution_without_replacement(own, degree):
    rows = [[2, 3, 4], [4, 5], [], [], [], []]
    mixed = {2: own / 3, 3: own / 3, 4: own / 3 + (1 - own) / 2, 5: (1 - own) / 2}
    expected = of_sets(mixed, degree)
    found = [frozenset(row) for row in drawn(rows, 0, 1, own, degree, 20_000).tolist()]
    counts = [found.count(chosen) for chosen in expected]
    assert sum(counts) == 20_000
    assert chisquare(counts, [20_000 * chance for chance in expected.values()]).pvalue > 1e-3


def test_a_target_without_neighbours_leaves_those_of_the_source():
    found = drawn([[2, 3], [], [], []], 0, 1, 0.6, 2, 50)
    assert (np.sort(found, 1) == [2, 3]).all()


@given(st.integers(0, 2**32), st.integers(2, 30), st.floats(0.5, 1))
def test_neighbours_are_distinct_and_those_of_source_or_target(seed, size, own):
    random = np.random.default_rng(seed)
    rows = [random.choice(size, random.integers(1, size), replace=False) for _ in range(2)]
    degree = int(random.integers(0, len(rows[0]) + 1))
    found = drawn([*rows, *[[]] * size], 0, 1, own, degree, 5)
    for row in found:
        assert len(set(row)) == degree
        assert set(row) <= set(rows[0]) | set(rows[1])


def test_features_are_chosen_by_saliency_without_replacement():
    saliency = np.array([4.0, 2.0, 1.0, 1.0, 0.0], np.float32)
    expected = of_sets(dict(enumerate((saliency / 8).tolist()[:4])), 2)
    found = []
    for i in range(20_000):
        seen = np.full(5, -1)
        choose(saliency, 2, KEY, i * 1000, 0, seen)
        found.append(frozenset(np.flatnonzero(seen == 0).tolist()))
    counts = [found.count(chosen) for chosen in expected]
    assert sum(counts) == 20_000
    assert chisquare(counts, [20_000 * chance for chance in expected.values()]).pvalue > 1e-3


def test_choosing_ends_where_one_feature_has_all_the_saliency():
    saliency, seen = np.zeros(50, np.float32), np.full(50, -1)
    saliency[7] = 1
    choose(saliency, 49, KEY, 0, 0, seen)
    assert (seen == 0).sum() == 49
    assert seen[7] == 0


@given(st.integers(0, 2**32))
def test_features_are_mixed_where_they_are_not_chosen(seed):
    random = np.random.default_rng(seed)
    x = (random.random((4, 9)) * (random.random((4, 9)) < 0.5)).astype(np.float32)
    sparse = torch.from_numpy(x).to_sparse_csr()
    parts = [p.numpy() for p in (sparse.crow_indices(), sparse.col_indices(), sparse.values())]
    source, target = np.array([0, 1, 2]), np.array([3, 3, 0])
    share = random.random(3).astype(np.float32)
    saliency = np.zeros((2, 9), np.float32)
    saliency[0, 4], saliency[1, 2] = 1, 1  # so sure that these are the ones
    row, count = np.array([0, 0, 1]), np.array([1, 0, 1])
    rowptr, col, value = mix(*parts, source, target, share, saliency, row, count, KEY)
    expected = share[:, None] * x[source] + (1 - share[:, None]) * x[target]
    expected[0, 4], expected[2, 2] = x[0, 4], x[2, 2]
    for v in range(3):
        dense = np.zeros(9)
        np.add.at(dense, col[rowptr[v] : rowptr[v + 1]], value[rowptr[v] : rowptr[v + 1]])
        np.testing.assert_allclose(dense, expected[v], rtol=1e-5)


def test_every_class_ends_as_large_as_the_largest(small):
    y, training = tail(small).y, small.train_mask.nonzero().squeeze(1)
    source, target = pairs(y, training)
    counts = y[training].bincount()
    assert (counts + y[source].bincount(minlength=3) == counts.max()).all()
    assert small.train_mask[source].all()
    assert small.train_mask[target].all()


def test_targets_are_drawn_by_the_logarithm_of_the_size_of_their_class():
    y = torch.tensor([0] * 2001 + [1] * 27 + [2])
    _, target = pairs(y, torch.arange(len(y)))
    share = y[target].bincount(minlength=3).double() / len(target)
    sizes = torch.tensor([2001.0, 27.0, 1.0]).log()
    torch.testing.assert_close(share, (sizes / sizes.sum()).double(), atol=0.04, rtol=0)


def start(spec, data, epoch=50):
    model, method = make(spec, data)
    method.on_epoch_start(epoch)
    return model, method


def test_new_rows_have_the_label_of_their_origin_and_only_hear(small):
    batch = sampling.whole(tail(small))
    model, method = start("graphens", small)
    method.loss(model, batch).backward()
    new = method.synthesise(batch)
    rows = torch.arange(60, new.num_nodes)
    assert len(rows) == new.synthesised > 0
    assert (new.y[60:] == small.y[new.n_id[60:]]).all()
    assert new.mask[60:].all()
    assert not torch.isin(new.edge_index[0], rows).any()
    degree = small.edge_index.unique(dim=1)[1].bincount(minlength=60)
    heard = new.edge_index[1].bincount(minlength=new.num_nodes)[60:]
    assert (heard <= degree[new.n_id[60:]]).all()


def test_the_loss_is_the_mean_over_old_and_new_nodes(small):
    batch = sampling.whole(tail(small))
    model, method = start("graphens", small)
    torch.manual_seed(1)
    loss = method.loss(model, batch)
    _, again = start("graphens", small)
    torch.manual_seed(1)
    new = again.synthesise(batch)
    expected = methods.row_losses(model(new)[new.mask], new.y[new.mask]).mean()
    torch.testing.assert_close(loss, expected)


def test_in_the_warm_up_a_new_node_has_all_neighbours_of_its_source(small):
    batch = sampling.whole(tail(small))
    _, method = start("graphens", small, epoch=0)
    new = method.synthesise(batch)
    for v in range(60, new.num_nodes):
        own = small.edge_index[0][small.edge_index[1] == new.n_id[v]].unique()
        assert new.edge_index[0][new.edge_index[1] == v].sort().values.tolist() == own.tolist()


def test_what_it_goes_by_is_the_gradient_of_the_last_step_at_the_features(small):
    batch = sampling.whole(tail(small))
    model, method = start("graphens", small)
    new = method.synthesise(batch)
    new.x.requires_grad_()
    methods.Step(model, new, model(new)).losses().mean().backward()
    found = method.gradient @ method.first_weight.T
    torch.testing.assert_close(found, new.x.grad[:60][small.train_mask])


def test_dense_and_sparse_features_give_the_same(small):
    losses = []
    tail(small)
    for x in (small.x, small.x.to_sparse_csr()):
        small.x = x
        model, method = start("graphens", small)
        torch.manual_seed(2)
        losses.append(method.loss(model, sampling.whole(small)))
    torch.testing.assert_close(*losses)


def test_tar_flows_on_the_graph_by_mean_losses_and_new_rows_weigh_what_their_origin_does(small):
    batch = sampling.whole(tail(small))
    model, method = start("graphens+tar:tau=0.05", small)
    method.loss(model, batch)
    tar = method.parts[1]
    new = method.parts[0].synthesise(batch)
    step = methods.Step(model, new, model(new))
    losses = step.losses().detach()
    weights = tar.weights(step, losses)
    origin = new.n_id[new.mask]
    assert tar.tar.graph.num_nodes == 60
    for node in origin.unique():
        torch.testing.assert_close(tar.tar.known_losses[node], losses[origin == node].mean())
    torch.testing.assert_close(
        weights, (tar.tar.weights / tar.tar.weights[small.train_mask].mean())[origin]
    )


def test_what_it_remembers_is_in_its_state(small):
    batch = sampling.whole(tail(small))
    model, method = start("graphens", small)
    method.loss(model, batch).backward()
    _, other = start("graphens", small)
    other.load_state_dict(method.state_dict())
    made = []
    for each in (method, other):
        torch.manual_seed(4)
        made.append(each.synthesise(batch))
    assert torch.equal(made[0].edge_index, made[1].edge_index)
    assert torch.equal(made[0].x, made[1].x)


def test_nothing_grows_with_the_square_of_the_nodes():
    n = 200_000  # a dense matrix would take 160 GB
    ring = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
    train = torch.arange(n) < 100
    data = Data(
        x=torch.ones(n, 2),
        edge_index=ring,
        y=(torch.arange(n) % 10 == 0).long(),
        train_mask=train,
        env_id=torch.full((n,), -1),
        num_classes=2,
        num_nodes=n,
        name="ring",
        shift=None,
    )
    model = nets.build("gcn", 2, 2, {"hidden": 2, "layers": 1, "dropout": 0.0})
    method = methods.build(methods.resolve("graphens", "ring", None))
    method.on_start(model, data)
    method.on_epoch_start(50)
    assert method.synthesise(sampling.whole(data)).synthesised == 80


def test_a_backbone_without_such_a_first_layer_is_refused(small):
    options = {"hidden": 8, "layers": 2, "dropout": 0.0}
    model = nets.build("torch_geometric.nn:GCN", 8, 3, options)
    method = methods.build(methods.resolve("graphens", "small", None))
    with pytest.raises(InputError, match="graphens reads how the loss changes"):
        method.on_start(model, small)
