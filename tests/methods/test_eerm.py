import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from upwind import InputError, methods, nets, sampling
from upwind.methods._as_used import as_used
from upwind.methods._edits import candidates, draw, toggle
from upwind.methods.eerm import rewards, risks


def make(spec, data, seed=0):
    torch.manual_seed(seed)
    model = nets.build("gcn", data.x.shape[1], 3, {"hidden": 8, "layers": 2, "dropout": 0.0})
    method = methods.build(methods.resolve(spec, data.name, data.shift))
    method.on_start(model, data)
    return model, method


def train(model, method, data, epochs):
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        model.train()
        optimiser.zero_grad()
        method.loss(model, sampling.whole(data)).backward()
        optimiser.step()


@st.composite
def edits(draw):
    n = draw(st.integers(2, 8))
    node = st.integers(0, n - 1)
    pairs = st.lists(st.tuples(node, node), max_size=20)
    edges, asked = draw(pairs), draw(pairs)
    return n, *(torch.tensor(p, dtype=torch.long).reshape(-1, 2).T for p in (edges, asked))


@given(edits())
def test_an_edit_takes_away_what_is_there_and_adds_what_is_not(problem):
    n, edges, (source, target) = problem
    before, mask = torch.zeros(n, n, dtype=torch.bool), torch.zeros(n, n, dtype=torch.bool)
    before[edges[0], edges[1]] = True
    mask[source, target] = True
    mask.fill_diagonal_(False)
    after = torch.zeros(n, n, dtype=torch.bool)
    edited, weight = toggle(edges, torch.full((edges.shape[1],), 2.0), source, target, n)
    after[edited[0], edited[1]] = True
    assert (after == before ^ mask).all()
    new = ~before[edited[0], edited[1]]
    assert (weight[new] == 1).all()
    assert (weight[~new] == 2).all()


def test_columns_are_drawn_one_after_another_by_softmax():
    scores = torch.tensor([[0.0, 1.0, -1.0, 0.5]])
    chance = scores[0].softmax(0)
    picks, log_probability = draw(scores.expand(40_000, 4), 2)
    share = torch.zeros(4, 4).index_put(
        (picks[:, 0], picks[:, 1]), torch.tensor(1 / 40_000), accumulate=True
    )
    expected = chance[:, None] * chance / (1 - chance[:, None])
    expected.fill_diagonal_(0)
    torch.testing.assert_close(share, expected, rtol=0, atol=0.01)
    torch.testing.assert_close(log_probability.exp(), expected[picks[:, 0], picks[:, 1]])


def test_half_the_candidates_are_in_neighbours_and_known_as_edges(small):
    nodes, present = candidates(small.edge_index, 60, 8)
    there = torch.zeros(60, 60, dtype=torch.bool)
    there[small.edge_index[0], small.edge_index[1]] = True
    assert (present == there[nodes, torch.arange(60)[:, None]]).all()
    assert present[:58, :4].all()
    assert not present[58:].any()


def test_nothing_is_quadratic_in_nodes():
    n = 100_000  # a byte per pair would be 10 GB
    ring = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
    nodes, _ = candidates(ring, n, 4)
    edges, _ = toggle(ring, None, nodes[:, 0], torch.arange(n), n)
    assert edges.shape[1] < n / 100


def test_the_loss_is_the_variance_plus_beta_times_the_mean_of_the_risks(small, monkeypatch):
    model, method = make("eerm:beta=3:generators=4", small)
    seen = []
    edit = method.edit

    def watched(*arguments):
        found = edit(*arguments)
        seen.append(found[0])
        return found

    monkeypatch.setattr(method, "edit", watched)
    loss = method.loss(model, sampling.whole(small))
    assert len(seen) == 2  # one for the generators, then one for the model
    each = risks(model, seen[1])
    torch.testing.assert_close(loss, each.var() + 3 * each.mean())
    graphs = {tuple(map(tuple, batch.edge_index.tolist())) for batch in seen[1]}
    assert len(graphs) == 4


def two_kinds(seed, wrong=0.25):
    """40 nodes, edges among those of one kind only; features tell the kind, labels mostly do."""
    random = torch.Generator().manual_seed(seed)
    kind = torch.arange(40) % 2
    near = torch.randint(0, 20, (2, 120), generator=random) * 2 + torch.arange(120) % 2
    flipped = torch.rand(40, generator=random) < wrong
    return Data(
        x=torch.eye(2)[kind] + 0.3 * torch.randn(40, 2, generator=random),
        edge_index=torch.cat([near, near.flip(0)], 1),
        edge_weight=None,
        y=torch.where(flipped, 1 - kind, kind),
        train_mask=torch.rand(40, generator=random) < 0.5,
        env_id=torch.zeros(40, dtype=torch.long),
        name="two kinds",
        shift="none",
    )


def spread(method, model, data, draws=20):
    """The mean variance of the risks over edits as the generators draw them now."""
    batch, total = sampling.whole(data), 0.0
    with torch.no_grad(), as_used(model):
        for _ in range(draws):
            where = candidates(batch.edge_index, batch.num_nodes, 16)
            total += float(risks(model, method.edit(batch, *where)[0]).var())
    return total / draws


SMALL = "eerm:generators=3:samples=4:rate=0.03"


@pytest.mark.parametrize("seed", range(3))
def test_the_generators_learn_to_raise_the_variance(seed):
    data = two_kinds(seed, wrong=0)
    model, method = make(SMALL, data, seed)
    train(model, methods.get("erm")(methods.NoOptions()), data, 30)
    batch, before = sampling.whole(data), spread(method, model, data)
    for _ in range(250):
        where = candidates(batch.edge_index, batch.num_nodes, 16)
        method._climb(model, batch, *where)
    assert spread(method, model, data) > 1.5 * before


@pytest.mark.parametrize("seed", range(3))
def test_the_model_s_risks_vary_less_than_those_of_erm_and_of_the_mean_risk(seed):
    data, found = two_kinds(seed), {}
    for spec in ("erm", f"{SMALL}:beta=100", f"{SMALL}:beta=0.05"):
        model, method = make(spec, data, seed)
        train(model, method, data, 80)
        _, judge = make(SMALL, data, seed + 50)
        found[spec] = spread(judge, model, data)
    ours = found.pop(f"{SMALL}:beta=0.05")
    assert all(ours < 0.8 * other for other in found.values())


def test_what_a_generator_adds_is_the_variance_less_that_of_the_others():
    found = rewards(torch.tensor([1.0, 2.0, 4.0]))
    expected = [7 / 3 - 2, 7 / 3 - 4.5, 7 / 3 - 0.5]
    assert found.tolist() == pytest.approx(expected)
    assert rewards(torch.tensor([1.0, 3.0])).tolist() == [2, 2]


def test_the_generators_are_not_the_loop_s_to_train_and_the_classifier_is(small):
    model, method = make("eerm", small)
    assert list(method.learned()) == []
    method.loss(model, sampling.whole(small)).backward()
    assert model.classifier.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("bad", ["generators=1", "samples=17"])
def test_options_that_cannot_be_are_refused(small, bad):
    with pytest.raises(InputError, match=bad):
        make(f"eerm:{bad}", small)
