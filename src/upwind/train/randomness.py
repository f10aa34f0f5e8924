"""The random states that training reads, set, kept and put back."""

import random
from typing import Any

import numpy as np
import torch


def seed_everything(seed: int) -> None:
    """Start Python's, NumPy's and torch's global generators from this seed."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 (what a network of the user's may read)
    torch.manual_seed(seed)


def random_state() -> dict[str, Any]:
    """Where the global generators are now."""
    state = {
        "python": random.getstate(),
        "numpy": np.random.get_state(legacy=False),  # noqa: NPY002
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def restore(state: dict[str, Any]) -> None:
    """Put the global generators back where they were."""
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])  # noqa: NPY002
    torch.set_rng_state(state["torch"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
