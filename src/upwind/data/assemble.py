"""From the arrays of a file, whatever their types, to a graph."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from upwind.data.defects import Defect, Findings, node_name
from upwind.data.sparse import to_scipy, to_torch
from upwind.data.split import PARTS
from upwind.errors import InputError

MASKS = tuple(f"{part}_mask" for part in PARTS)


def assemble(
    fields: Mapping[str, Any], label_names: Sequence[str] | None = None
) -> tuple[Data, list[Defect]]:
    """A graph with the types that upwind works with; what fits no type is an `InputError`.

    Args:
        fields: Arrays by name: ``x`` (dense, or a SciPy matrix), ``edge_index``, ``edge_weight``,
            ``y`` (whole numbers or strings), the five masks, ``env_id``, ``node_names``,
            ``label_names`` and any other, which is kept as it is, to serve as a domain.
        label_names: The classes that a model knows, in its order; by default those of the file.

    >>> data, _ = assemble({"x": np.eye(3), "y": ["b", None, "a"]})
    >>> data.y.tolist(), data.label_names
    ([1, -1, 0], ['a', 'b'])
    """
    data = Data()
    for name, value in fields.items():
        if value is None or name in ("y", "label_names", "node_names"):
            continue
        if name == "x":
            data.x = _features(value)
        elif name == "edge_index":
            data.edge_index = _tensor(name, value, np.int64, "iu")
        elif name == "edge_weight":
            data.edge_weight = _tensor(name, value, np.float32, "iuf")
        elif name in MASKS:
            data[name] = _tensor(name, value, np.bool_, "biuf")
        elif name in ("env_id", "domain_id"):
            data[name] = _tensor(name, value, np.int64, "iu")
        elif name == "domain_names":
            data.domain_names = _strings(name, value)
        else:
            data[name] = _plain(value)
    data.node_names = _strings("node_names", fields.get("node_names")) or []
    data.num_nodes = _num_nodes(data, fields)
    own = _strings("label_names", fields.get("label_names"))
    names = list(label_names) if label_names is not None else own
    found = _labels(data, fields.get("y"), names)
    return data, found


def _plain(value: Any) -> Any:
    """Numbers as a tensor and words as a list, which ``torch.save`` and PyG both can handle."""
    if not isinstance(value, np.ndarray):
        return value
    kinds: dict[str, type[np.generic]] = {"b": np.bool_, "i": np.int64, "u": np.int64}
    kinds["f"] = np.float64
    kind = kinds.get(value.dtype.kind)
    return value.tolist() if kind is None or value.ndim == 0 else _owned(value, kind)


def _owned(array: NDArray[Any], kind: type[np.generic]) -> torch.Tensor:
    """As a tensor of this type; what Arrow lends for reading is copied."""
    return torch.from_numpy(np.require(array, dtype=kind, requirements=["C", "W"]))


def _features(value: Any) -> torch.Tensor:
    if isinstance(value, torch.Tensor) and value.layout != torch.strided:
        return to_torch(to_scipy(value))
    if sp.issparse(value):
        return to_torch(sp.csr_array(value))
    return _tensor("x", value, np.float32, "biuf")


def _tensor(name: str, value: Any, kind: type[np.generic], from_kinds: str) -> torch.Tensor:
    """The value as a tensor of this type, if its own type is one of these kinds."""
    array = _array(name, value)
    if array.dtype.kind not in from_kinds:
        first = f", first {array.flat[0].item()!r}" if array.size else ""
        wanted = "numbers" if kind is np.float32 else "whole numbers"
        wanted = "true or false a node" if kind is np.bool_ else wanted
        raise InputError(f"{name} holds values of type {array.dtype}{first}; give {wanted}.")
    if kind is np.bool_ and not np.isin(array, [0, 1]).all():
        raise InputError(f"{name} holds numbers other than 0 and 1; give true or false a node.")
    if array.dtype == np.uint64 and array.max(initial=0) > np.iinfo(np.int64).max:
        raise InputError(f"{name} holds {array.max()}, which is past 2^63; give smaller numbers.")
    return _owned(array, kind)


def _array(name: str, value: Any) -> NDArray[Any]:
    try:
        if not isinstance(value, torch.Tensor):
            return np.asarray(value)
        value = value.detach().cpu()
        return np.asarray(value.float() if value.dtype == torch.bfloat16 else value)
    except (ValueError, TypeError, NotImplementedError) as error:  # ragged, sparse, without values
        raise InputError(f"{name} is no plain array ({error}); give one.") from error


def _num_nodes(data: Data, fields: Mapping[str, Any]) -> int:
    if getattr(data, "x", None) is not None and data.x.dim():
        return int(data.x.shape[0])
    if fields.get("y") is not None and np.ndim(fields["y"]):
        return len(fields["y"])
    if data.node_names:
        return len(data.node_names)
    if fields.get("num_nodes") is not None:
        return int(fields["num_nodes"])
    edges = getattr(data, "edge_index", None)
    return int(edges.max()) + 1 if edges is not None and edges.numel() else 0


def _strings(name: str, values: Any) -> list[str] | None:
    """A list of names; a text would be taken for one of letters."""
    if values is None:
        return None
    if isinstance(values, str) or np.ndim(values) != 1:
        raise InputError(f"{name} is no list of names; give one with a string for each.")
    return [str(value) for value in values]


def _labels(data: Data, y: Any, names: list[str] | None) -> list[Defect]:
    """Put codes for the labels into ``y``, and their names into ``label_names``."""
    if y is None:
        data.label_names = names or []
        return []
    values = _array("y", y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.dtype.kind in "OUS":
        return _named_labels(data, values, names)
    if values.dtype.kind == "f":
        missing = np.isnan(values)
        whole = np.where(missing, -1, values)
        small = np.array_equal(whole, np.rint(whole)) and (np.abs(whole) < 2**53).all()
        values = whole.astype(np.int64) if small else values
    data.y = _tensor("y", values, np.float64 if values.dtype.kind == "f" else np.int64, "biuf")
    highest = -1 if data.y.is_floating_point() else int(data.y.numpy().max(initial=-1))
    if names is None and highest < data.num_nodes:
        names = [str(label) for label in range(highest + 1)]
    data.label_names = names or []
    return []


def _named_labels(data: Data, values: NDArray[Any], names: list[str] | None) -> list[Defect]:
    missing = np.array([value is None or value in ("", b"") for value in values], dtype=bool)
    text = np.where(missing, "", values).astype(str)
    if names is None:
        distinct = np.unique(text[~missing]).tolist()
        names = sorted(distinct, key=by_number)
    code = {name: i for i, name in enumerate(names)}
    y = np.array([code.get(label, -1) for label in text], dtype=np.int64)
    data.y, data.label_names = torch.from_numpy(y), names
    found = Findings()
    found.each(
        "unknown_label",
        "error",
        np.flatnonzero((y < 0) & ~missing),
        "labels that the model does not know",
        f"it knows {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}; "
        "leave other labels empty",
        lambda node: f"node {node_name(data, node)}: {text[node]}",
    )
    return found


def by_number(label: str) -> tuple[float, str]:
    """Sorts 2 before 10, and numbers before words."""
    try:
        return float(label), label
    except ValueError:
        return float("inf"), label
