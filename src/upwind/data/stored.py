"""A graph in a folder of arrays that are mapped, not read: for what is larger than memory.

    graph.json       sizes, names, and dtype, shape and SHA-256 of every array
    edge_index.npy   [2, edges], sources and targets, sorted by target
    rowptr.npy       [nodes + 1], where the edges into each node begin
    edge_weight.npy  [edges], if there are weights
    x.npy            [nodes, features], float32
    y.npy            [nodes], -1 where there is no label
    *_mask.npy, domain_id.npy and other arrays with a value a node, as far as there are

docs/large.md has the details.
"""

import hashlib
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from upwind.data.assemble import MASKS
from upwind.errors import InputError

HEADER = "graph.json"
FORMAT = "upwind graph"
VERSION = 1


def is_stored(path: Path) -> bool:
    """Whether this folder holds such a graph."""
    return (path / HEADER).is_file()


def create(folder: Path, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """A new array in the folder, to be written piece by piece."""
    mapped: NDArray[Any] = np.lib.format.open_memmap(
        folder / f"{name}.npy", mode="w+", dtype=dtype, shape=shape
    )
    return mapped


def write_header(folder: Path, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the arrays that are in the folder; without a header they are no graph."""
    files = {}
    for path in sorted(folder.glob("*.npy")):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        files[path.stem] = {"dtype": str(array.dtype), "shape": array.shape, "sha256": sha256}
    header = {"format": FORMAT, "version": VERSION, **facts, "files": files}
    (folder / HEADER).write_text(json.dumps(header, indent=1))
    return header


def open_stored(folder: Path) -> Data:
    """The graph in the folder; its arrays are read where and when they are used.

    ``stored`` is its header. Nothing may write to its tensors.
    """
    header = _read_header(folder)
    nodes, edges = header["nodes"], header["edges"]
    arrays = {name: _mapped(folder, name, said) for name, said in header["files"].items()}
    for name, shape in (("edge_index", (2, edges)), ("rowptr", (nodes + 1,))):
        if name not in arrays or arrays[name].shape != shape or arrays[name].dtype.kind != "i":
            raise InputError(f"{folder} has no {name} of shape {shape}; import it again.")
    for name, array in arrays.items():
        length = {"edge_index": 2, "rowptr": nodes + 1, "edge_weight": edges}.get(name, nodes)
        if array.shape[0] != length:
            raise InputError(f"{folder}/{name}.npy has {array.shape[0]} rows, not {length}.")
    _check_types(folder, arrays)
    _check_edges(folder, arrays, nodes, edges)
    _check_labels(folder, arrays, header)
    data = Data(num_nodes=nodes)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        for name, array in arrays.items():
            data[name] = torch.from_numpy(array)
    data.label_names = list(header["label_names"])
    data.domain_names = list(header["domain_names"])
    data.node_names = []
    data.stored = header
    return data


def _read_header(folder: Path) -> dict[str, Any]:
    path = folder / HEADER
    try:
        header: dict[str, Any] = json.loads(path.read_text())
        if (header["format"], header["version"]) != (FORMAT, VERSION):
            raise InputError(
                f"{path} is version {header['version']} of {header['format']!r}, and this upwind "
                f"reads version {VERSION} of {FORMAT!r}; import the graph again."
            )
        for key, kind in (("nodes", int), ("edges", int), ("files", dict), ("label_names", list)):
            if not isinstance(header[key], kind):
                raise TypeError(f"{key} is no {kind.__name__}")
        header.setdefault("domain_names", [])
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is no header of a graph ({error!r}); import it again.") from error
    return header


def _mapped(folder: Path, name: str, said: Mapping[str, Any]) -> NDArray[Any]:
    path = folder / f"{name}.npy"
    try:
        if not name.isidentifier():
            raise ValueError(f"{name!r} is no name of an array")
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if (str(array.dtype), list(array.shape)) != (said["dtype"], list(said["shape"])):
            raise ValueError(f"{array.dtype} {array.shape}, {HEADER} says {said}")
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise InputError(f"{path} is missing or cut short ({error}); import it again.") from error
    return np.asarray(array)  # the same mapping, without np.memmap's bookkeeping


def _check_types(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    known = {"x": ("float32", 2), "edge_weight": ("float32", 1)}
    known |= {"y": ("int64", 1), "domain_id": ("int64", 1), "rowptr": ("int64", 1)}
    known |= dict.fromkeys(MASKS, ("bool", 1))
    for name, array in arrays.items():
        wanted = known.get(name, (str(array.dtype), array.ndim))
        if (str(array.dtype), array.ndim) != wanted:
            raise InputError(
                f"{folder}/{name}.npy is {array.dtype} of {array.ndim} dimensions, not {wanted[0]} "
                f"of {wanted[1]}; import it again."
            )
    if "x" not in arrays:
        raise InputError(f"{folder} has no x.npy; import it again.")


def _check_labels(
    folder: Path, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
) -> None:
    for name, names in (("y", "label_names"), ("domain_id", "domain_names")):
        values, most = arrays.get(name), len(header[names])
        if values is not None and not -1 <= values.min() <= values.max() < most:
            raise InputError(
                f"{folder}/{name}.npy has values from {values.min()} to {values.max()}, and "
                f"{HEADER} has {most} {names}; import it again."
            )


def _check_edges(folder: Path, arrays: Mapping[str, NDArray[Any]], nodes: int, edges: int) -> None:
    """What the compiled kernels rely on: a wrong number would have them read elsewhere."""
    rowptr, edge_index = arrays["rowptr"], arrays["edge_index"]
    steps = np.diff(rowptr)
    sound = rowptr[0] == 0 and rowptr[-1] == edges and steps.min(initial=0) >= 0
    if edges:
        sound &= edge_index.min() >= 0 and edge_index.max() < nodes
    if not sound:
        raise InputError(f"{folder} has edges that point outside it; import it again.")
