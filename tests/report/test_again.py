import dataclasses
import shlex
import sys

import pytest

from upwind.cli import main
from upwind.report import open_records
from upwind.report.again import command, made_with
from upwind.report.records import finished


@pytest.fixture
def give(monkeypatch, capsys):
    """Gives a command line, and returns what it printed."""

    def give(line, folder):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        return capsys.readouterr().out

    return give


def test_the_command_gives_the_comparison_again_and_does_what_was_missing(copied, give):
    assert not copied.members()[-1].is_done
    out = give(command(copied), copied.root.parent)
    assert f"runs/{copied.path.name}" in out
    assert copied.members()[-1].is_done
    assert len(list(copied.root.glob("*/config.json"))) == 6


def test_the_command_of_a_run_gives_the_run_again(copied, give):
    run = copied.members()[0]
    line = command(open_records(run.folder))
    assert line.startswith("upwind train cbas")
    assert f"runs/{run.id}" in give(line, copied.root.parent)
    assert len(list(copied.root.glob("*/config.json"))) == 5


def test_flags_that_are_off_are_said(comparison):
    asked = {"source": "cbas", "balance": False, "row_normalise": True}
    line = command(dataclasses.replace(comparison, asked=asked))
    assert line.startswith("upwind compare cbas --no-balance --row-normalise --methods")


def test_versions_that_differ_are_counted(comparison):
    methods = finished(comparison)
    rows = dict(made_with(methods))
    assert len(rows["torch"]) == len(rows["revision"]) == 1
    results = {"packages": {"torch": "0.1"}}

    class Other:
        environment = results

    one = dataclasses.replace(methods[0], runs={9: Other()})
    rows = dict(made_with([*methods, one]))
    assert "0.1 (1 runs)" in rows["torch"]
