"""One loader for everything: a data set by its name, or a graph of your own by its path."""

from pathlib import Path

from torch_geometric.data import Data

from upwind.data.catalog import SHIFTS, build
from upwind.data.raw import RawFiles
from upwind.data.split import SEED
from upwind.errors import InputError


def load(
    source: str | Path,
    *,
    shift: str | None = None,
    domain: str | None = None,
    seed: int | None = None,
    root: Path | None = None,
    balance: bool = False,
    ratio: float = 100.0,
) -> Data:
    """Load a graph with a split.

    >>> data = load("cbas", shift="covariate")
    >>> data.num_classes, data.num_envs, int(data.train_mask.sum())
    (4, 5, 420)
    """
    if shift not in (None, *SHIFTS):
        raise InputError(f"there is no shift {shift!r}; there are {', '.join(SHIFTS)}.")
    seed = SEED if seed is None else seed
    return build(
        str(source),
        RawFiles(root),
        shift=shift,
        domain=domain,
        seed=seed,
        balance=balance,
        ratio=ratio,
    )
