"""State as one safetensors file: tensors as tensors, everything else as JSON in its header.

Nothing in such a file can run code, unlike a pickle.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from upwind.errors import InputError


def encode(state: Any) -> bytes:
    """The file that holds this nest of dicts, lists, tuples, tensors, arrays and plain values.

    >>> decode(encode({"step": 3, "mean": torch.ones(2), "key": (1, None)}))
    {'step': 3, 'mean': tensor([1., 1.]), 'key': (1, None)}
    """
    tensors: dict[str, Tensor] = {}
    tree = _split(state, tensors)
    return save(tensors, {"tree": json.dumps(tree)})


def decode(content: bytes, name: str = "a checkpoint") -> Any:
    """What `encode` was given; damage is reported under the file's name."""
    try:
        tensors = load(content)
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        return _join(json.loads(header["__metadata__"]["tree"]), tensors)
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError(f"{name} is damaged ({error}); delete it to start again") from None


def read(path: Path) -> Any:
    """What is in the file."""
    return decode(path.read_bytes(), str(path))


def _split(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Plain values stand for themselves; anything else is a pair of its kind and content."""
    if isinstance(value, Tensor):
        name = str(len(tensors))
        # A copy: safetensors refuses tensors that share memory.
        tensors[name] = value.detach().to("cpu", copy=True).contiguous()
        return ["tensor", name]
    if isinstance(value, np.ndarray):
        return ["array", _split(torch.from_numpy(value.copy()), tensors)]
    if isinstance(value, dict):
        return ["dict", [[_split(k, tensors), _split(v, tensors)] for k, v in value.items()]]
    if isinstance(value, list | tuple):
        return [type(value).__name__, [_split(item, tensors) for item in value]]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a state cannot hold a {type(value).__name__}")


def _join(tree: Any, tensors: dict[str, Tensor]) -> Any:
    if not isinstance(tree, list):
        return tree
    kind, content = tree
    if kind == "tensor":
        return tensors[content]
    if kind == "array":
        return _join(content, tensors).numpy()
    if kind == "dict":
        return {_join(k, tensors): _join(v, tensors) for k, v in content}
    items = [_join(item, tensors) for item in content]
    return tuple(items) if kind == "tuple" else items
