"""The page on training: its Python runs, and its commands are commands."""

import re
import shlex
from pathlib import Path

from typer.main import get_command

from upwind.cli import app

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
