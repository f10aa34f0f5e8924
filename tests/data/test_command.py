"""``upwind datasets`` answers in a table, or in one JSON document and nothing else."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from upwind.cli import app, main
from upwind.data import CATALOG, load, save


@pytest.fixture
def upwind(tmp_path, monkeypatch):
    """Runs the command line in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: CliRunner().invoke(app, list(words), catch_exceptions=False)


def test_the_list_has_every_data_set(upwind):
    said = upwind("datasets").stdout
    for entry in CATALOG.values():
        assert entry.name in said
    listed = json.loads(upwind("datasets", "--json").stdout)
    assert [entry["name"] for entry in listed] == list(CATALOG)
    assert listed[0]["nodes"] == 617
    assert all(entry["licence"] and entry["from"] for entry in listed)


def test_one_data_set_is_shown_with_its_parts_and_its_picture(upwind, tmp_path):
    said = upwind("datasets", "cbas", "--shift", "concept").stdout
    assert "env 4" in said
    assert "id_test" in said
    assert (tmp_path / "cbas_concept.png").exists()


def test_json_is_one_document_and_nothing_else(upwind, tmp_path):
    answer = upwind("datasets", "cbas", "--shift", "covariate", "--json", "--picture", "a.svg")
    document = json.loads(answer.stdout)
    assert document["parts"] == {"train": 420, "id_val": 70, "id_test": 70, "val": 70, "test": 70}
    test = document["groups"][-1]
    assert (test["name"], test["nodes"], test["feature_shift"]) == ("test", 70, 1.0)
    assert sum(test["labels"]) == pytest.approx(1)
    assert document["picture"] == "a.svg"
    assert (tmp_path / "a.svg").exists()


def test_a_graph_of_ones_own_is_shown_with_its_warnings_apart(upwind, tmp_path):
    save(load("cbas", shift="concept"), tmp_path / "mine.npz")
    rng = np.random.default_rng(0)
    rows = [f"{i},{i % 7},{'ab'[i % 2]},{i // 50}" for i in range(300)]
    (tmp_path / "n.csv").write_text("\n".join(["who,f,job,land", *rows]))
    pairs = rng.integers(0, 300, (900, 2))
    (tmp_path / "e.csv").write_text("\n".join(["from,to", *(f"{a},{b}" for a, b in pairs)]))
    assert json.loads(upwind("datasets", "mine.npz", "--json").stdout)["shift"] == "concept"
    words = [
        "n.csv",
        "--edges",
        "e.csv",
        "--label",
        "job",
        "--domain",
        "land",
        "--shift",
        "covariate",
        "--json",
    ]
    answer = upwind("datasets", *words)
    assert json.loads(answer.stdout)["classes"] == ["a", "b"]
    assert "upwind: n.csv: usable, with warnings\n  warning: " in answer.stderr


def test_a_mistake_ends_in_one_sentence_and_code_2(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["upwind", "datasets", "webk"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "upwind: 'webk' is neither a data set nor a file; did you mean webkb?\n"
    )
