"""The page on training: its Python runs, and its commands are commands."""

import re
import runpy
import shlex
from pathlib import Path

from typer.main import get_command

from upwind.cli import app
from upwind.runs import execute

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "training.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_its_python_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks("python"):
        exec(block, names)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]] == ["erm", "tar"]
    assert len(names["columns"]["label"]) == 700


def test_its_commands_and_their_options_exist():
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    lines = [shlex.split(line)[1:] for line in lines if line.startswith("upwind ")]
    assert len(lines) > 5
    for name, *arguments in lines:
        command = get_command(app).commands[name]
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in arguments if word.startswith("--")} <= known


def test_its_tables_come_from_records(tmp_path, capsys):
    asked = {"source": "cbas", "shift": "covariate"}
    page = runpy.run_path(str(ROOT / "docs" / "training_results.py"))
    quick = {"hidden": 8, "layers": 2, "epochs": 2, "steps_per_epoch": 2, "coverage": 2}
    page["AS_PUBLISHED"].update(quick)
    runs = {
        (method, seed): execute({**asked, **quick, "method": method, "seed": seed}, root=tmp_path)
        for method in ("erm", "tar")
        for seed in (1, 2)
    }
    page["main"](tmp_path)
    tables = capsys.readouterr().out
    first, second = (runs["tar", seed].result["scores"]["test"]["accuracy"] for seed in (1, 2))
    assert f"| `tar` | 2 | {50 * (first + second):.2f} ± " in tables
    assert "| 79.86 ± 2.07 |" in tables
    last = [list(runs["tar", seed].epochs())[-1]["weights"] for seed in (1, 2)]
    share = sum(weights["effective_share"] for weights in last) / 2
    low, high = min(w["smallest"] for w in last), max(w["largest"] for w in last)
    assert f"| cbas covariate | `tar` | {share:.4f} | {low:.3f} | {high:.3f} |" in tables
