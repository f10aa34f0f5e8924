"""A graph of one's own comes back from every file format as it went in."""

import pickle
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data, HeteroData

from upwind.data import PARTS, load, part_sizes, save
from upwind.data.sparse import to_torch
from upwind.errors import InputError, InputWarning

MASKS = [f"{part}_mask" for part in PARTS]


def write_npz(path, arrays):
    np.savez(path, **arrays)
    return path


def write_pt(path, arrays):
    torch.save(Data(**{name: torch.from_numpy(value) for name, value in arrays.items()}), path)
    return path


def split_words(arrays):
    words = np.full(len(arrays["y"]), "", dtype=object)
    for part in ("train", "val", "test"):
        words[arrays[f"{part}_mask"]] = part
    return words.tolist()


def tables(arrays):
    ids = [f"n{i}" for i in range(len(arrays["y"]))]
    source, target = arrays["edge_index"]
    nodes = {"id": ids, "f0": arrays["x"][:, 0], "f1": arrays["x"][:, 1]}
    nodes |= {"label": arrays["y"], "split": split_words(arrays)}
    edges = {"source": [ids[i] for i in source], "target": [ids[i] for i in target]}
    return pa.table(nodes), pa.table(edges)


def write_csv(path, table):
    rows = [table.schema.names, *zip(*table.to_pydict().values(), strict=True)]
    path.write_text("\n".join(",".join(str(value) for value in row) for row in rows) + "\n")
    return path


def write_parquet_folder(folder, arrays):
    folder.mkdir()
    for stem, table in zip(("nodes", "edges"), tables(arrays), strict=True):
        pa_parquet.write_table(table, folder / f"{stem}.parquet")
    return folder


def write_csv_folder(folder, arrays):
    folder.mkdir()
    for stem, table in zip(("nodes", "edges"), tables(arrays), strict=True):
        write_csv(folder / f"{stem}.csv", table)
    return folder


def write_graphml(path, arrays):
    words = split_words(arrays)
    lines = ['<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    for key, of, kind in (
        ("f0", "node", "double"),
        ("f1", "node", "double"),
        ("label", "node", "int"),
        ("split", "node", "string"),
    ):
        lines.append(f'<key id="{key}" for="{of}" attr.name="{key}" attr.type="{kind}"/>')
    lines.append('<graph edgedefault="directed">')
    for i, row in enumerate(arrays["x"]):
        values = {"f0": row[0], "f1": row[1], "label": arrays["y"][i], "split": words[i]}
        data = "".join(f'<data key="{key}">{value}</data>' for key, value in values.items())
        lines.append(f'<node id="n{i}">{data}</node>')
    lines += [f'<edge source="n{a}" target="n{b}"/>' for a, b in arrays["edge_index"].T]
    path.write_text("\n".join([*lines, "</graph></graphml>"]))
    return path


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("g.npz", write_npz),
        ("g.pt", write_pt),
        ("csv", write_csv_folder),
        ("parquet", write_parquet_folder),
        ("g.graphml", write_graphml),
    ],
)
def test_every_format_gives_the_same_graph(name, write, tmp_path, fields):
    data = load(write(tmp_path / name, fields))
    for key in ("x", "edge_index", "y", "train_mask", "val_mask", "test_mask"):
        np.testing.assert_array_equal(data[key].numpy(), fields[key], err_msg=key)
    assert data.x.dtype == torch.float32
    assert not data.id_val_mask.any()
    assert data.env_id.eq(-1).all()
    assert (data.name, data.shift, data.metric) == (name.split(".")[0], "given", "accuracy")
    assert (data.num_classes, data.num_envs) == (2, 0)


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["webkb", "cbas", "cora_lt"])
def test_a_saved_data_set_comes_back_whole(name, raw_root, tmp_path):
    shift = None if name == "cora_lt" else "covariate"
    data = load(name, shift=shift, root=raw_root)
    path = save(data, tmp_path / "saved.npz")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)  # WebKB is directed, and more
        again = load(path)
    assert again.x.layout == data.x.layout
    torch.testing.assert_close(again.x.to_dense(), data.x.to_dense(), rtol=0, atol=0)
    for key in ("edge_index", "y", *MASKS, "env_id", "domain_id"):
        assert torch.equal(again[key], data[key]), key
    for key in ("num_classes", "num_envs", "label_names", "domain_names", "shift", "metric"):
        assert again[key] == data[key], key


def test_sparse_features_stay_small_on_disk(tmp_path):
    x = to_torch(sp.eye_array(2000, 5000, format="csr"))
    data = Data(x=x, edge_index=torch.zeros(2, 0, dtype=torch.long))
    assert save(data, tmp_path / "g.npz").stat().st_size < 100_000


def test_the_layout_of_the_citation_files_is_read(tmp_path, fields):
    n = len(fields["y"])
    adjacency = sp.csr_array((np.ones(14), tuple(fields["edge_index"])), shape=(n, n))
    parts = {"labels": fields["y"]}
    for name, matrix in (("adj", adjacency), ("attr", sp.csr_array(fields["x"]))):
        for part in ("data", "indices", "indptr", "shape"):
            parts[f"{name}_{part}"] = np.asarray(getattr(matrix, part))
    data = load(write_npz(tmp_path / "g.npz", parts), shift="none")
    assert data.x.layout == torch.sparse_csr
    np.testing.assert_array_equal(data.x.to_dense().numpy(), fields["x"])
    assert set(map(tuple, data.edge_index.T.tolist())) == set(
        map(tuple, fields["edge_index"].T.tolist())
    )


def test_string_labels_are_kept_for_the_answer(tmp_path, fields):
    fields["y"] = np.array(["staff", "course", "staff", "course", "", "course"])
    fields["test_mask"][4] = False
    data = load(write_npz(tmp_path / "g.npz", fields))
    assert data.label_names == ["course", "staff"]
    assert data.y.tolist() == [1, 0, 1, 0, -1, 0]


def test_a_graph_to_predict_on_uses_the_models_classes(tmp_path, fields):
    fields["y"] = np.array(["staff"] * 6)
    path = write_npz(tmp_path / "g.npz", fields)
    data = load(path, training=False, label_names=["course", "faculty", "staff"])
    assert data.y.tolist() == [2] * 6
    assert data.num_classes == 3
    with pytest.raises(InputError, match=r"labels that the model does not know: 6 \(node 0: staff"):
        load(path, training=False, label_names=["course", "faculty"])


def test_a_graph_to_predict_on_may_have_no_labels(tmp_path, fields):
    path = write_npz(tmp_path / "g.npz", {key: fields[key] for key in ("x", "edge_index")})
    data = load(path, training=False, label_names=["a", "b"])
    assert data.y.eq(-1).all()
    assert sum(part_sizes(data).values()) == 0
    with pytest.raises(InputError, match="there are no labels"):
        load(path)


def test_a_file_without_a_split_gets_a_random_one_and_is_told(tmp_path, fields):
    path = write_npz(tmp_path / "g.npz", {key: fields[key] for key in ("x", "edge_index", "y")})
    with pytest.warns(InputWarning, match="the file has no split, so a random one was made"):
        data = load(path)
    assert part_sizes(data) == {"train": 3, "id_val": 0, "id_test": 0, "val": 1, "test": 2}
    assert load(path, shift="none").train_mask.equal(data.train_mask)


def test_unlabelled_nodes_are_left_out_of_the_split_and_named(tmp_path, fields):
    fields["y"] = np.array([0, 1, 0, 1, -1, 1])
    with pytest.warns(InputWarning, match=r"split without a label: 1 \(node 4\); they were left"):
        data = load(write_npz(tmp_path / "g.npz", fields))
    assert part_sizes(data)["test"] == 1


def test_the_domains_of_a_file_are_the_environments_of_its_split(tmp_path, fields):
    fields["domain"] = np.array(["fr", "de", "fr", "de", "pt", "pt"])
    data = load(write_npz(tmp_path / "g.npz", fields))
    assert data.domain_names == ["de", "fr", "pt"]
    assert data.env_id.tolist() == [1, 0, -1, -1, -1, -1]
    assert data.num_envs == 2


def test_a_file_is_shifted_by_a_key_of_its_own_or_by_what_can_be_computed(tmp_path):
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 200, (2, 800))
    arrays = {
        "x": rng.random((200, 3)),
        "edge_index": np.stack([source, target]),
        "y": rng.integers(0, 2, 200),
        "country": rng.integers(0, 8, 200).astype(str),
    }
    path = write_npz(tmp_path / "g.npz", arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        by_country = load(path, shift="covariate", domain="country")
        by_rank = load(path, shift="concept", domain="pagerank")
    assert by_country.domain_names == [str(i) for i in range(8)]
    domains = {
        part: set(by_country.domain_id[by_country[f"{part}_mask"]].tolist()) for part in PARTS
    }
    assert not domains["train"] & domains["test"]
    assert min(part_sizes(by_rank).values()) > 0
    with pytest.raises(InputError, match="needs a domain"):
        load(path, shift="concept")
    with pytest.raises(InputError, match="no domain 'county'; there are country, y, degree, word"):
        load(path, shift="concept", domain="county")


class Bomb:
    def __reduce__(self):
        return (exit, (1,))


def test_a_pickle_in_a_pt_file_is_not_run(tmp_path):
    torch.save(Bomb(), tmp_path / "g.pt")
    with pytest.raises(InputError, match=r"it holds a [\w.]+, which could run code"):
        load(tmp_path / "g.pt")
    (tmp_path / "h.pt").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError, match=r"no whole file of torch\.save"):
        load(tmp_path / "h.pt")


def test_a_pickle_in_an_npz_file_is_not_run(tmp_path, fields):
    np.savez(tmp_path / "g.npz", **fields, extra=np.array([Bomb()]))
    with pytest.raises(InputError, match="an array of Python objects, which is not opened"):
        load(tmp_path / "g.npz")


def test_what_others_may_load_is_left_as_it_was(tmp_path, fields):
    before = torch.serialization.get_safe_globals()
    load(write_pt(tmp_path / "g.pt", fields))
    assert set(torch.serialization.get_safe_globals()) == set(before)


def test_other_things_in_a_pt_file_are_named(tmp_path):
    torch.save({"x": torch.ones(1)}, tmp_path / "d.pt")
    with pytest.raises(InputError, match="holds a dict, not a torch_geometric Data"):
        load(tmp_path / "d.pt")
    torch.save(HeteroData(), tmp_path / "h.pt")
    with pytest.raises(InputError, match=r"BaseStorage|HeteroData"):
        load(tmp_path / "h.pt")


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("g.npz", write_npz),
        ("g.pt", write_pt),
        ("g.graphml", write_graphml),
        ("parquet", write_parquet_folder),
    ],
)
@pytest.mark.parametrize("kept", [0.0, 0.3, 0.9])
def test_a_file_that_was_cut_short_is_reported_and_not_half_read(
    name, write, kept, tmp_path, fields
):
    path = write(tmp_path / name, fields)
    file = path / "nodes.parquet" if path.is_dir() else path
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(InputError, match=file.name):
        load(path)


def test_an_array_in_place_of_several_and_a_matrix_that_is_none_are_reported(tmp_path, fields):
    with (tmp_path / "a.npz").open("wb") as file:
        np.save(file, fields["x"])
    with pytest.raises(InputError, match="holds a single array; save several"):
        load(tmp_path / "a.npz")
    parts = {"x_data": np.ones(2), "x_indices": np.array([0, 99])}
    full = parts | {"x_indptr": np.array([0, 1, 2]), "x_shape": np.array([2, 4])}
    for bad in (parts, full):
        with pytest.raises(InputError, match="are no CSR matrix"):
            load(write_npz(tmp_path / "g.npz", bad | {"edge_index": fields["edge_index"]}))


def test_node_ids_are_not_taken_for_a_mask(tmp_path, fields):
    fields["train_mask"] = np.array([0, 1, 2, 3, 4, 5])
    with pytest.raises(InputError, match="train_mask holds numbers other than 0 and 1"):
        load(write_npz(tmp_path / "g.npz", fields))


def test_a_path_that_leads_nowhere_is_said_to(tmp_path):
    with pytest.raises(InputError, match=r"there is no file .*mine\.npz"):
        load(tmp_path / "mine.npz")
    (tmp_path / "mine.xlsx").write_text("")
    with pytest.raises(InputError, match=r"it reads \.npz, \.pt, \.graphml, \.csv"):
        load(tmp_path / "mine.xlsx")
    with pytest.raises(InputError, match="has 0 files called nodes"):
        load(tmp_path)


def test_environments_of_a_file_are_numbered_without_gaps(tmp_path, fields):
    fields["env_id"] = np.array([7, 3, -1, -1, -1, 5])
    data = load(write_npz(tmp_path / "g.npz", fields))
    assert data.env_id.tolist() == [1, 0, -1, -1, -1, -1]
    assert data.num_envs == 2
