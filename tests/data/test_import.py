"""What is imported is the graph that loading would give, in a folder of mapped arrays."""

import gzip
import json
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from upwind.cli import main
from upwind.data import PARTS, building, import_graph, load
from upwind.data.building import build, new_folder
from upwind.data.import_tables import Codes
from upwind.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::upwind.errors.InputWarning")
N = 3000


def ids_as(kind):
    shuffled = np.random.default_rng(1).permutation(N)
    return {
        "counted": np.arange(N),
        "numbers": shuffled * 7 - 5,
        "words": np.char.add("u", shuffled.astype(str)),
    }[kind]


def write_tables(folder, ids, **changes):
    rng = np.random.default_rng(0)
    ends = rng.integers(0, N, (2, 20_000))
    lists = pa.FixedSizeListArray.from_arrays(pa.array(rng.random(3 * N, np.float32)), 3)
    nodes = {
        "id": ids,
        "f0": rng.random(N),
        "embedding": lists,
        "label": rng.choice(["b", "a", "10", "9", ""], N),
        "split": rng.choice(["train", "val", "test", ""], N),
        "domain": rng.integers(0, 12, N),
    }
    edges = {"source": ids[ends[0]], "target": ids[ends[1]], "weight": rng.random(20_000)}
    for name, table in (("nodes", nodes), ("edges", edges)):
        wanted = {**table, **changes.get(name, {})}
        rows = {key: value for key, value in wanted.items() if value is not None}
        pa_parquet.write_table(pa.table(rows), folder / f"{name}.parquet", row_group_size=700)
    return folder


def weighted(data):
    return sorted(zip(*data.edge_index.tolist(), data.edge_weight.tolist(), strict=True))


def assert_same(a, b):
    assert torch.equal(a.x, b.x)
    for key in ("y", *(f"{part}_mask" for part in PARTS), "env_id", "domain_id"):
        assert torch.equal(a[key], b[key]), key
    for key in ("label_names", "domain_names", "num_classes", "num_envs", "shift", "metric"):
        assert a[key] == b[key], key
    assert weighted(a) == weighted(b)


@pytest.mark.parametrize("kind", ["counted", "numbers", "words"])
def test_parquet_tables_come_out_as_load_reads_them(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("upwind.data.import_tables.ROWS", 512)  # several pieces
    write_tables(tmp_path, ids_as(kind))
    header = import_graph(tmp_path, tmp_path / "big")
    assert (header["nodes"], header["edges"], header["features"]) == (N, 20_000, 4)
    for shift in (None, "none", "covariate", "concept"):
        assert_same(load(tmp_path, shift=shift), load(tmp_path / "big", shift=shift))
    ids = tmp_path / "big" / "ids.parquet"
    assert ids.exists() == (kind != "counted")
    if ids.exists():
        assert pa_parquet.read_table(ids)["id"].to_pylist() == ids_as(kind).tolist()


def test_edges_are_mapped_and_sorted_by_their_target(tmp_path):
    import_graph(write_tables(tmp_path, ids_as("words")), tmp_path / "big")
    data = load(tmp_path / "big")
    source, target = data.edge_index
    assert source.dtype == torch.int32
    assert target.diff().min() >= 0
    assert torch.equal(data.rowptr.diff(), target.bincount(minlength=N))
    maps = Path("/proc/self/maps")
    if maps.exists():
        for name in ("x", "edge_index", "rowptr"):
            assert str(tmp_path / f"big/{name}.npy") in maps.read_text()


def test_undirected_stores_both_directions_and_a_loop_once(tmp_path):
    ids = ids_as("counted")
    pairs = {"source": [0, 5, 7], "target": [1, 5, 2], "weight": [1.0, 2.0, 3.0]}
    import_graph(write_tables(tmp_path, ids), tmp_path / "whole")
    pa_parquet.write_table(pa.table(pairs), tmp_path / "edges.parquet")
    import_graph(tmp_path, tmp_path / "big", undirected=True)
    both = [(0, 1, 1.0), (1, 0, 1.0), (2, 7, 3.0), (5, 5, 2.0), (7, 2, 3.0)]
    assert weighted(load(tmp_path / "big")) == both


@given(
    n=st.integers(1, 200),
    edges=st.lists(st.tuples(st.integers(0, 199), st.integers(0, 199)), max_size=300),
    piece=st.integers(1, 100),
    both_ways=st.booleans(),
)
def test_any_edges_in_any_pieces_are_all_there_and_sorted(
    n, edges, piece, both_ways, tmp_path_factory
):
    ends = np.array([(a % n, b % n) for a, b in edges], dtype=np.int64).reshape(-1, 2)
    folder = tmp_path_factory.mktemp("built")
    build(
        folder,
        "graph",
        n,
        [np.ones((n, 1), np.float32)],
        1,
        [(*ends[i : i + piece].T, None) for i in range(0, len(ends), piece)],
        both_ways=both_ways,
        arrays={},
        facts={"label_names": []},
        defects=[],
    )
    back = ends[ends[:, 0] != ends[:, 1]][:, ::-1] if both_ways else ends[:0]
    expected = sorted(map(tuple, np.concatenate([ends, back])[:, ::-1].tolist()))
    found = np.load(folder / "edge_index.npy")
    assert list(map(tuple, found[::-1].T.tolist())) == expected
    rowptr = np.load(folder / "rowptr.npy")
    np.testing.assert_array_equal(np.diff(rowptr), np.bincount(found[1], minlength=n))
    assert not (folder / "scratch").exists()


@given(st.lists(st.lists(st.sampled_from(["b", "a", "10", "9", "", None]), min_size=1)))
def test_words_get_the_same_numbers_however_they_come(pieces):
    if not pieces:
        return
    apart, together = Codes(), Codes()
    for piece in pieces:
        apart.add(pa.array(piece, pa.string()))
    together.add(pa.array([*chain(*pieces)], pa.string()))
    numbers, names = apart.sorted()
    np.testing.assert_array_equal(numbers, together.sorted()[0])
    words = [names[number] if number >= 0 else "" for number in numbers]
    assert words == [word or "" for word in chain(*pieces)]
    assert names == [name for name in ("9", "10", "a", "b") if name in names]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": {"id": np.zeros(N, int)}}, "ids that several nodes have: 1"),
        ({"nodes": {"f0": np.full(N, np.nan)}}, r"NaN or infinite feature: 3,000 \(row 0, row 1"),
        ({"edges": {"weight": np.full(20_000, -1.0)}}, "weights negative, NaN or infinite: 20,000"),
        ({"edges": {"target": np.arange(20_000)}}, r"outside the nodes: 17,000 \(edge 3,000"),
        ({"nodes": {"split": ["trian"] * N}}, r"unknown parts in the split column: 3,000 \(row 0"),
        ({"nodes": {"f0": None, "embedding": None}}, "the graph has no features"),
    ],
)
def test_what_is_wrong_with_a_table_is_found_before_the_folder_is_there(changes, message, tmp_path):
    write_tables(tmp_path, ids_as("counted"), **changes)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match=message):
        import_graph(tmp_path, tmp_path / "big")
    assert sorted(tmp_path.iterdir()) == before


def test_no_folder_is_overwritten_and_no_name_is_guessed(tmp_path):
    write_tables(tmp_path, ids_as("counted"))
    import_graph(tmp_path, tmp_path / "big")
    for source, out, options, message in (
        (tmp_path, tmp_path / "big", {}, "holds a graph already"),
        (tmp_path / "none", tmp_path / "b", {}, "there is no file"),
        (tmp_path / "nodes.parquet", tmp_path / "b", {}, "name the edge table too"),
        (tmp_path, tmp_path / "b", {"domain": "county"}, "no column 'county', named as domain"),
        (tmp_path, tmp_path / "b", {"features": ["label"]}, "'label' does not hold numbers"),
    ):
        with pytest.raises(InputError, match=message):
            import_graph(source, out, **options)
    with pytest.raises(InputError, match="neither columns nor an edge table"):
        load(tmp_path / "big", label="y")
    (tmp_path / "nodes.parquet").rename(tmp_path / "nodes.csv")
    with pytest.raises(InputError, match="is no Parquet file"):
        import_graph(tmp_path, tmp_path / "b")


def test_a_disk_that_fills_up_leaves_nothing_behind(tmp_path):
    def fill():
        with new_folder(tmp_path / "big") as part:
            (part / "x.npy").write_bytes(b"")
            raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match=r"could not be written \(No space left on device\)"):
        fill()
    assert list(tmp_path.iterdir()) == []


def damage(folder, name, array):
    np.save(folder / f"{name}.npy", array)
    header = json.loads((folder / "graph.json").read_text())
    header["files"][name] |= {"dtype": str(array.dtype), "shape": array.shape}
    (folder / "graph.json").write_text(json.dumps(header))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda d: (d / "graph.json").write_text("{"), "is no header of a graph"),
        (lambda d: (d / "graph.json").write_text('{"format": "x"}'), "is no header of a graph"),
        (lambda d: (d / "graph.json").write_text('{"format": "x", "version": 9}'), "version 9 of"),
        (lambda d: (d / "y.npy").unlink(), "y.npy is missing or cut short"),
        (lambda d: (d / "x.npy").write_bytes((d / "x.npy").read_bytes()[:-8]), "x.npy is missing"),
        (lambda d: (d / "x.npy").write_bytes(b""), "x.npy is missing or cut short"),
        (lambda d: np.save(d / "y.npy", np.zeros(N, np.int8)), "y.npy is missing or cut short"),
        (lambda d: damage(d, "y", np.zeros(5, np.int64)), "y.npy has 5 rows, not 3000"),
        (
            lambda d: damage(d, "y", np.full(N, 99)),
            "y.npy has values from 99 to 99, and graph.json",
        ),
        (lambda d: damage(d, "domain_id", np.full(N, -2)), "domain_id.npy has values from -2"),
        (lambda d: damage(d, "train_mask", np.zeros(N)), "train_mask.npy is float64 of 1 dim"),
        (lambda d: damage(d, "x", np.zeros(N, np.float32)), "x.npy is float32 of 1 dimensions"),
        (lambda d: damage(d, "rowptr", np.zeros(N + 1, np.int64)), "edges that point outside"),
        (lambda d: damage(d, "edge_index", np.full((2, 20_000), N, np.int32)), "point outside"),
        (lambda d: damage(d, "edge_index", np.zeros((2, 5), np.int32)), "no edge_index of shape"),
    ],
)
def test_a_damaged_folder_is_reported_before_a_kernel_reads_it(wrong, message, tmp_path):
    import_graph(write_tables(tmp_path, ids_as("counted")), tmp_path / "big")
    wrong(tmp_path / "big")
    with pytest.raises(InputError, match=message):
        load(tmp_path / "big")


def test_a_pickle_among_the_arrays_is_not_opened(tmp_path):
    import_graph(write_tables(tmp_path, ids_as("counted")), tmp_path / "big")
    np.save(tmp_path / "big/y.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match=r"y\.npy is missing or cut short"):
        load(tmp_path / "big")


def test_a_graph_to_predict_on_takes_the_models_classes(tmp_path):
    import_graph(write_tables(tmp_path, ids_as("counted")), tmp_path / "big")
    own = load(tmp_path / "big")
    data = load(tmp_path / "big", training=False, label_names=["b", "a", "9", "10", "more"])
    assert data.num_classes == 5
    for mine, theirs in zip(own.y.tolist(), data.y.tolist(), strict=True):
        assert (mine < 0 and theirs < 0) or own.label_names[mine] == data.label_names[theirs]
    with pytest.raises(InputError, match="does not know, first '10'"):
        load(tmp_path / "big", training=False, label_names=["a", "b", "9"])


def write_ogb(folder, *, splits=("time",), **changes):
    """The raw files of a small citation graph, as OGB unpacks them."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 5)).round(3)
    files = {
        "raw/num-node-list": [[200]],
        "raw/edge": rng.integers(0, 200, (900, 2)),
        "raw/node-feat": x,
        "raw/node-label": rng.integers(0, 4, (200, 1)),
    }
    order = rng.permutation(200)
    parts = {"train": order[:120], "valid": order[120:160], "test": order[160:]}
    for split in splits:
        files |= {f"split/{split}/{part}": nodes[:, None] for part, nodes in parts.items()}
    for name, rows in {**files, **changes}.items():
        path = folder / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "\n".join(",".join(str(value) for value in row) for row in rows)
        path.write_bytes(gzip.compress(f"{text}\n".encode()))
    return files, parts


def test_ogbs_raw_files_are_imported(tmp_path):
    files, parts = write_ogb(tmp_path / "arxiv")
    import_graph(tmp_path / "arxiv", tmp_path / "big")
    data = load(tmp_path / "big")
    np.testing.assert_allclose(data.x.numpy(), files["raw/node-feat"], rtol=1e-6)
    assert data.y.tolist() == files["raw/node-label"][:, 0].tolist()
    assert sorted(data.edge_index.T.tolist()) == sorted(files["raw/edge"].tolist())
    for part, theirs in (("train", "train"), ("val", "valid"), ("test", "test")):
        assert data[f"{part}_mask"].nonzero().flatten().tolist() == sorted(parts[theirs].tolist())


def test_ogbs_missing_labels_and_several_splits(tmp_path):
    labels = [["nan" if i % 10 == 0 else i % 3] for i in range(200)]
    write_ogb(tmp_path / "a", splits=("time", "random"), **{"raw/node-label": labels})
    with pytest.raises(InputError, match="has the splits random, time; name one of them"):
        import_graph(tmp_path / "a", tmp_path / "big")
    import_graph(tmp_path / "a", tmp_path / "big", split="time")
    data = load(tmp_path / "big")
    assert data.y[::10].eq(-1).all()
    assert sum(int(data[f"{part}_mask"].sum()) for part in PARTS) == 180


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"raw/num-node-list": [[100], [100]]}, "holds 2 graphs"),
        ({"raw/node-label": [[0, 1]] * 200}, r"labels of shape \(200, 2\)"),
        ({"raw/node-label": [["cs.LG"]] * 200}, "holds string, and numbers belong there"),
        ({"raw/edge": [[0, 1], [5, 999]]}, r"edges that point outside the nodes: 1 \(edge 1\)"),
        ({"raw/edge": [[0.5, 1.0]]}, "is no list of edges"),
        ({"raw/node-feat": [[1.0]] * 7}, "7 rows of features and 200 nodes"),
        ({"raw/node-feat": [[1.0]] * 300}, "more rows of features than the 200 nodes"),
        ({"split/time/train": [[0], [200]]}, "the part train of .* has nodes outside the 200"),
    ],
)
def test_ogb_files_that_do_not_fit_are_named(change, message, tmp_path):
    write_ogb(tmp_path / "a", **change)
    with pytest.raises(InputError, match=message):
        import_graph(tmp_path / "a", tmp_path / "big")
    assert not (tmp_path / "big").exists()


def test_an_ogb_file_that_is_cut_short_is_named(tmp_path):
    write_ogb(tmp_path / "a")
    file = tmp_path / "a/raw/edge.csv.gz"
    file.write_bytes(file.read_bytes()[:500])
    with pytest.raises(InputError, match=r"edge\.csv\.gz cannot be read .*; is it whole"):
        import_graph(tmp_path / "a", tmp_path / "big")


def test_the_command_line_imports_and_says_what_it_wrote(tmp_path, monkeypatch, capsys):
    write_ogb(tmp_path / "a")
    monkeypatch.setattr(
        "sys.argv", ["upwind", "import", f"{tmp_path}/a", f"{tmp_path}/big", "--json"]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    said = json.loads(capsys.readouterr().out)
    assert (said["nodes"], said["edges"], said["features"]) == (200, 900, 5)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "holds a graph already" in json.loads(capsys.readouterr().out)["error"]


def test_a_piece_of_the_edges_is_all_that_is_sorted_at_once(tmp_path, monkeypatch):
    read_at_once = []
    fromfile = np.fromfile

    def watched(file, dtype):
        read_at_once.append(fromfile(file, dtype))
        return read_at_once[-1]

    monkeypatch.setattr(building.np, "fromfile", watched)
    import_graph(write_tables(tmp_path, ids_as("counted")), tmp_path / "big")
    sizes = [len(part) for part in read_at_once]
    assert sum(sizes) == 3 * 20_000  # sources, targets and weights
    assert max(sizes) < 20_000 / 20
