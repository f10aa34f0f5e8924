import dataclasses
import json

import pytest

from upwind import InputError
from upwind.runs import execute
from upwind.runs.ledger import Ledger, finished, read_compact, write_compact


@pytest.fixture
def run(quick, tmp_path):
    return execute({**quick, "method": "tar:tau=0.01"}, root=tmp_path / "runs")


def test_a_finished_run_says_what_its_record_says(run):
    found = finished(run)
    assert (found.id, found.config.seed) == (run.id, 3)
    assert found.score("test") == run.result["scores"]["test"]["accuracy"]
    assert found.score("test", "macro_f1") == run.result["scores"]["test"]["macro_f1"]
    assert (
        found.score("val", rule="id_val")
        == (run.result["rules"]["id_val"]["scores"]["val"]["accuracy"])
    )
    assert found.weights["largest"] == list(run.epochs())[-1]["weights"]["largest"]


def test_compact_records_come_back_as_they_were(run, tmp_path):
    (path,) = write_compact([finished(run)], tmp_path / "results")
    (back,) = read_compact(path)
    assert back.config == finished(run).config
    assert back.data == finished(run).data
    assert back.score("test") == pytest.approx(finished(run).score("test"), abs=1e-6)
    assert path.stat().st_size < 4_000


def test_writing_what_was_read_changes_no_byte(run, tmp_path):
    (path,) = write_compact([finished(run)], tmp_path / "results")
    before = path.read_bytes()
    write_compact(read_compact(path), tmp_path / "results")
    assert path.read_bytes() == before


def test_runs_are_found_by_what_they_were_made_with_and_not_by_their_seed(run, quick, tmp_path):
    other = execute({**quick, "method": "tar:tau=0.01", "seed": 4}, root=tmp_path / "runs")
    execute({**quick, "method": "tar:tau=0.1"}, root=tmp_path / "runs")
    ledger = Ledger.read(tmp_path / "runs")
    assert set(ledger.find("cbas", "covariate", run.config)) == {3, 4}
    assert ledger.find("cbas", "covariate", other.config)[4].id == other.id
    assert ledger.find("cbas", "concept", run.config) == {}


def test_a_run_that_is_in_both_places_counts_once(run, tmp_path):
    write_compact([finished(run)], tmp_path / "results")
    assert len(list(Ledger.read(tmp_path / "runs", tmp_path / "results"))) == 1


def test_runs_on_two_graphs_of_one_name_are_never_mixed(run):
    one = finished(run)
    config = dataclasses.replace(one.config, seed=9)
    other = dataclasses.replace(one, config=config, data={**one.data, "sha256": "0"})
    with pytest.raises(InputError, match="on 2 different graphs"):
        Ledger([one, other]).find("cbas", "covariate", one.config)


def test_a_line_that_is_no_run_is_named(run, tmp_path):
    (path,) = write_compact([finished(run)], tmp_path)
    entry = json.loads(path.read_text())
    entry["options"] = [["no_such_method", {}]]
    path.write_text(path.read_text() + json.dumps(entry) + "\n")
    with pytest.raises(InputError, match="line 2, is no run"):
        read_compact(path)


def test_what_a_run_costs_is_the_median_of_those_like_it(run):
    one = finished(run)
    runs = [
        dataclasses.replace(one, seconds=s, config=dataclasses.replace(one.config, seed=s))
        for s in (1, 5, 9)
    ]
    assert Ledger(runs).seconds("cbas", "tar") == 5
    assert Ledger(runs).seconds("cbas", "erm") == 5
    assert Ledger(runs).seconds("webkb", "tar") is None


def test_a_sum_is_found_in_whatever_order_it_was_written(quick, tmp_path):
    run = execute({**quick, "method": "tar:tau=0.01+reweight"}, root=tmp_path / "runs")
    (path,) = write_compact([finished(run)], tmp_path / "results")
    (back,) = read_compact(path)
    assert back.config.method == "tar+reweight"
    turned = dict(reversed(back.config.options.items()))
    other = dataclasses.replace(back.config, method="reweight+tar", options=turned)
    assert set(Ledger([back]).find("cbas", "covariate", other)) == {3}
