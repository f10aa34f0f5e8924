import json
import sys

import pytest

import upwind.report
from tests.report.conftest import QUICK, TAR
from upwind import InputError
from upwind.cli import main

OPTIONS = ["--shift", "covariate"]
OPTIONS += [
    word
    for name in ("hidden", "layers", "epochs", "steps_per_epoch", "coverage")
    for word in (f"--{name.replace('_', '-')}", str(QUICK[name]))
]


@pytest.fixture
def upwind_says(monkeypatch, capsys, copied):
    """Gives a command beside the runs: exit code, standard output, standard error."""

    def give(*words):
        monkeypatch.chdir(copied.root.parent)
        monkeypatch.setattr(sys, "argv", ["upwind", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return end.value.code or 0, said.out, said.err

    return give


COMPARE = ("compare", "cbas", *OPTIONS, "--methods", f"erm,{TAR}", "--seeds", "1,2")


def test_compare_ends_with_the_path_of_the_report(upwind_says, copied):
    code, out, err = upwind_says(*COMPARE)
    assert (code, err) == (0, "")
    path = copied.root.parent / out.splitlines()[-1]
    assert path.suffix == ".html"
    assert path.read_text().startswith("<!doctype html>")
    code, out, _ = upwind_says(*COMPARE, "--json")
    assert json.loads(out)["report"] == str(path.relative_to(copied.root.parent))


def test_a_report_that_fails_does_not_undo_the_comparison(upwind_says, monkeypatch):
    def fail(*_, **__):
        raise InputError("no paper")

    monkeypatch.setattr(upwind.report, "write", fail)
    code, out, err = upwind_says(*COMPARE)
    assert code == 0
    assert err == "upwind: there is no report: no paper\n"
    assert out.splitlines()[-1].endswith(".json")
    _, out, _ = upwind_says(*COMPARE, "--json")
    assert json.loads(out)["report"] is None


def test_report_writes_beside_the_comparison_and_into_the_folder_of_a_run(upwind_says, copied):
    name = copied.path.name
    assert upwind_says("report", f"runs/{name}")[1] == f"runs/{name.replace('json', 'html')}\n"
    run = f"runs/{copied.runs['erm'][0]}"
    _, out, _ = upwind_says("report", run, "--json")
    assert json.loads(out) == {"report": f"{run}/report.html"}
    assert (copied.root.parent / run / "report.html").exists()


def test_report_writes_where_it_is_told_to(upwind_says, copied):
    code, out, _ = upwind_says("report", f"runs/{copied.path.name}", "--out", "new/page.html")
    assert (code, out) == (0, "new/page.html\n")
    assert (copied.root.parent / "new" / "page.html").exists()


@pytest.mark.parametrize("path", ["runs/compare-nothing.json", "runs"])
def test_what_is_no_record_is_one_sentence_and_code_2(upwind_says, path):
    code, out, err = upwind_says("report", path)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "is no run" in err or "there is no comparison" in err
