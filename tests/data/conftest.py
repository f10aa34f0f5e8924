"""Where the raw data and the reference of the project are, if they are on this machine."""

import os
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("UPWIND_SHARED", HERE.parent / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the raw data and the reference."""
    if not (SHARED / "reference").is_dir():
        pytest.skip(f"no reference in {SHARED}; name its folder with UPWIND_SHARED")
    return SHARED


@pytest.fixture(scope="session")
def raw_root(shared: Path) -> Path:
    return shared / "data"


@pytest.fixture
def reference(shared: Path):
    """Reads an npz of the reference, e.g. ``splits/webkb_concept``."""
    return lambda name: np.load(shared / "reference" / f"{name}.npz", allow_pickle=False)


@pytest.fixture
def fields():
    """The arrays of a sound graph: two triangles joined by an edge, split and labelled."""
    pairs = np.array([[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5], [2, 3]])
    arrays = {
        "x": np.arange(12, dtype=np.float32).reshape(6, 2),
        "edge_index": np.concatenate([pairs, pairs[:, ::-1]]).T.copy(),
        "y": np.array([0, 1, 0, 1, 0, 1]),
    }
    for part, nodes in {"train": [0, 1], "val": [2, 3], "test": [4, 5]}.items():
        arrays[f"{part}_mask"] = np.isin(np.arange(6), nodes)
    return arrays
