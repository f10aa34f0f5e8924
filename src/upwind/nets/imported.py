"""A module of the user's own, found by its import path."""

import hashlib
import inspect
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor, nn

from upwind.errors import InputError
from upwind.sampling import Batch


@final
class Imported(nn.Module):
    """Any PyG module ``pkg.module:Class`` as an encoder.

    Of ``in_channels``, ``hidden_channels``, ``out_channels``, ``num_layers``, ``dropout``, the
    class is given those that its constructor names (two positional sizes if it names none). Its
    ``forward`` takes ``(x, edge_index)``, and ``edge_weight`` if it names one. Sparse features
    reach it dense.
    """

    def __init__(
        self, path: str, in_channels: int, *, hidden: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        kind = find_class(path)
        offered: dict[str, Any] = {
            "in_channels": in_channels,
            "hidden_channels": hidden,
            "out_channels": hidden,
            "num_layers": layers,
            "dropout": dropout,
        }
        named = inspect.signature(kind).parameters
        try:
            if "in_channels" in named:
                self.module = kind(**{k: v for k, v in offered.items() if k in named})
            else:
                self.module = kind(in_channels, hidden)
        except TypeError as error:
            raise InputError(f"the backbone {path} cannot be built: {error}") from error
        takes = inspect.signature(self.module.forward)
        try:
            takes.bind("x", "edge_index")
        except TypeError as error:
            raise InputError(
                f"the backbone {path} cannot be given (x, edge_index): {error}"
            ) from None
        self.weighted = "edge_weight" in takes.parameters
        self.width = hidden
        self._path = path

    def forward(self, batch: Batch) -> Tensor:
        """Features of shape ``[rows, hidden]``."""
        x = batch.x.to_dense() if batch.x.layout == torch.sparse_csr else batch.x
        weight = {"edge_weight": batch.edge_weight} if self.weighted else {}
        features: Tensor = self.module(x, batch.edge_index, **weight)
        shape = getattr(features, "shape", type(features).__name__)
        if shape != (batch.num_nodes, self.width):
            raise InputError(
                f"the backbone {self._path} returned {shape} for {batch.num_nodes} nodes, where "
                f"one row of hidden={self.width} features per node is wanted"
            )
        return features


def find_class(path: str) -> type[nn.Module]:
    """The class; only ever a torch module, so that a path cannot name just any callable.

    A module beside the caller, in the working folder, is found too, after all that is installed.
    """
    module, _, name = path.partition(":")
    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)
    try:
        kind = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"the backbone {path} cannot be imported: {error}") from error
    if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
        raise InputError(f"the backbone {path} is not a torch module class")
    return kind


def fingerprint(path: str) -> str:
    """SHA-256 of the file that the class is written in; empty where there is none (a notebook)."""
    try:
        file = inspect.getsourcefile(find_class(path))
    except TypeError:
        return ""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
