"""The data sets of the catalogue are those of the public benchmark, node for node."""

import random

import numpy as np
import pytest
import torch

from upwind.data import CATALOG, PARTS, load, part_sizes
from upwind.errors import InputError

# The paper's table of set sizes: train, ID validation, ID test, OOD validation, OOD test.
PAPER = {
    ("webkb", "concept"): (282, 60, 60, 106, 109),
    ("webkb", "covariate"): (244, 61, 61, 125, 126),
    ("cbas", "concept"): (140, 140, 140, 140, 140),
    ("cbas", "covariate"): (420, 70, 70, 70, 70),
    ("twitch", "concept"): (13605, 2914, 2914, 6762, 7925),
    ("twitch", "covariate"): (14448, 3412, 3412, 6551, 6297),
}
REFERENCE = [
    *PAPER,
    ("dblp_word", "concept"),
    ("dblp_word", "covariate"),
    ("dblp_degree", "concept"),
]
SHIFTED = ["webkb", "cbas", "twitch", "dblp_word", "dblp_degree", "coauthor_cs"]


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "shift"), REFERENCE)
def test_every_node_is_in_the_part_environment_and_domain_of_the_reference(
    name, shift, raw_root, reference
):
    data = load(name, shift=shift, root=raw_root)
    expected = reference(f"splits/{name}_{shift}")
    for part in PARTS:
        ours = np.flatnonzero(data[f"{part}_mask"].numpy())
        np.testing.assert_array_equal(ours, expected[part], err_msg=part)
    np.testing.assert_array_equal(data.env_id.numpy(), expected["env_id"])
    np.testing.assert_array_equal(data.domain_id.numpy(), expected["domain_id"])


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "shift"), PAPER)
def test_the_parts_have_the_sizes_of_the_papers_table(name, shift, raw_root):
    data = load(name, shift=shift, root=raw_root)
    assert tuple(part_sizes(data).values()) == PAPER[name, shift]


@pytest.mark.realdata
@pytest.mark.parametrize("shift", ["concept", "covariate"])
def test_cbas_is_the_benchmarks_own_graph(shift, reference):
    data, expected = load("cbas", shift=shift), reference(f"graphs/cbas_{shift}")
    for key in ("x", "edge_index", "y"):
        np.testing.assert_array_equal(data[key].numpy(), expected[key], err_msg=key)


@pytest.mark.realdata
@pytest.mark.parametrize("name", SHIFTED)
def test_the_catalogue_says_what_the_graphs_are(name, raw_root):
    entry = CATALOG[name.removesuffix("_word").removesuffix("_degree")]
    data = load(name, root=raw_root)
    shape = data.num_nodes, data.edge_index.shape[1], data.x.shape[1], data.num_classes
    assert shape == entry.size
    assert data.metric == entry.metric
    assert data.num_envs == entry.envs["none"]
    assert load(name, shift="concept", root=raw_root).num_envs == entry.envs["concept"]
    covariate = load(name, shift="covariate", balance=True, root=raw_root)
    if name != "dblp_degree":
        assert covariate.num_envs == entry.envs["covariate"]


@pytest.mark.realdata
@pytest.mark.parametrize("name", SHIFTED)
@pytest.mark.parametrize("shift", ["concept", "covariate", "none"])
def test_no_environment_and_no_part_is_empty(name, shift, raw_root):
    data = load(name, shift=shift, balance=True, root=raw_root)
    envs = data.env_id[data.train_mask]
    assert envs.unique().tolist() == list(range(data.num_envs))
    sizes = part_sizes(data)
    assert sum(sizes.values()) == data.num_nodes
    assert {part for part, size in sizes.items() if size == 0} == (
        {"id_val", "id_test"} if shift == "none" else set()
    )


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("domain", "shift"), [("word", "covariate"), ("word", "concept"), ("degree", "concept")]
)
def test_cora_runs_through_the_code_that_is_right_on_dblp(
    domain, shift, raw_root, reference, tmp_path
):
    """Its own raw file could not be had: this is DBLP's in its place."""
    place = tmp_path / "CitationFull/cora/raw/cora.npz"
    place.parent.mkdir(parents=True)
    place.symlink_to(raw_root / "CitationFull/dblp/raw/dblp.npz")
    data = load(f"cora_{domain}", shift=shift, root=tmp_path)
    expected = reference(f"splits/dblp_{domain}_{shift}")
    for part in PARTS:
        np.testing.assert_array_equal(np.flatnonzero(data[f"{part}_mask"]), expected[part])
    assert data.name == f"cora_{domain}"
    assert load("cora", domain=domain, shift=shift, root=tmp_path).name == data.name


def test_every_data_set_of_the_catalogue_is_tested():
    shifted = {name.removesuffix("_word").removesuffix("_degree") for name in SHIFTED}
    long_tailed = {"cora_lt", "citeseer_lt", "pubmed_lt"}  # in test_longtail.py
    assert shifted | {"cora"} | long_tailed == set(CATALOG)


@pytest.mark.realdata
def test_dblp_by_degree_is_refused_with_what_would_work(raw_root):
    with pytest.raises(InputError, match=r"leave test without a node; balance=True"):
        load("dblp_degree", shift="covariate", root=raw_root)


@pytest.mark.realdata
def test_features_are_sparse_where_the_raw_ones_are(raw_root):
    layouts = {name: load(name, root=raw_root).x.layout for name in ("webkb", "twitch", "dblp")}
    assert layouts == {
        "webkb": torch.sparse_csr,
        "twitch": torch.strided,
        "dblp": torch.sparse_csr,
    }
    assert load("cbas").x.layout == torch.strided


def test_another_seed_gives_another_cbas():
    assert not torch.equal(load("cbas").edge_index, load("cbas", seed=1).edge_index)


def test_loading_leaves_the_global_random_states_alone():
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    torch.manual_seed(0)
    before = random.getstate(), np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    load("cbas", shift="concept")
    assert random.getstate() == before[0]
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[2])


@pytest.mark.realdata
def test_different_splits_have_different_names(raw_root):
    names = [
        load("webkb", root=raw_root).name,
        load("webkb", domain="degree", root=raw_root).name,
        load("webkb", domain=np.arange(617), root=raw_root).name,
        load("dblp", root=raw_root).name,
        load("dblp_word", domain="degree", root=raw_root).name,
        load("cora_lt", root=raw_root).name,
        load("cora_lt", ratio=20, root=raw_root).name,
    ]
    assert names == [
        "webkb",
        "webkb_degree",
        "webkb_vector",
        "dblp_word",
        "dblp_degree",
        "cora_lt",
        "cora_lt_20",
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("webk", "did you mean webkb"),
        ("cora_lT", "did you mean cora_lt"),
        ("dblp_words", "did you mean dblp_word"),
        ("nothing like it", "there are webkb, cbas"),
    ],
)
def test_an_unknown_name_is_answered_with_the_closest(name, message):
    with pytest.raises(InputError, match=message):
        load(name)


def test_an_unknown_shift_and_a_senseless_one_are_refused():
    with pytest.raises(InputError, match="there are covariate, concept, none"):
        load("cbas", shift="covariat")
    with pytest.raises(InputError, match="its own split"):
        load("cora_lt", shift="concept")
    with pytest.raises(InputError, match="its own domain"):
        load("cbas", domain="degree")
