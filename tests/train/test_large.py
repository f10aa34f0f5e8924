"""A graph that is mapped from disk trains in batches, and is scored in batches."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
import torch

from upwind.data import import_graph, load
from upwind.errors import InputError
from upwind.runs import execute
from upwind.runs.record import facts
from upwind.train import resolve
from upwind.train.loop import predict
from upwind.train.session import Session

pytestmark = pytest.mark.filterwarnings("ignore::upwind.errors.InputWarning")
SMALL = {"sampler": "neighbour", "batch_size": 50, "hidden": 8, "layers": 2, "epochs": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A ring of 600 nodes in two classes with chords, as tables and imported."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    label = np.arange(600) // 300
    nodes = {"id": np.arange(600), "label": label, "f": label + rng.standard_normal(600)}
    nodes |= {"g": rng.standard_normal(600), "split": rng.choice(["train", "val", "test"], 600)}
    pa_parquet.write_table(pa.table(nodes), folder / "nodes.parquet")
    chords = rng.integers(0, 600, 300)
    edges = {"source": [*range(600), *chords], "target": [*np.arange(1, 601) % 600, *chords[::-1]]}
    pa_parquet.write_table(pa.table(edges), folder / "edges.parquet")
    import_graph(folder, folder / "big", undirected=True)
    return folder


@pytest.mark.parametrize("method", ["erm", "tar:update=epoch", "tar:update=epoch:fill=harmonic"])
def test_it_trains_and_a_stopped_run_ends_the_same(method, folder, tmp_path):
    asked = {"source": str(folder / "big"), "method": method, **SMALL}
    run = execute(asked, root=tmp_path)
    assert set(run.result["scores"]) == {"train", "val", "test"}
    assert run.result["scores"]["test"]["accuracy"] > 0.5
    again = execute(asked, root=tmp_path / "again")
    assert again.id == run.id
    assert again.result["scores"] == run.result["scores"]


def test_with_all_neighbours_its_scores_are_those_of_the_whole_graph(folder):
    """Of a network that asks for no degrees: those of a batch's outermost nodes are not whole."""
    mapped = load(folder / "big")
    asked = {**SMALL, "backbone": "gat", "heads": 2}
    config = resolve({**asked, "fanout": -1}, mapped)
    in_batches = Session(config, mapped)
    assert in_batches.whole is None
    at_once = Session(resolve({**asked, "sampler": "full"}, mapped), mapped)
    at_once.model.load_state_dict(in_batches.model.state_dict())
    for part, logits in predict(at_once).items():
        torch.testing.assert_close(predict(in_batches)[part], logits)


def test_scores_are_of_the_same_draws_every_time(folder):
    mapped = load(folder / "big")
    session = Session(resolve({**SMALL, "fanout": 1}, mapped), mapped)
    first, second = predict(session), predict(session)
    for part, logits in first.items():
        assert torch.equal(logits, second[part])


def test_what_needs_all_nodes_at_once_is_refused(folder):
    mapped = load(folder / "big")
    with pytest.raises(InputError, match="needs the model's answer at every node"):
        Session(resolve({**SMALL, "method": "tar:fill=entropy:update=epoch"}, mapped), mapped)


@pytest.mark.parametrize(
    "asked",
    [
        {"method": "tar:fill=entropy"},  # flows on the batch, whose logits are at hand
        {"method": "tar", "sampler": "saint", "steps_per_epoch": 2, "coverage": 2},
        {"method": "tar_n", "sampler": "full"},
    ],
)
def test_while_it_fits_everything_else_trains_on_it_too(asked, folder, tmp_path):
    run = execute({"source": str(folder / "big"), **SMALL, **asked}, root=tmp_path)
    assert run.result["scores"]["test"]["accuracy"] >= 0


def test_its_identity_is_that_of_its_files(folder, tmp_path):
    import_graph(folder, tmp_path / "elsewhere", undirected=True)
    one, other = facts(load(folder / "big")), facts(load(tmp_path / "elsewhere"))
    assert one["sha256"] == other["sha256"]
    import_graph(folder, tmp_path / "directed")
    assert facts(load(tmp_path / "directed"))["sha256"] != one["sha256"]
