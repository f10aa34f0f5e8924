"""The shifts make a split of any graph by any attribute, or say why they cannot."""

import random
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch_geometric.data import Data

from upwind import concept_shift, covariate_shift
from upwind.data import PARTS, part_sizes, random_split
from upwind.errors import InputError

SHIFTS = [covariate_shift, concept_shift]


def graph(y, **more):
    n = len(y)
    ring = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
    return Data(edge_index=ring, y=torch.as_tensor(y), num_nodes=n, **more)


@st.composite
def graphs_with_domains(draw):
    """A labelled graph (some labels missing) and a domain of words, of few numbers, or of many."""
    n = draw(st.integers(1, 300))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    y = rng.integers(0, draw(st.integers(1, 6)), n)
    y[rng.random(n) < draw(st.sampled_from([0.0, 0.3]))] = -1
    skew = rng.random(n) ** draw(st.sampled_from([1, 5]))
    domain = np.floor(skew * draw(st.sampled_from([1, 2, 3, 10, 10_000]))).astype(int)
    return graph(y), domain.astype(str) if draw(st.booleans()) else domain


@pytest.mark.parametrize("make", SHIFTS)
@pytest.mark.parametrize("balance", [False, True])
@given(drawn=graphs_with_domains())
def test_a_split_is_whole_or_refused(make, balance, drawn):
    data, domain = drawn
    try:
        split = make(data, domain, balance=balance)
    except InputError:
        assume(False)
    masks = np.stack([split[f"{part}_mask"].numpy() for part in PARTS])
    labelled = data.y.numpy() >= 0
    np.testing.assert_array_equal(masks.sum(axis=0), labelled)  # once each, and nowhere unlabelled
    assert min(part_sizes(split).values()) > 0
    envs = split.env_id[split.train_mask]
    assert envs.unique().tolist() == list(range(split.num_envs))
    assert split.env_id[~split.train_mask].eq(-1).all()
    names = np.array(split.domain_names)[split.domain_id.numpy()]
    np.testing.assert_array_equal(names, domain.astype(str))
    assert torch.equal(split.train_mask, make(data, domain, balance=balance).train_mask)


@given(drawn=graphs_with_domains())
def test_covariate_parts_and_environments_share_no_domain(drawn):
    data, domain = drawn
    try:
        split = covariate_shift(data, domain)
    except InputError:
        assume(False)
    inside = split.train_mask | split.id_val_mask | split.id_test_mask
    groups = [
        split.domain_id[inside],
        *(split.domain_id[split[f"{p}_mask"]] for p in ("val", "test")),
    ]
    highest = [int(group.max()) for group in groups]
    lowest = [int(group.min()) for group in groups]
    assert highest[0] < lowest[1] <= highest[1] < lowest[2]
    envs = [split.domain_id[split.env_id == env] for env in range(split.num_envs)]
    for before, after in pairwise(envs):
        assert before.max() < after.min()


@given(drawn=graphs_with_domains())
def test_balancing_changes_nothing_that_was_whole(drawn):
    data, domain = drawn
    for make in SHIFTS:
        try:
            plain = make(data, domain)
        except InputError:
            continue
        balanced = make(data, domain, balance=True)
        for part in PARTS:
            assert torch.equal(plain[f"{part}_mask"], balanced[f"{part}_mask"])


@given(
    seed=st.integers(0, 1000),
    n=st.integers(2, 200),
    shares=st.lists(st.floats(0.01, 1), min_size=1, max_size=4),
)
def test_balance_is_offered_only_where_it_works(seed, n, shares):
    rng = np.random.default_rng(seed)
    data = graph(rng.integers(0, 2, n))
    domain = np.searchsorted(np.cumsum(shares) / np.sum(shares), np.arange(n) / n)
    for make in SHIFTS:
        try:
            make(data, domain)
        except InputError as refused:
            if "balance=True" in str(refused):
                assert min(part_sizes(make(data, domain, balance=True)).values()) > 0


@pytest.mark.parametrize("make", SHIFTS)
def test_where_nothing_can_be_balanced_nothing_is_offered(make):
    with pytest.raises(InputError) as refused:
        make(graph(np.arange(400) % 2), np.zeros(400))
    assert "balance" not in str(refused.value)


@given(seed=st.integers(0, 1000), n=st.integers(60, 300), shares=st.floats(0.55, 0.9))
def test_two_domains_of_any_sizes_can_be_balanced(seed, n, shares):
    domain = (np.arange(n) < n * shares).astype(int)
    y = np.random.default_rng(seed).permutation(np.arange(n) % 2)
    for flipped in (domain, 1 - domain):
        split = covariate_shift(graph(y), flipped, balance=True)
        assert min(part_sizes(split).values()) > 0


def test_an_empty_part_is_refused_in_a_sentence_that_says_what_would_work():
    domain = np.repeat([0, 1, 2], [30, 30, 40])
    data = graph(np.arange(100) % 2)
    with pytest.raises(
        InputError, match=r"leave test without a node; balance=True .* takes the nearest"
    ):
        covariate_shift(data, domain)
    assert part_sizes(covariate_shift(data, domain, balance=True)) == {
        "train": 40,
        "id_val": 10,
        "id_test": 10,
        "val": 20,
        "test": 20,
    }


def test_a_concept_that_could_not_turn_is_refused():
    domain = np.repeat([0, 1], [100, 300])
    data = graph(np.arange(400) % 2)
    with pytest.raises(InputError, match=r"domain 1 holds 300 of 400 nodes.*; use balance=True"):
        concept_shift(data, domain)
    split = concept_shift(data, domain, balance=True)
    ties = {}
    for part in ("train", "test"):
        for d in (0, 1):
            chosen = split[f"{part}_mask"] & (split.domain_id == d)
            ties[part, d] = float(split.y[chosen].float().mean())
    assert ties["train", 0] > 0.8 > 0.2 > ties["train", 1]
    assert ties["test", 0] < 0.2 < 0.8 < ties["test", 1]


@pytest.mark.parametrize("make", SHIFTS)
def test_a_single_domain_cannot_shift(make):
    for balance in (False, True):
        with pytest.raises(InputError, match="give a domain with"):
            make(graph(np.arange(100) % 2), np.zeros(100), balance=balance)


def test_a_single_class_has_no_concept():
    with pytest.raises(InputError, match="1 distinct label; it needs two"):
        concept_shift(graph(np.zeros(100, dtype=int)), np.arange(100))


@pytest.mark.parametrize("make", SHIFTS)
def test_a_handful_of_nodes_is_too_few(make):
    with pytest.raises(InputError, match="label more nodes"):
        make(graph(np.arange(6) % 2), np.arange(6))


def test_the_tie_is_as_strong_as_it_was_asked_to_be():
    data = graph(np.arange(20_000) % 2)
    domain = np.arange(20_000) // 10_000
    split = concept_shift(data, domain, bias=(0.9, 0.6, 0.9, 0.9, 0.5))
    shares = {
        part: float(split.y[split[f"{part}_mask"] & (split.domain_id == 0)].float().mean())
        for part in ("train", "test")
    }
    # Environment 0 alone: of both sides in equal number, 0.9 and 0.1 are taken, as often as 0.4.
    first = split.env_id == 0
    assert abs(float(split.y[first & (split.domain_id == 0)].float().mean()) - 0.9) < 0.02
    assert shares["train"] > 0.75
    assert shares["test"] < 0.4


def test_descending_trains_on_the_largest_values():
    data = graph(np.arange(100) % 2)
    up, down = (covariate_shift(data, np.arange(100), descending=d) for d in (False, True))
    assert int(up.domain_id[up.train_mask].max()) < 60
    assert int(down.domain_id[down.train_mask].min()) >= 40


def test_the_shifts_leave_the_graph_and_the_global_random_state_alone():
    data, before = graph(np.arange(100) % 2), random.getstate()
    keys = set(data.keys())
    for make in SHIFTS:
        make(data, np.arange(100) % 10)
    random_split(data)
    assert set(data.keys()) == keys
    assert random.getstate() == before


def test_a_random_split_is_60_20_20_of_the_labelled_nodes():
    y = np.arange(125) % 5
    y[100:] = -1
    split = random_split(graph(y))
    assert list(part_sizes(split).values()) == [60, 0, 0, 20, 20]
    with pytest.raises(InputError, match="at least 5 labelled nodes"):
        random_split(graph([0, 1, -1, -1, -1]))


@pytest.mark.parametrize("make", SHIFTS)
def test_the_time_grows_no_faster_than_a_sort(make):
    """Counted in draws and not in seconds: each of five passes visits a node at most once."""

    class Counting(random.Random):
        draws = 0

        def random(self):
            self.draws += 1
            return super().random()

    n, rng = 3000, Counting(0)
    make(graph(np.arange(n) % 3), np.arange(n) % 50, seed=rng)
    assert rng.draws <= 5 * 2 * n
