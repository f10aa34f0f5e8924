import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
import torch
from torch_geometric.data import Data

from upwind import InputError
from upwind.runs import execute, predict
from upwind.runs.predict import save
from upwind.train import load_data


@pytest.fixture
def run(quick, tmp_path):
    return execute(quick, root=tmp_path / "runs")


def test_on_its_own_graph_it_repeats_the_runs_score(run, quick):
    data = load_data(quick)
    columns = predict(run, data)
    right = columns["label"] == np.array(data.label_names)[data.y.numpy()]
    expected = run.result["scores"]["test"]["accuracy"]
    assert right[data.test_mask.numpy()].mean() == pytest.approx(expected)
    total = sum(columns[f"probability_{name}"] for name in data.label_names)
    assert total == pytest.approx(np.ones(700), abs=1e-5)


def test_a_graph_without_labels_will_do(run):
    other = Data(x=torch.rand(5, 4), edge_index=torch.tensor([[0, 1], [1, 2]]))
    assert predict(run, other)["node"].tolist() == [0, 1, 2, 3, 4]


def test_a_graph_with_other_features_is_refused(run):
    other = Data(x=torch.rand(5, 6), edge_index=torch.tensor([[0], [1]]))
    with pytest.raises(InputError, match=r"trained on 4 features per node \(cbas\), and .* has 6"):
        predict(run, other)


def test_code_of_others_is_imported_only_when_it_is_named(quick, tmp_path):
    path = "torch_geometric.nn:GraphSAGE"
    run = execute({**quick, "backbone": path}, root=tmp_path)
    data = load_data(quick)
    with pytest.raises(InputError, match=f"say --backbone {path}"):
        predict(run, data)
    assert len(predict(run, data, backbone=path)["node"]) == 700


def test_parquet_and_csv_hold_the_same(run, quick, tmp_path):
    columns = predict(run, load_data(quick))
    save(columns, tmp_path / "a.parquet")
    save(columns, tmp_path / "a.csv")
    parquet = pyarrow.parquet.read_table(tmp_path / "a.parquet").to_pydict()
    csv = pyarrow.csv.read_csv(tmp_path / "a.csv").to_pydict()
    assert list(parquet) == list(csv) == list(columns)
    assert parquet["confidence"] == pytest.approx(csv["confidence"])


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"written as \.parquet or \.csv"):
        save({}, tmp_path / "a.xlsx")


def test_a_truncated_model_is_named(run, quick):
    path = run.folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(InputError, match="damaged"):
        predict(run, load_data(quick))
