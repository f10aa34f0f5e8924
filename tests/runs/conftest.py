"""A run that takes a moment: CBAS with a small network."""

import pytest

QUICK = {
    "source": "cbas",
    "shift": "covariate",
    "seed": 3,
    "hidden": 8,
    "layers": 2,
    "epochs": 4,
    "steps_per_epoch": 2,
    "coverage": 2,
}


@pytest.fixture
def quick() -> dict:
    return dict(QUICK)
