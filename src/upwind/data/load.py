"""One loader for everything: a data set by its name, or a graph of your own by its path."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from numpy.typing import ArrayLike
from torch_geometric.data import Data

from upwind.data.catalog import CATALOG, SHIFTS, build
from upwind.data.own import read_own
from upwind.data.raw import RawFiles
from upwind.data.split import SEED
from upwind.data.tables import Columns
from upwind.errors import InputError


def load(
    source: str | Path,
    *,
    shift: str | None = None,
    domain: str | ArrayLike | None = None,
    seed: int | None = None,
    root: str | Path | None = None,
    balance: bool = False,
    ratio: float = 100.0,
    training: bool = True,
    label_names: Sequence[str] | None = None,
    edges: str | Path | None = None,
    **columns: Unpack[Columns],
) -> Data:
    """Load a graph with its split: a data set by its name, or your own by its path.

    Your own is an ``.npz``, a ``.pt`` with a PyG ``Data``, a ``.graphml``, or a node table
    (``.csv``, ``.tsv``, ``.parquet``) with ``edges`` for the edge table; a folder with
    ``nodes.*`` and ``edges.*`` will do too. It is checked: one `InputError` lists everything that
    is wrong with it, one `InputWarning` everything that is odd.

    Args:
        source: A name of the catalogue (``upwind datasets`` lists them), also with its domain as in
            ``cora_degree``; or a path. A file wins over a name.
        shift: ``"covariate"``, ``"concept"`` or ``"none"`` (a random split). By default a data set
            has a random split, and a file its own, or a random one if it has none.
        domain: What to shift by, as in `covariate_shift`; by default the data set's usual domain,
            or the key or column ``domain`` of the file.
        seed: Seed of the split; 123 by default, as in the public benchmark.
        root: A folder with raw files in PyG's layout, else what UPWIND_DATA names, else the cache.
        balance: Repair a shift that would leave a part empty, instead of refusing it.
        ratio: How long the tail of a long-tailed data set is.
        training: Whether to train on it; if only to predict, labels and split may be missing.
        label_names: The classes a model knows, in its order, for a graph to predict on.
        edges: The edge table, if `source` is a node table.
        **columns: What the columns of the tables are called: ``id``, ``label``, ``split``,
            ``features``, ``start``, ``end``, ``weight``. See `Columns` for the defaults.

    Returns:
        A ``Data`` with ``x`` (float32; CSR where the source is sparse), ``edge_index``, ``y`` (-1
        where there is no label), ``train_mask``, ``id_val_mask``, ``id_test_mask``, ``val_mask``,
        ``test_mask``, ``env_id`` and ``domain_id`` (-1 where there is none), and plainly ``name``,
        ``shift``, ``num_classes``, ``num_envs``, ``metric``, ``label_names``, ``domain_names``,
        ``node_names`` (empty where nodes have none).

    >>> data = load("cbas", shift="covariate")
    >>> data.num_classes, data.num_envs, int(data.train_mask.sum())
    (4, 5, 420)
    """
    if shift not in (None, *SHIFTS):
        raise InputError(f"there is no shift {shift!r}; there are {', '.join(SHIFTS)}.")
    options: dict[str, Any] = {
        "shift": shift,
        "domain": domain,
        "seed": SEED if seed is None else seed,
        "balance": balance,
    }
    path = Path(source)
    if _exists(path) and str(source) and not (path.is_dir() and str(source) in CATALOG):
        return read_own(
            path,
            **options,
            training=training,
            label_names=label_names,
            edges=None if edges is None else Path(edges),
            columns=columns,
        )
    if path.suffix or len(path.parts) > 1:
        raise InputError(f"there is no file {source}; check the path.")
    return build(
        str(source), RawFiles(None if root is None else Path(root)), **options, ratio=ratio
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # too long for a name
        return False
