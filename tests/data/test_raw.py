"""Raw files are found, read as PyG reads them, and never run."""

import hashlib
import pickle
import shutil
import warnings

import numpy as np
import pytest
import torch
from torch_geometric.datasets import CitationFull, Coauthor, Planetoid, Twitch, WebKB

from upwind.data import CATALOG, load
from upwind.data.planetoid import planetoid
from upwind.data.raw import RawFiles
from upwind.data.sources import Source, source
from upwind.data.twitch import LANGUAGES
from upwind.data.webkb import UNIVERSITIES
from upwind.errors import InputError


@pytest.fixture
def pyg_root(raw_root, tmp_path):
    """A folder of links to the raw files of one collection, beside which PyG may write."""

    def link(collection):
        for file in (raw_root / collection).rglob("*"):
            place = tmp_path / file.relative_to(raw_root)
            if file.is_file():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(file)
        return str(tmp_path / collection)

    return link


def read(name, raw_root):
    return CATALOG[name].read(RawFiles(raw_root))


def assert_same(ours, theirs, keys=("edge_index", "y")):
    assert torch.equal(ours.x.to_dense() if ours.x.layout != torch.strided else ours.x, theirs.x)
    for key in keys:
        assert torch.equal(ours[key], theirs[key]), key


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "title"), [("cora", "Cora"), ("citeseer", "CiteSeer"), ("pubmed", "PubMed")]
)
def test_planetoid_is_as_pyg_reads_it(name, title, raw_root, pyg_root):
    theirs = Planetoid(pyg_root("Planetoid"), title, split="full")[0]
    masks = ("train_mask", "val_mask", "test_mask")
    assert_same(read(f"{name}_lt", raw_root), theirs, ("edge_index", "y", *masks))


@pytest.mark.realdata
def test_the_citation_networks_are_as_pyg_reads_them(raw_root, pyg_root):
    assert_same(read("dblp", raw_root), CitationFull(pyg_root("CitationFull"), "DBLP")[0])


@pytest.mark.realdata
@pytest.mark.slow
def test_the_coauthors_are_as_pyg_reads_them(raw_root, pyg_root):
    assert_same(read("coauthor_cs", raw_root), Coauthor(pyg_root("Coauthor"), "CS")[0])


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "pyg", "parts"), [("webkb", WebKB, UNIVERSITIES), ("twitch", Twitch, LANGUAGES)]
)
def test_several_graphs_become_one(name, pyg, parts, raw_root, pyg_root):
    root = pyg_root(pyg.__name__)
    ours, offset = read(name, raw_root), 0
    dense = ours.x if ours.x.layout == torch.strided else ours.x.to_dense()
    for part in parts:
        theirs = pyg(root, part)[0]
        nodes = slice(offset, offset + theirs.num_nodes)
        assert torch.equal(dense[nodes], theirs.x)
        assert torch.equal(ours.y[nodes], theirs.y)
        inside = (ours.edge_index[0] >= offset) & (ours.edge_index[0] < nodes.stop)
        assert torch.equal(ours.edge_index[:, inside] - offset, theirs.edge_index)
        offset = nodes.stop
    assert offset == ours.num_nodes


@pytest.mark.realdata
def test_a_read_only_folder_is_left_as_it_is(raw_root, tmp_path):
    before = sorted(raw_root.rglob("*"))
    read("webkb", raw_root)
    assert sorted(raw_root.rglob("*")) == before
    assert not list(tmp_path.iterdir())


@pytest.mark.realdata
def test_the_registry_knows_the_hash_of_every_file_that_could_be_hashed(raw_root):
    for file in raw_root.rglob("raw/*"):
        name = file.relative_to(raw_root).as_posix()
        if "_split_" not in name and "Twitch" not in name:
            expected = source(name).sha256
            assert hashlib.sha256(file.read_bytes()).hexdigest() == expected, name


def test_what_could_not_be_hashed_has_no_hash():
    assert source("CitationFull/cora/raw/cora.npz").sha256 is None
    assert source("Twitch/DE/raw/DE.npz").sha256 is None


@pytest.fixture
def files(tmp_path):
    """Three places to look: a given folder, one that UPWIND_DATA names, and the cache."""
    folders = {name: tmp_path / name for name in ("given", "variable", "cache")}
    for name, folder in folders.items():
        (folder / "A/a/raw").mkdir(parents=True)
        (folder / "A/a/raw/a.txt").write_text(name)
    return folders


def nowhere(name):
    return Source(f"http://127.0.0.1:9/{name}", None)


def test_the_given_folder_comes_before_the_variable_and_that_before_the_cache(files, monkeypatch):
    name = "A/a/raw/a.txt"
    monkeypatch.setenv("UPWIND_DATA", str(files["variable"]))
    look = lambda root: RawFiles(root, files["cache"], nowhere).path(name).read_text()  # noqa: E731
    assert look(files["given"]) == "given"
    assert look(None) == "variable"
    (files["variable"] / name).unlink()
    assert look(None) == "cache"
    monkeypatch.delenv("UPWIND_DATA")
    assert look(None) == "cache"


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"data folder .*none does not exist; name another with"):
        RawFiles(tmp_path / "none", tmp_path).path("A/a/raw/a.txt")


def test_the_message_about_a_host_that_is_gone_says_so_and_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv("UPWIND_DATA", raising=False)
    offline = Source("http://127.0.0.1:9/DE.npz", None, source("Twitch/DE/raw/DE.npz").offline)
    with pytest.raises(InputError) as caught:
        RawFiles(None, tmp_path, lambda _: offline).path("Twitch/DE/raw/DE.npz")
    message = str(caught.value)
    assert "graphmining.ai is known to be offline" in message
    assert "name that with --data or UPWIND_DATA" in message


class Bomb:
    def __reduce__(self):
        return (exit, (1,))


def test_a_pickle_is_not_opened_unless_it_is_the_original(tmp_path):
    name = "Planetoid/Cora/raw/ind.cora.allx"
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError, match="is not the original file"):
        read("cora_lt", tmp_path)


@pytest.mark.realdata
def test_even_with_the_right_hash_a_pickle_holds_only_matrices(raw_root, tmp_path, monkeypatch):
    monkeypatch.setattr(RawFiles, "original", lambda *_: pickle.dumps(Bomb()))
    with pytest.raises(pickle.UnpicklingError, match="has no place in this file"):
        planetoid(RawFiles(raw_root), "Cora")


@pytest.mark.realdata
def test_a_damaged_raw_file_is_reported(raw_root, tmp_path):
    name = "CitationFull/dblp/raw/dblp.npz"
    (tmp_path / name).parent.mkdir(parents=True)
    shutil.copy(raw_root / name, tmp_path / name)
    (tmp_path / name).chmod(0o600)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"dblp\.npz is not the original file .* cut short"):
        read("dblp", tmp_path)


@pytest.mark.realdata
def test_a_damaged_raw_file_without_a_known_hash_is_reported_too(raw_root, tmp_path):
    for language in LANGUAGES:
        name = f"Twitch/{language}/raw/{language}.npz"
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes((raw_root / name).read_bytes()[:100_000])
    with pytest.raises(InputError, match=r"DE\.npz is damaged or cut short"):
        read("twitch", tmp_path)


def test_what_was_fetched_and_is_no_npz_is_not_kept(tmp_path):
    name = "CitationFull/cora/raw/cora.npz"
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text("<html>404</html>")
    with pytest.raises(InputError, match=r"was not kept: .*cora\.npz is no npz"):
        RawFiles(None, tmp_path, nowhere).npz(name)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize(
    ("edges", "message"),
    [(None, r"none of that data set \(KeyError.*edges"), ([[0, 70]], "parts do not fit together")],
)
def test_a_raw_file_of_something_else_is_said_to_be(edges, message, tmp_path):
    arrays = {"features": np.ones((3, 2)), "target": np.zeros(3)}
    arrays |= {} if edges is None else {"edges": np.array(edges)}
    for language in LANGUAGES:
        path = tmp_path / f"Twitch/{language}/raw/{language}.npz"
        path.parent.mkdir(parents=True)
        np.savez(path, **arrays)
    with pytest.raises(InputError, match=message):
        load("twitch", root=tmp_path)


@pytest.mark.realdata
def test_reading_emits_no_warning(raw_root):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("webkb", "cora_lt", "dblp"):
            assert read(name, raw_root).x.values().isfinite().all()
