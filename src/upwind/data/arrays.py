"""Graphs in ``.npz`` files, with sparse features kept sparse."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from upwind.data.assemble import MASKS
from upwind.data.sparse import to_scipy
from upwind.errors import InputError


def read_arrays(path: Path) -> dict[str, Any]:
    """The arrays of an npz file by name; a pickle among them is refused."""
    try:
        with path.open("rb") as opened:
            file = np.load(opened, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise InputError(f"{path} holds a single array; save several with numpy.savez.")
            return {name: file[name] for name in file.files}
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        if "Object arrays" not in str(error):
            raise InputError(
                f"{path} is no npz, whatever its name says; write the arrays with numpy.savez."
            ) from error
        raise InputError(
            f"{path} has an array of Python objects, which is not opened because it could run "
            "code; save labels and names as strings (dtype str)."
        ) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, KeyError) as error:
        raise InputError(f"{path} is damaged or cut short ({error}); replace it.") from error


def read_npz(path: Path) -> dict[str, Any]:
    """The arrays of a graph by name; matrices stored as CSR parts are put together.

    ``x`` and the graph may be stored as the four arrays ``x_data, x_indices, x_indptr, x_shape``
    and ``adj_data, ...``; ``attr_...`` and ``labels`` mean ``x_...`` and ``y``, as in the files of
    the citation data sets.
    """
    fields = read_arrays(path)
    if "labels" in fields:
        fields.setdefault("y", fields.pop("labels"))
    for short, name in (("attr", "x"), ("x", "x"), ("adj", "adj")):
        if f"{short}_data" in fields:
            fields[name] = _joined(path, fields, short)
    if sp.issparse(fields.get("adj")):
        adjacency = fields.pop("adj").tocoo()
        fields.setdefault("edge_index", np.stack([adjacency.row, adjacency.col]).astype(np.int64))
        if not np.all(adjacency.data == 1):
            fields.setdefault("edge_weight", adjacency.data)
    if not {"x", "edge_index", "y"} & set(fields):
        has = ", ".join(fields) or "nothing"
        raise InputError(f"{path} has none of the arrays x, edge_index and y, but {has:.100}.")
    return fields


def save(data: Data, path: str | Path) -> Path:
    """Write a graph with its split to an ``.npz`` that `load` reads back as it was.

    >>> import tempfile
    >>> from upwind.data import load
    >>> data = load("cbas", shift="concept")
    >>> path = save(data, Path(tempfile.mkdtemp()) / "mine.npz")
    >>> torch.equal(load(path).train_mask, data.train_mask)
    True
    """
    arrays: dict[str, Any] = {}
    for name in ("x", "edge_index", "edge_weight", "y", *MASKS, "env_id", "domain_id"):
        value = getattr(data, name, None)
        if value is None:
            continue
        if value.layout == torch.strided:
            arrays[name] = value.numpy()
        else:
            matrix = to_scipy(value)
            parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
            parts["shape"] = np.array(matrix.shape)
            arrays |= {f"{name}_{part}": array for part, array in parts.items()}
    for name in ("label_names", "node_names", "domain_names"):
        if getattr(data, name, None):
            arrays[name] = np.array(getattr(data, name), dtype=str)
    for name in ("shift", "metric"):
        if getattr(data, name, None):
            arrays[name] = np.array(getattr(data, name))
    path = Path(path)
    partial = path.with_name(f".{path.name}.part")
    with partial.open("wb") as file:
        np.savez_compressed(file, **arrays)
    return partial.replace(path)


def _joined(path: Path, fields: dict[str, Any], name: str) -> sp.csr_array:
    try:
        parts = [fields.pop(f"{name}_{part}") for part in ("data", "indices", "indptr", "shape")]
        matrix = sp.csr_array(tuple(parts[:3]), shape=tuple(int(side) for side in parts[3]))
        matrix.check_format()
    except (KeyError, ValueError) as error:
        raise InputError(
            f"{path}: {name}_data, {name}_indices, {name}_indptr and {name}_shape are no CSR "
            f"matrix ({error}); write them from scipy.sparse."
        ) from error
    return matrix
