import copy
import io

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

import upwind
from tests.flow.graphs import barabasi_albert, dense, path, plain_euler, undirected
from upwind import TAR, InputError, gradient_flow
from upwind.flow.fill import entropy


def both_ways(pairs):
    pairs = torch.tensor(pairs).T
    return torch.cat([pairs, pairs.flip(0)], dim=1)


N = 80
EDGES = both_ways(barabasi_albert(N, 3, seed=0))
LABELED = torch.arange(N) % 2 == 0


def tar_for(**options):
    return TAR(EDGES, labeled=LABELED, **{"tau": 0.01, **options})


def some_losses(seed=0):
    return torch.rand(N // 2, generator=torch.Generator().manual_seed(seed))


class GCN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GCNConv(8, 16), GCNConv(16, 3)

    def forward(self, x, edge_index):
        return self.second(F.relu(self.first(x, edge_index)), edge_index)


def generated_graph():
    """A ring whose thirds are the classes."""
    random = torch.Generator().manual_seed(0)
    y = 3 * torch.arange(N) // N
    x = F.one_hot(y, 8).float() + 0.5 * torch.randn(N, 8, generator=random)
    ring = both_ways([(i, (i + 1) % N) for i in range(N)])
    return Data(x=x, edge_index=ring, y=y, train_mask=LABELED)


def tar_on(data):
    return TAR(data.edge_index, labeled=data.train_mask, tau=0.01)


def train(model, tar, data, epochs, optimizer, autocast=False):
    """The loop of the README: one changed line."""
    for _ in range(epochs):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            logits = model(data.x, data.edge_index)
            losses = F.cross_entropy(
                logits[data.train_mask], data.y[data.train_mask], reduction="none"
            )
            loss = tar(losses)
        loss.backward()
        optimizer.step()
    return float(loss.detach())


def test_the_loss_is_that_of_the_weights_after_the_flow():
    losses = some_losses()
    tar = tar_for(steps=3, normalize="sum")
    filled = torch.full((N,), float(losses.mean()))
    filled[LABELED] = losses
    q, _ = plain_euler(
        dense(undirected(barabasi_albert(N, 3, seed=0), N)),
        filled.double().numpy(),
        np.full(N, 1 / N),
        3,
        0.01,
        0.1,
    )
    expected = (q[LABELED.numpy()] * losses.double().numpy()).sum()
    assert float(tar(losses)) == pytest.approx(expected, rel=1e-5)
    assert np.allclose(tar.weights, q, rtol=1e-4)


def test_with_mean_one_weights_equal_losses_give_their_mean():
    assert float(tar_for()(torch.full((N // 2,), 0.7))) == pytest.approx(0.7)


def test_gradients_reach_the_losses_and_never_the_weights():
    losses = some_losses().requires_grad_()
    tar = tar_for()
    tar(losses).backward()
    q = tar.weights[LABELED]
    assert torch.allclose(losses.grad, q / q.sum())
    assert not tar.weights.requires_grad


def test_weight_moves_towards_high_losses():
    tar = tar_for()
    losses = some_losses()
    for _ in range(20):
        tar(losses)
    q = tar.weights[LABELED]
    assert np.corrcoef(q, losses)[0, 1] > 0.5
    assert tar.effective_sample_size < N // 2
    ids, weight = tar.heaviest(3)
    assert torch.equal(weight, (q / q.mean()).sort(descending=True).values[:3])
    assert LABELED[ids].all()


def test_restart_forgets_and_carrying_over_remembers():
    once = tar_for(restart=True)
    once(some_losses())
    first = once.weights.clone()
    once(some_losses())
    assert torch.equal(once.weights, first)
    twice = tar_for(restart=False)
    twice(some_losses())
    assert torch.allclose(twice.weights, first)
    twice(some_losses())
    assert not torch.allclose(twice.weights, first)


def test_global_ids_in_any_order_give_the_same_loss():
    losses, ids = some_losses(), LABELED.nonzero().squeeze(1)
    order = torch.randperm(len(ids), generator=torch.Generator().manual_seed(1))
    here, there = tar_for(), tar_for()
    assert torch.allclose(here(losses), there(losses[order], nodes=ids[order]))
    assert torch.equal(here.weights, there.weights)


def test_entropy_fill_is_the_loss_that_the_model_expects():
    logits = torch.randn(N, 3, generator=torch.Generator().manual_seed(2))
    losses = some_losses()
    tar = tar_for(fill="entropy")
    tar(losses, logits=logits)
    p = logits.softmax(1)
    filled = (p * -p.log()).sum(1)
    filled[LABELED] = losses
    assert torch.allclose(tar.weights, gradient_flow(tar.graph, filled, tau=0.01).weights)
    binary = torch.tensor([0.3, -2.0])
    two_columns = torch.stack([torch.zeros(2), binary], 1)
    assert torch.allclose(entropy(binary), entropy(two_columns))
    assert torch.allclose(entropy(binary[:, None]), entropy(two_columns))


def test_harmonic_and_given_fills_reach_the_flow():
    losses = some_losses()
    known = torch.zeros(N)
    known[LABELED] = losses
    harmonic = tar_for(fill="harmonic")
    harmonic(losses)
    filled = upwind.harmonic_extension(harmonic.graph, known, LABELED)
    assert torch.allclose(harmonic.weights, gradient_flow(harmonic.graph, filled, tau=0.01).weights)
    given = tar_for(fill="given")
    given(losses, fill_values=filled)
    assert torch.equal(given.weights, harmonic.weights)


def test_a_prior_is_where_the_flow_starts_and_stays_for_equal_losses():
    prior = torch.linspace(1, 4, N)
    tar = tar_for(prior=prior)
    tar(torch.ones(N // 2))
    assert torch.allclose(tar.weights, prior / prior.sum())


def test_reconnected_weight_flows_among_labelled_nodes_only():
    tar = tar_for(reconnect=3)
    tar(some_losses())
    assert torch.allclose(tar.weights[~LABELED], torch.tensor(1 / N))
    assert not torch.allclose(tar.weights[LABELED], torch.tensor(1 / N))


def test_a_subgraph_of_all_nodes_is_the_whole_graph():
    losses = some_losses()
    whole, sampled = tar_for(), tar_for()
    ids = LABELED.nonzero().squeeze(1)
    assert torch.equal(whole(losses), sampled(losses, nodes=ids, subgraph=torch.arange(N)))


def test_in_a_sampled_batch_weight_flows_among_its_nodes_and_mass_is_kept():
    tar = tar_for(steps=5)
    batch = torch.arange(0, N, 3)
    ids = batch[LABELED[batch]]
    tar(torch.rand(len(ids)), nodes=ids, subgraph=batch)
    outside = torch.ones(N, dtype=torch.bool)
    outside[batch] = False
    assert (tar.weights[outside] == tar.weights[outside][0]).all()
    assert float(tar.weights.sum()) == pytest.approx(1, abs=1e-6)
    assert tar.weights[batch].std() > 0


def test_a_batch_with_its_own_edges_uses_those():
    batch = torch.tensor([4, 10, 20])
    tar = tar_for(tau=0.1)
    local = torch.tensor([[0, 1], [1, 0]])
    tar(torch.tensor([0.0, 1.0, 5.0]), nodes=batch, subgraph=(batch, local))
    assert tar.weights[10] > tar.weights[4]
    assert tar.weights[20] == pytest.approx(1 / N)


def test_weights_for_an_epoch_flow_when_asked_from_the_last_known_losses():
    tar = tar_for(update="epoch")
    tar.advance()
    losses, ids = some_losses(), LABELED.nonzero().squeeze(1)
    first, second = ids[:15], ids[15:]
    assert float(tar(losses[:15], nodes=first)) == pytest.approx(float(losses[:15].mean()))
    tar(losses[15:], nodes=second)
    assert (tar.weights == tar.weights[0]).all()
    tar.advance()
    at_once = tar_for()
    at_once(losses)
    assert torch.allclose(tar.weights, at_once.weights)


def test_the_factors_of_a_sampler_multiply_the_weights():
    losses, factor = some_losses(), torch.linspace(0, 1, N // 2)
    tar = tar_for()
    q = tar_for()
    q(losses)
    m = q.weights[LABELED] / q.weights[LABELED].mean()
    assert torch.allclose(tar(losses, sample_weight=factor), (factor * m * losses).sum())


def test_the_share_of_a_group_is_told_with_its_share_of_nodes():
    tar = tar_for()
    groups = torch.arange(N) % 4  # the labelled ones are in groups 0 and 2
    share = tar.weight_by(groups)
    assert share.groups.tolist() == [0, 2]
    assert torch.allclose(share.nodes, torch.tensor([0.5, 0.5]))
    assert torch.allclose(share.weight, torch.tensor([0.5, 0.5]))


@pytest.mark.parametrize("autocast", [False, True])
def test_a_gcn_trains_with_it(autocast):
    torch.manual_seed(0)
    data, model = generated_graph(), GCN()
    tar = tar_on(data)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    first = train(model, tar, data, 1, optimizer, autocast)
    last = train(model, tar, data, 40, optimizer, autocast)
    assert last < 0.5 * first
    assert tar.weights.dtype == torch.float32
    assert float(tar.weights.sum()) == pytest.approx(1, abs=1e-6)


def test_a_resumed_training_ends_bit_identical():
    data = generated_graph()

    def parts():
        torch.manual_seed(0)
        model = torch.nn.ModuleDict({"gcn": GCN(), "tar": tar_on(data)})
        return model, torch.optim.Adam(model["gcn"].parameters(), lr=0.05)

    model, optimizer = parts()
    train(model["gcn"], model["tar"], data, 4, optimizer)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    train(model["gcn"], model["tar"], data, 4, optimizer)

    resumed, optimizer = parts()
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    resumed.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    train(resumed["gcn"], resumed["tar"], data, 4, optimizer)
    for name, value in model.state_dict().items():
        # A loss that was never seen is NaN, before and after.
        assert np.array_equal(value, resumed.state_dict()[name], equal_nan=True), name


def test_casting_a_model_around_it_to_half_keeps_its_precision():
    model = torch.nn.ModuleDict({"gcn": GCN(), "tar": tar_for()}).to("cpu").half()
    assert model["gcn"].first.bias.dtype == torch.float16
    assert model["tar"].weights.dtype == torch.float32


@pytest.mark.parametrize("fill", ["mean", "harmonic"])
def test_a_state_that_was_saved_goes_on_to_the_same_bits(fill):
    tar = tar_for(fill=fill)
    tar(some_losses(0))
    resumed = tar_for(fill=fill)
    resumed.load_state_dict(tar.state_dict())
    assert torch.equal(tar(some_losses(1)), resumed(some_losses(1)))
    assert torch.equal(tar.weights, resumed.weights)


@pytest.mark.parametrize("options", [{}, {"fill": "harmonic"}, {"prior": torch.linspace(1, 4, N)}])
@pytest.mark.parametrize("restart", [False, True])
def test_overlapping_batches_keep_the_mass(options, restart):
    random = torch.Generator().manual_seed(3)
    tar = tar_for(**{"tau": 0.1, "restart": restart, **options})
    for _ in range(30):
        batch = torch.randperm(N, generator=random)[:25]
        ids = batch[LABELED[batch]]
        tar(torch.rand(len(ids), generator=random), nodes=ids, subgraph=batch)
        assert float(tar.weights.double().sum()) == pytest.approx(1, abs=1e-6)
        assert (tar.weights > 0).all()


@pytest.mark.parametrize("fill", ["mean", "harmonic"])
def test_a_batch_without_a_known_loss_adds_nothing(fill):
    tar = tar_for(fill=fill)
    losses = torch.zeros(0, requires_grad=True)
    loss = tar(losses, nodes=torch.zeros(0, dtype=torch.long), subgraph=torch.tensor([1, 3]))
    loss.backward()
    assert float(loss.detach()) == 0
    assert (tar.weights == tar.weights[0]).all()


def test_half_precision_losses_are_weighted_in_float32():
    losses = some_losses()
    whole = tar_for(normalize="sum")(losses.half().float())
    half = tar_for(normalize="sum")(losses.half())
    assert half.dtype == torch.float32
    assert torch.allclose(half, whole, rtol=1e-6)


@pytest.mark.parametrize("tau", [0.0, 1e6])
@pytest.mark.parametrize("size", [0.0, 1e-30, 1e30])
@pytest.mark.parametrize("beta", [0.0, 0.1])
def test_losses_of_any_size_leave_weights_positive(tau, size, beta):
    tar = tar_for(tau=tau, beta=beta, steps=50)
    for seed in range(3):
        assert torch.isfinite(tar(size * some_losses(seed)))
    assert (tar.weights > 0).all()
    assert float(tar.weights.sum()) == pytest.approx(1, abs=1e-5)


def test_a_step_that_is_compiled_whole_gives_the_same_loss():
    step = torch.compile(lambda tar, losses: tar(losses), backend="eager")
    assert torch.equal(step(tar_for(), some_losses()), tar_for()(some_losses()))


def test_a_prediction_that_rules_classes_out_has_an_entropy():
    assert entropy(torch.tensor([[0.0, 0.0, -torch.inf]])).tolist() == pytest.approx([np.log(2)])


@pytest.mark.parametrize("fill", ["mean", "harmonic"])
def test_it_can_be_copied(fill):
    tar = tar_for(fill=fill)
    tar(some_losses())
    other = copy.deepcopy(tar)
    assert torch.equal(other(some_losses()), tar(some_losses()))


def test_a_bad_loss_raises_and_leaves_the_weights_as_they_are():
    tar = tar_for()
    tar(some_losses())
    before = tar.weights.clone()
    losses = some_losses()
    losses[3] = torch.nan
    with pytest.raises(InputError, match="the loss of node 6 is nan"):
        tar(losses)
    assert torch.equal(tar.weights, before)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"fill": "median"}, "fill must be one of 'mean', 'entropy', 'harmonic', 'given'"),
        ({"normalize": "max"}, "normalize must be one of"),
        ({"update": "step"}, "update must be one of"),
        ({"labeled": torch.zeros(N, dtype=torch.bool)}, "labeled has no true entry"),
        ({"labeled": torch.ones(N)}, "labeled must be bool"),
        ({"prior": torch.zeros(N)}, r"prior .* is 0\.0 at node 0"),
        ({"labeled": [True]}, "labeled must be a tensor, not list"),
        ({"num_nodes": 3}, r"labeled must be bool and of shape \[3\]"),
        ({"tau": -1.0}, "tau must be finite"),
        ({"steps": -1}, "steps must be a whole number"),
    ],
)
def test_bad_options_are_named_in_one_sentence(options, sentence):
    with pytest.raises(InputError, match=sentence):
        TAR(EDGES, **{"labeled": LABELED, **options})


@pytest.mark.parametrize(
    ("losses", "options", "sentence"),
    [
        (torch.rand(3), {}, "each of the 40 labelled nodes, but their shape is"),
        (torch.tensor(0.5), {}, "use reduction='none'"),
        (torch.rand(2), {"nodes": torch.tensor([0])}, "nodes must name the node of each loss"),
        (torch.rand(1), {"nodes": torch.tensor([1])}, "node 1 has a loss, but is not marked"),
        (torch.rand(1), {"nodes": torch.tensor([500])}, "nodes must be ids from 0 to 79"),
        (torch.rand(1), {"nodes": torch.tensor([True])}, "nodes must be node ids, not torch.bool"),
        (torch.rand(1, 1), {"nodes": torch.tensor([[0]])}, "nodes must name the node of each loss"),
        (torch.ones(40).long(), {}, "floating-point numbers, not torch.int64"),
        ([0.5] * 40, {}, "floating-point numbers, not list"),
        (torch.ones(40).double() * 1e300, {}, r"the loss of node 0 is 1e\+300"),
        (torch.ones(40), {"subgraph": torch.tensor([2, 2])}, "node 2 is named twice"),
        (torch.ones(40), {"subgraph": LABELED}, "for a mask, pass"),
    ],
)
def test_bad_losses_are_named_in_one_sentence(losses, options, sentence):
    with pytest.raises(InputError, match=sentence):
        tar_for()(losses, **options)


def test_a_missing_fill_is_asked_for():
    with pytest.raises(InputError, match="fill='entropy' needs logits in each call"):
        tar_for(fill="entropy")(some_losses())
    with pytest.raises(InputError, match=r"a row for each of the 80 nodes, but their shape is \[3"):
        tar_for(fill="given")(some_losses(), fill_values=torch.zeros(3))
    with pytest.raises(InputError, match=r"but their shape is \[80, 1\]"):
        tar_for(fill="given")(some_losses(), fill_values=torch.zeros(N, 1))


def test_a_filled_loss_that_is_not_finite_names_the_node_of_the_whole_graph():
    logits = torch.zeros(2, 3)
    logits[1] = torch.nan
    tar = tar_for(fill="entropy")
    with pytest.raises(InputError, match="fill='entropy' gives node 7 a loss that is not finite"):
        tar(torch.ones(1), nodes=torch.tensor([4]), subgraph=torch.tensor([4, 7]), logits=logits)
    assert (tar.weights == tar.weights[0]).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # torch.compile warns of its own doings
def test_it_works_beside_a_compiled_model():
    torch.manual_seed(0)
    data, model = generated_graph(), GCN()
    tar = tar_on(data)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    compiled = torch.compile(model, backend="aot_eager")
    first = train(compiled, tar, data, 1, optimizer)
    assert train(compiled, tar, data, 20, optimizer) < first


def test_the_plain_path_of_the_readme_needs_no_num_nodes():
    tar = TAR(both_ways(path(4)), labeled=torch.tensor([True, False, False, True]))
    assert tar.graph.num_nodes == 4


def test_a_loss_that_is_not_finite_is_named_without_a_warning_of_torchs():
    edges = torch.tensor([[0, 1], [1, 0]])
    tar = upwind.TAR(edges, labeled=torch.tensor([True, True]))
    losses = torch.tensor([0.5, torch.nan], requires_grad=True)
    with pytest.raises(upwind.InputError, match="the loss of node 1 is nan"):
        tar(losses)
