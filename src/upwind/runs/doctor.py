"""Whether this machine has what upwind needs."""

import importlib.util
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from upwind.runs.environment import environment


def examine(root: Path) -> dict[str, Any]:
    """The environment, and a list of checks with ``name``, ``good`` and ``says``."""
    return {"environment": environment(), "checks": [_compiles(), *_machine(root), *_extras()]}


def _check(name: str, good: bool, says: str) -> dict[str, Any]:
    return {"name": name, "good": good, "says": says}


def _compiles() -> dict[str, Any]:
    import torch

    from upwind.sparse import csr, product

    eye = csr(torch.tensor([0, 1]), torch.tensor([0]), torch.ones(1), (1, 1))
    good = product(eye, torch.ones(1, 1)).item() == 1
    return _check("compiled kernels", good, "numba compiles and runs" if good else "wrong result")


def _machine(root: Path) -> list[dict[str, Any]]:
    import torch

    there = next(
        parent for parent in [root.absolute(), *root.absolute().parents] if parent.exists()
    )
    free = shutil.disk_usage(there).free / 2**30
    try:
        with tempfile.TemporaryFile(dir=there):
            writable = True
    except OSError:
        writable = False
    cuda = torch.cuda.get_device_name() if torch.cuda.is_available() else "none; the CPU is used"
    data = os.environ.get("UPWIND_DATA")
    return [
        _check("records", writable, f"{root} {'can' if writable else 'cannot'} be written"),
        _check("disk", free > 1, f"{free:.0f} GB free at {there}"),
        _check("data", data is None or Path(data).is_dir(), f"UPWIND_DATA is {data or 'not set'}"),
        _check("gpu", True, cuda),
        _check("threads", True, f"{torch.get_num_threads()} for torch, {os.cpu_count()} cores"),
    ]


def _extras() -> list[dict[str, Any]]:
    optional = {
        "pyg_lib": "PyG's neighbour sampling",
        "pyarrow": "reading and writing Parquet",
        "matplotlib": "pictures of data sets",
    }
    return [
        _check(module, True, f"{what}: {'there' if _has(module) else 'not installed'}")
        for module, what in optional.items()
    ]


def _has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
