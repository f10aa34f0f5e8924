import pytest
import torch
from torch.nn.functional import cross_entropy

import upwind
from upwind import methods, nets, sampling

NET = {"hidden": 8, "layers": 1, "dropout": 0.0}


def make(spec, data):
    model = nets.build("gcn", 8, 3, NET)
    method = methods.build(methods.resolve(spec, data.name, data.shift))
    method.on_start(model, data)
    return model, method


@pytest.mark.filterwarnings("ignore::upwind.InputWarning")
@pytest.mark.parametrize("restart", ["true", "false"])
def test_a_step_on_a_sample_is_the_flow_written_out(small, restart):
    model, method = make(f"tar:tau=0.05:steps=4:beta=0.2:restart={restart}", small)
    sampler = sampling.Saint(
        small, seed=0, batch_size=12, walk_length=1, steps_per_epoch=3, coverage=3
    )
    graph = upwind.Graph.from_edge_index(small.edge_index, num_nodes=60)
    q = torch.full((60,), 1 / 60)
    for batch in sampler.epoch():
        each = cross_entropy(model(batch)[batch.mask], batch.y[batch.mask], reduction="none")
        losses = torch.full((len(batch.n_id),), float(each.detach().mean()))
        losses[batch.mask] = each.detach()
        if restart == "true":
            q = torch.full((60,), 1 / 60)
        start = q[batch.n_id]
        flow = upwind.gradient_flow(
            graph.subgraph(batch.n_id), losses, steps=4, tau=0.05, beta=0.2, start=start
        )
        q[batch.n_id] = flow.weights
        mean_one = q / q[small.train_mask].mean()
        rows = batch.n_id[batch.mask]
        expected = (batch.node_norm[batch.mask] * mean_one[rows] * each).sum()
        torch.testing.assert_close(method.loss(model, batch), expected)
    torch.testing.assert_close(method.node_weights(), 60 * q)


def test_without_a_step_size_it_is_erm(small):
    model, method = make("tar:tau=0", small)
    batch = sampling.whole(small)
    plain = methods.get("erm")(methods.NoOptions()).loss(model, batch)
    torch.testing.assert_close(method.loss(model, batch), plain)


def test_once_an_epoch_the_weights_wait_for_its_end(small):
    model, method = make("tar:tau=0.1:update=epoch", small)
    method.loss(model, sampling.whole(small))
    assert torch.allclose(method.node_weights(), torch.ones(60))
    method.on_epoch_end(model, small)
    assert not torch.allclose(method.node_weights(), torch.ones(60))


@pytest.mark.parametrize("fill", ["mean", "entropy", "harmonic"])
@pytest.mark.parametrize("update", ["call", "epoch"])
def test_every_filling_works_in_batches_and_once_an_epoch(small, fill, update):
    model, method = make(f"tar:tau=0.1:fill={fill}:update={update}", small)
    sampler = sampling.Saint(
        small, seed=0, batch_size=12, walk_length=1, steps_per_epoch=3, coverage=3
    )
    for _ in range(2):
        for batch in sampler.epoch():
            assert method.loss(model, batch).isfinite()
        method.on_epoch_end(model, small)
    assert method.node_weights().std() > 0


def test_the_papers_settings_are_the_defaults_on_its_data():
    options = methods.resolve("tar", "cbas", "concept")["tar"]
    assert (options["tau"], options["steps"], options["beta"]) == (0.01, 10, 0.1)
    options = methods.resolve("tar:beta=0.5", "pubmed_lt", "long_tail")["tar"]
    assert (options["tau"], options["steps"], options["beta"]) == (0.01, 3, 0.5)


@pytest.mark.parametrize("update", ["call", "epoch"])
def test_entropy_is_that_of_each_nodes_own_prediction_where_nodes_are_left_out(small, update):
    small.train_mask[:10] = False
    small.edge_index = small.edge_index[:, (small.edge_index >= 10).all(0)]
    weights = []
    for kept in (torch.arange(60) >= 0, torch.arange(60) >= 10):
        small.kept_nodes = kept
        torch.manual_seed(0)
        model, method = make(f"tar:tau=0.1:fill=entropy:update={update}", small)
        method.loss(model.eval(), sampling.whole(small))
        method.on_epoch_end(model, small)
        weights.append(method.node_weights())
    torch.testing.assert_close(*weights)
    assert weights[0].std() > 0


def test_from_the_balanced_prior_classes_weigh_the_same_before_any_loss(small):
    small.train_mask[(small.train_mask & (small.y == 1)).nonzero()[2:]] = False
    _, method = make("tar:prior=balanced", small)
    train = small.train_mask
    share = torch.zeros(3).index_add_(0, small.y[train], method.node_weights()[train])
    torch.testing.assert_close(share, share.mean().expand(3))
    assert torch.allclose(method.node_weights()[~train], method.node_weights()[~train].mean())


def test_a_strong_entropy_keeps_the_weights_at_the_prior(small):
    small.train_mask[(small.train_mask & (small.y == 1)).nonzero()[2:]] = False
    model, method = make("tar:prior=balanced:beta=1e4:tau=1e-6:steps=50", small)
    before = method.node_weights().clone()
    method.loss(model, sampling.whole(small))
    torch.testing.assert_close(method.node_weights(), before, rtol=1e-2, atol=0)


def test_clean_losses_are_those_without_dropout(small):
    torch.manual_seed(0)
    model = nets.build("gcn", 8, 3, NET | {"dropout": 0.5})
    known = []
    for losses in ("clean", "trained"):
        method = methods.build(methods.resolve(f"tar:losses={losses}", "small", None))
        method.on_start(model, small)
        batch = sampling.whole(small)
        method.loss(model.train(), batch)
        assert model.training
        known.append(method.tar.known_losses[small.train_mask])
    with torch.no_grad():
        clean = methods.Step(model, batch, model.eval()(batch)).losses()
    assert (known[0] - clean).abs().max() < (known[1] - clean).abs().max()


@pytest.mark.filterwarnings("ignore::upwind.InputWarning")
def test_it_says_how_far_its_weights_moved(small):
    model, method = make("tar:tau=0.1", small)
    assert method.reach().mass == 0
    method.loss(model, sampling.whole(small))
    moved = (method.node_weights() / 60 - 1 / 60).abs().sum() / 2
    assert method.reach().mass == pytest.approx(float(moved), rel=1e-4)
    assert make("erm", small)[1].reach() is None
