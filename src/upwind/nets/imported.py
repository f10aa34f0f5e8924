"""A module of the user's own, found by its import path."""

import inspect
from importlib import import_module
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
        kind = _find(path)
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
        self.weighted = "edge_weight" in inspect.signature(self.module.forward).parameters
        self.width = hidden

    def forward(self, batch: Batch) -> Tensor:
        """Features of shape ``[rows, hidden]``."""
        x = batch.x.to_dense() if batch.x.layout == torch.sparse_csr else batch.x
        weight = {"edge_weight": batch.edge_weight} if self.weighted else {}
        features: Tensor = self.module(x, batch.edge_index, **weight)
        return features


def _find(path: str) -> type[nn.Module]:
    """The class; only ever a torch module, so that a path cannot name just any callable."""
    module, _, name = path.partition(":")
    try:
        kind = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"the backbone {path} cannot be imported: {error}") from error
    if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
        raise InputError(f"the backbone {path} is not a torch module class")
    return kind
