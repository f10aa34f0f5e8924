"""What holds of the project as a whole: its rooms, its first screen, what it costs to import."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import upwind

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "upwind"

# Lower rooms first; a room may import those before it.
ROOMS = [
    "flow",
    "data",
    "sampling",
    "nets",
    "plugin",
    "methods",
    "train",
    "runs",
    "theory",
    "report",
    "paper",
    "cli",
]


def python(program):
    """Run a program in a fresh interpreter and return what it printed."""
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module == "upwind":
            names += [f"upwind.{alias.name}" for alias in node.names]
        for name in names:
            if name.startswith("upwind."):
                yield name.split(".")[1]


@pytest.mark.parametrize("room", ROOMS)
def test_a_lower_room_never_imports_an_upper_one(room):
    folder = SOURCE / room
    files = folder.rglob("*.py") if folder.is_dir() else [SOURCE / f"{room}.py"]
    upper = ROOMS[ROOMS.index(room) + 1 :]
    for file in files:
        if file.exists():
            assert not set(imported_rooms(file)) & set(upper), file


def test_every_module_has_its_room_in_the_architecture():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for folder in SOURCE.iterdir():
        if folder.is_dir() and (folder / "__init__.py").exists():
            assert f"`{folder.name}/`" in text, folder.name


def test_every_public_name_has_an_example():
    for name in upwind.__all__:
        doc = getattr(upwind, name).__doc__
        assert doc, name
        if not name.startswith("Input") and name not in ("Distance", "Flow", "Reach"):
            assert ">>>" in doc, name


def test_importing_upwind_does_not_import_torch():
    assert python("import sys, upwind; print('torch' in sys.modules)") == "False"


def test_help_does_not_import_torch():
    program = (
        "import sys\nfrom upwind.cli import main\nsys.argv = ['upwind', '--help']\n"
        "try: main()\nexcept SystemExit: pass\nprint('torch' in sys.modules)"
    )
    assert python(program).endswith("False")


def test_the_plug_in_needs_nothing_but_torch_torch_geometric_and_numba():
    extras = "typer rich sklearn scipy pyarrow joblib pooch safetensors matplotlib triton cvxpy"
    program = f"""
import sys
for name in {extras.split()!r}: sys.modules[name] = None
import torch, upwind
edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
tar = upwind.TAR(edges, labeled=torch.tensor([True, False, True]), fill="harmonic", reconnect=1)
print(tar(torch.tensor([0.5, 0.5])).item())
"""
    assert python(program) == "0.5"


def test_the_first_example_of_the_readme_runs():
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    setting = """
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
edges = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
mask = torch.tensor([True, True, False, True])
data = Data(x=torch.randn(4, 2), edge_index=edges, y=torch.tensor([0, 1, 0, 1]), train_mask=mask)
weight = torch.randn(2, 2, requires_grad=True)
model, epochs = lambda x, edge_index: x @ weight, 2
"""
    assert python(setting + block[1] + "print(bool(weight.grad.isfinite().all()))") == "True"


def test_the_plug_in_is_at_most_one_line_in_the_readme_loop():
    readme = (ROOT / "README.md").read_text()
    assert readme.index("tar(losses)") < readme.index("make demo") < 2500
