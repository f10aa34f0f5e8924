import json

import pytest
from scipy import stats

from upwind import InputError
from upwind.runs import Run, compare, find_runs
from upwind.runs.compare import fan_out, plan, read
from upwind.train import load_data


@pytest.fixture
def data(quick):
    return load_data(quick)


def shared(quick):
    return {name: value for name, value in quick.items() if name != "seed"}


def test_the_table_is_a_function_of_the_records(quick, data, tmp_path):
    asked = shared(quick)
    comparison = plan(asked, ["erm", "tar"], [1, 2, 3], tmp_path, data)
    assert fan_out(comparison) == []
    erm, tar = comparison.table()
    scores = {
        method: [Run(tmp_path / id).result["scores"]["test"]["accuracy"] for id in ids]
        for method, ids in comparison.runs.items()
    }
    assert erm.test.mean == pytest.approx(stats.tmean(scores["erm"]))
    assert erm.difference is None
    gap = stats.tmean(scores["tar"]) - stats.tmean(scores["erm"])
    assert tar.difference.mean == pytest.approx(gap)
    assert tar.difference.pairs == 3
    assert tar.seconds > 0
    for score in ("balanced_accuracy", "macro_f1", "ece"):
        each = [Run(tmp_path / id).result["scores"]["test"][score] for id in comparison.runs["tar"]]
        name = "balanced" if score == "balanced_accuracy" else score
        assert getattr(tar, name).mean == pytest.approx(stats.tmean(each))


def test_what_was_compared_is_written_down_and_read_again(quick, data, tmp_path):
    comparison = plan(shared(quick), ["erm"], [1], tmp_path, data)
    assert read(comparison.path) == comparison
    assert json.loads(comparison.path.read_text())["asked"] == shared(quick)


def test_processes_and_one_process_give_the_same(quick, tmp_path):
    one = compare(shared(quick), ["erm"], [1, 2], root=tmp_path / "1", jobs=1)
    two = compare(shared(quick), ["erm"], [1, 2], root=tmp_path / "2", jobs=2)
    assert one[0].test == two[0].test


def test_a_run_that_fails_does_not_take_the_others_with_it(quick, data, tmp_path, monkeypatch):
    comparison = plan(shared(quick), ["erm"], [1, 2, 3], tmp_path, data)
    failing = Run(tmp_path / comparison.runs["erm"][1]).folder
    failing.mkdir()
    (failing / "checkpoint.safetensors").write_bytes(b"nonsense")
    told = []
    problems = fan_out(comparison, finished=lambda *what: told.append(what[:2]))
    assert len(problems) == 1
    assert problems[0].startswith(f"erm, seed 2: {failing}/checkpoint.safetensors is damaged")
    assert told == [("erm", 1), ("erm", 2), ("erm", 3)]
    assert comparison.table()[0].test.count == 2


def test_an_interruption_keeps_what_is_finished(quick, data, tmp_path):
    comparison = plan(shared(quick), ["erm"], [1, 2, 3], tmp_path, data)

    def interrupt(method, seed, problem):
        if seed == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fan_out(comparison, finished=interrupt)
    assert [run.is_done for run in comparison.members()] == [True, True, False]
    assert comparison.table()[0].test.count == 2


def test_two_names_of_one_run_are_not_compared(quick, data, tmp_path):
    with pytest.raises(InputError, match="tar and tar:steps=30 are the same here"):
        plan(shared(quick), ["erm", "tar", "tar:steps=30"], [1], tmp_path, data)


def test_what_cannot_run_is_refused_before_any_run(quick, data, tmp_path):
    for asked, methods in (
        (shared(quick), ["erm", "tar:beta=-1"]),
        ({**shared(quick), "backbone": "nope"}, ["erm"]),
        ({**shared(quick), "device": "cuda:99"}, ["erm"]),
    ):
        with pytest.raises(InputError):
            plan(asked, methods, [1], tmp_path, data)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("methods", "seeds"), [([], [1]), (["erm"], []), (["erm", "erm"], [1])])
def test_what_cannot_be_compared_is_said(quick, data, tmp_path, methods, seeds):
    with pytest.raises(InputError, match="must be given, each once"):
        plan(shared(quick), methods, seeds, tmp_path, data)
    assert not find_runs(tmp_path)


def test_a_split_without_labelled_test_nodes_is_refused_before_anything_runs(quick, data, tmp_path):
    data.test_mask[:] = False
    with pytest.raises(InputError, match="needs labelled test nodes"):
        plan(shared(quick), ["erm"], [1], tmp_path, data)
    assert not list(tmp_path.iterdir())
