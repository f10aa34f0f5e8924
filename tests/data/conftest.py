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
