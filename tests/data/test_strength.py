"""How strong a shift is said to be follows from what was put in."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from upwind.data import load, random_split, shift_strength
from upwind.data.picture import draw
from upwind.data.strength import principal_axes


def groups_of(data):
    return {group.name: group for group in shift_strength(data).groups}


@pytest.fixture
def data():
    """2,000 nodes, random split, four features of no meaning, one domain."""
    rng = np.random.default_rng(0)
    data = Data(
        x=torch.from_numpy(rng.standard_normal((2000, 4))).float(),
        y=torch.from_numpy(rng.integers(0, 3, 2000)),
        edge_index=torch.zeros(2, 0, dtype=torch.long),
    )
    data = random_split(data)
    data.num_classes = 3
    return data


def test_without_a_shift_all_distances_are_small(data):
    data.domain_id = torch.zeros(2000, dtype=torch.long)
    for group in groups_of(data).values():
        assert max(group.label_shift, group.concept_shift) < 0.1
        # The environments have some 130 nodes, hence their distance by chance.
        assert group.feature_shift < 0.2


def test_features_that_are_moved_apart_are_at_distance_one(data):
    data.x[data.test_mask, 2] += 100
    groups = groups_of(data)
    assert groups["test"].feature_shift == pytest.approx(1)
    assert groups["val"].feature_shift < 0.2
    assert shift_strength(data).axis == 1


def test_labels_that_are_swapped_count_as_far_as_they_are(data):
    data.y[data.test_mask] = 0
    share = float((data.y[data.train_mask] != 0).float().mean())
    assert groups_of(data)["test"].label_shift == pytest.approx(share)


def test_a_concept_that_turns_shows_within_the_domains_only(data):
    data.domain_id = torch.arange(2000) % 2
    data.y = torch.where(data.test_mask, 1 - data.domain_id, data.domain_id)
    test = groups_of(data)["test"]
    assert test.concept_shift == 1
    assert test.label_shift < 0.1


def test_where_no_domain_is_shared_there_is_no_concept_to_compare():
    groups = groups_of(load("cbas", shift="covariate"))
    assert groups["test"].concept_shift is None
    assert groups["id_test"].concept_shift < 0.3


def test_groups_are_training_its_environments_and_the_parts():
    strength = shift_strength(load("cbas", shift="concept"))
    assert [group.name for group in strength.groups] == [
        "train",
        *(f"env {i}" for i in range(5)),
        "id_val",
        "id_test",
        "val",
        "test",
    ]
    for group in strength.groups:
        assert sum(group.labels) == pytest.approx(1)
        assert group.nodes == len(group.along)


@given(n=st.integers(8, 40), features=st.integers(7, 30), seed=st.integers(0, 1000))
def test_the_principal_axes_are_those_of_the_dense_decomposition(n, features, seed):
    x = sp.random_array((n, features), density=0.4, rng=np.random.default_rng(seed), format="csr")
    dense = x.toarray() - x.toarray().mean(axis=0)
    left, size, _ = np.linalg.svd(dense, full_matrices=False)
    axes = principal_axes(x)
    for k in range(axes.shape[1]):
        near = np.abs(size - size[k]) < 1e-6 * size[0]
        if near.sum() == 1:  # else the axis is any of a plane
            np.testing.assert_allclose(np.abs(axes[:, k]), np.abs(left[:, k] * size[k]), atol=1e-6)


@given(seed=st.integers(0, 1000))
def test_the_feature_distance_is_the_statistic_of_kolmogorov_and_smirnov(seed):
    from upwind.data.strength import _kolmogorov_smirnov

    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 9, 30).astype(float), rng.integers(2, 12, 20).astype(float)
    assert _kolmogorov_smirnov(a, b) == pytest.approx(scipy.stats.ks_2samp(a, b).statistic)


def test_features_that_are_all_the_same_have_no_distance():
    data = load("cbas")  # without a shift all colours are the same
    assert {group.feature_shift for group in shift_strength(data).groups} == {0.0}


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_the_picture_is_saved_as_its_name_says(suffix, tmp_path):
    data = load("cbas", shift="concept")
    path = draw(data, shift_strength(data), tmp_path / f"cbas{suffix}")
    start = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(start)


def test_names_of_classes_may_be_long_and_hold_any_sign(tmp_path):
    data = load("cbas", shift="concept")
    data.label_names = ["_hidden", "$\\frac{", "costs $5 and $6", "very " * 40 + "long"]
    data.name = "mine_$1"
    path = draw(data, shift_strength(data), tmp_path / "names.svg")
    drawn = path.read_text()
    assert "_hidden" in drawn
    assert "very very very very ver…" in drawn


def test_of_many_nodes_so_many_by_chance_say_the_same(data, monkeypatch):
    data.x[data.test_mask] += 1.0
    whole = groups_of(data)
    monkeypatch.setattr("upwind.data.strength.MOST", 200)
    some = groups_of(data)
    for name, group in whole.items():
        assert some[name].nodes == group.nodes
        assert some[name].labels == group.labels
        assert len(some[name].along) == min(group.nodes, 200)
        assert some[name].feature_shift == pytest.approx(group.feature_shift, abs=0.2)
