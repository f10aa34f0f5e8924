"""A wrong file of any kind ends in one sentence that names what is wrong, and never in a crash."""

import json
import shutil
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
import torch
from torch_geometric.data import Data

from upwind.cli import main
from upwind.data import load
from upwind.errors import InputError, InputWarning

N = 6
NODES = ["id,f,label,split", *(f"n{i},{i},{'ab'[i % 2]},train" for i in range(N))]
EDGES = ["source,target", *(f"n{i},n{(i + 1) % N}" for i in range(N))]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"node_names": np.array("a")}, "node_names is no list of names"),
        ({"node_names": np.array(["a"])}, "node_names has 1 names, and there are 6 nodes"),
        ({"label_names": np.array(["a", "a"])}, r"names that several classes have: 1 \(a\)"),
        ({"env_id": np.zeros(3, int)}, r"env_id has shape \(3,\), and there are 6 nodes"),
        ({"env_id": np.full(N, -3)}, r"values of env_id out of range: 6 \(node 0: -3"),
        ({"domain_id": np.zeros((N, 2), int)}, r"domain_id has shape \(6, 2\)"),
        ({"domain_id": np.full(N, 10**12)}, "values of domain_id out of range: 6"),
        ({"domain_id": np.zeros(N)}, "domain_id holds values of type float64"),
        ({"domain": np.zeros(3)}, r"domain 'domain' has shape \(3,\)"),
        ({"y": np.full(N, 2**63 + 5, np.uint64)}, r"y holds 9223372036854775813, which is past"),
        ({"y": np.array([0, 1, np.inf, 0, 1, 0])}, "y has shape .* and type torch.float64"),
        ({"edge_index": np.full((2, 3), 2**63, np.uint64)}, r"edge_index holds .* past 2\^63"),
        ({"train_mask": np.array(["x"] * N)}, "train_mask holds .* give true or false a node"),
        ({"metric": np.array("best")}, "the metric is 'best', with 2 classes; give accuracy"),
        ({"metric": np.array("roc_auc"), "y": np.arange(N) % 3}, "'roc_auc', with 3 classes"),
    ],
)
def test_an_array_that_does_not_fit_is_named(change, message, tmp_path, fields):
    np.savez(tmp_path / "g.npz", **fields | change)
    with pytest.raises(InputError, match=message):
        load(tmp_path / "g.npz")


def test_an_npz_of_something_else_says_what_it_has(tmp_path, fields):
    np.savez(tmp_path / "g.npz", weights=np.ones(3))
    with pytest.raises(InputError, match="none of the arrays x, edge_index and y, but weights"):
        load(tmp_path / "g.npz")
    (tmp_path / "h.npz").write_text("hello")
    with pytest.raises(InputError, match="is no npz, whatever its name says"):
        load(tmp_path / "h.npz")
    np.savez(tmp_path / "a.npz", **fields, adj=np.eye(N))  # an array that only has the name
    assert load(tmp_path / "a.npz").num_nodes == N


def test_the_shift_that_a_file_names_can_lead_to_no_other_folder(tmp_path, fields):
    np.savez(tmp_path / "g.npz", **fields, shift=np.array("/../../elsewhere"))
    assert load(tmp_path / "g.npz").shift == "given"


def test_probabilities_in_place_of_a_mask_are_refused_and_ones_and_zeros_are_not(tmp_path, fields):
    np.savez(tmp_path / "g.npz", **fields | {"train_mask": fields["train_mask"].astype(float)})
    assert load(tmp_path / "g.npz").train_mask.tolist() == fields["train_mask"].tolist()
    np.savez(tmp_path / "g.npz", **fields | {"train_mask": fields["train_mask"] * 0.5})
    with pytest.raises(InputError, match="numbers other than 0 and 1"):
        load(tmp_path / "g.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": [[1.0], [1.0, 2.0]]}, "x is no plain array"),
        ({"edge_index": torch.eye(N).to_sparse()}, "edge_index is no plain array"),
        ({"x": torch.empty(N, 2, device="meta")}, "x is no plain array"),
    ],
)
def test_a_tensor_that_is_no_array_is_named(change, message, tmp_path, fields):
    tensors = {name: torch.from_numpy(value) for name, value in fields.items()}
    torch.save(Data(**tensors | change), tmp_path / "g.pt")
    with pytest.raises(InputError, match=message):
        load(tmp_path / "g.pt")


def test_a_flipped_byte_in_a_pt_file_is_found(tmp_path, fields):
    path = tmp_path / "g.pt"
    torch.save(Data(**{name: torch.from_numpy(value) for name, value in fields.items()}), path)
    content = bytearray(path.read_bytes())
    place = content.index(fields["x"].tobytes())
    content[place + 5] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"g\.pt is damaged \(in "):
        load(path)


def write_tables(folder, nodes=NODES, edges=EDGES):
    for name, rows in (("nodes", nodes), ("edges", edges)):
        content = rows if isinstance(rows, bytes) else ("\n".join(rows) + "\n").encode()
        (folder / f"{name}.csv").write_bytes(content)
    return folder


def read(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        return load(path, **options)


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 100, b"\x89PNG\r\n\x1a\n" + bytes(90), bytes(range(256)) * 4]
)
def test_a_file_that_is_no_csv_whatever_its_name_says(content, tmp_path):
    for part in ("nodes", "edges"):
        with pytest.raises(InputError, match=rf"{part}\.csv cannot be read as CSV") as caught:
            read(write_tables(tmp_path, **{part: content}))
        assert str(caught.value).isprintable()  # or it could command the terminal


def test_spaces_round_the_names_of_columns_and_a_mark_before_them_do_not_matter(tmp_path):
    spaced = [", ".join(row.split(",")) for row in NODES]
    data = read(write_tables(tmp_path, nodes=("\ufeff" + "\r\n".join(spaced)).encode()))
    assert data.label_names == ["a", "b"]
    assert data.x.flatten().tolist() == list(range(N))
    assert data.train_mask.all()


def test_a_word_among_numbers_is_shown_where_the_column_is_left_out(tmp_path):
    rows = [row + (",4" if row[:2] != "n3" else ",four") for row in NODES[1:]]
    with pytest.warns(InputWarning, match=r"no features: 1 \(g, with 'four' in row 4\)"):
        load(write_tables(tmp_path, nodes=[NODES[0] + ",g", *rows]))


def test_the_ending_may_be_written_large(tmp_path, fields):
    np.savez(tmp_path / "g.npz", **fields)
    assert load((tmp_path / "g.npz").rename(tmp_path / "G.NPZ")).num_nodes == N


def as_strings(kind):
    return lambda ids: pa.array(ids, kind)


@pytest.mark.parametrize(
    "wrap",
    [
        as_strings(pa.string_view()),
        as_strings(pa.large_string()),
        lambda ids: pa.array([{"name": name} for name in ids]),
        lambda ids: pa.array([[name, "of us"] for name in ids]),
        lambda ids: pa.array([name.encode() for name in ids]),
    ],
)
def test_ids_of_any_type_find_each_other(wrap, tmp_path):
    ids = [f"n{i}" for i in range(N)]
    nodes = {"id": wrap(ids), "f": np.arange(N), "label": ["a", "b"] * 3, "split": ["train"] * N}
    pa_parquet.write_table(pa.table(nodes), tmp_path / "nodes.parquet")
    ends = {"source": wrap(ids), "target": wrap(ids[1:] + ids[:1])}
    pa_parquet.write_table(pa.table(ends), tmp_path / "edges.parquet")
    assert read(tmp_path).edge_index.tolist() == [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]]


def test_a_list_is_no_weight_and_a_huge_number_no_feature(tmp_path):
    ids = [f"n{i}" for i in range(N)]
    nodes = {"id": ids, "f": np.arange(N), "label": ["a", "b"] * 3, "split": ["train"] * N}
    pa_parquet.write_table(pa.table(nodes), tmp_path / "nodes.parquet")
    ends = {"source": ids, "target": ids, "weight": [[1.0, 2.0]] * N}
    pa_parquet.write_table(pa.table(ends), tmp_path / "edges.parquet")
    with pytest.raises(InputError, match="column 'weight' holds lists; give one weight an edge"):
        read(tmp_path)
    (tmp_path / "g.graphml").write_text(
        '<graphml><key id="f" for="node" attr.type="int"/><graph edgedefault="directed">'
        f'<node id="a"><data key="f">{10**30}</data></node></graph></graphml>'
    )
    with pytest.raises(InputError, match=r"has a node value past 2\^63"):
        read(tmp_path / "g.graphml")


@pytest.mark.parametrize("name", ["", "a" * 5000 + ".npz"])
def test_a_name_that_no_file_can_have(name):
    with pytest.raises(InputError):
        load(name)


def test_features_that_are_all_the_same_can_be_shown(tmp_path, fields, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savez("g.npz", **fields | {"x": np.full((N, 3), 3e38, np.float32)})
    monkeypatch.setattr("sys.argv", ["upwind", "datasets", "g.npz", "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert json.loads(capsys.readouterr().out)["groups"][-1]["feature_shift"] == 0


@pytest.mark.parametrize("command", ["datasets", "train"])
@pytest.mark.parametrize("kind", ["damaged", "pickled", "folder", "missing", "unknown id", "empty"])
def test_the_command_line_says_one_sentence_and_with_json_one_document(
    command, kind, tmp_path, fields, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    words = ["g.npz"]
    if kind == "damaged":
        np.savez("g.npz", **fields)
        (tmp_path / "g.npz").write_bytes((tmp_path / "g.npz").read_bytes()[:900])
    elif kind == "pickled":
        np.savez("g.npz", **fields, extra=np.array([{}]))
    elif kind == "folder":
        (tmp_path / "g.npz").mkdir()
    elif kind == "unknown id":
        write_tables(tmp_path, edges=[*EDGES, "n1,who"])
        words = ["nodes.csv", "--edges", "edges.csv"]
    elif kind == "empty":
        (tmp_path / "g.npz").touch()
    shutil.rmtree(tmp_path / "runs", ignore_errors=True)
    for json_too in ([], ["--json"]):
        monkeypatch.setattr("sys.argv", ["upwind", command, *words, *json_too])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert ended.value.code == 2
        assert said.err.startswith("upwind: ")
        assert "Traceback" not in said.err
        assert said.out == "" if not json_too else json.loads(said.out)["code"] == 2
    assert not (tmp_path / "runs").exists()
