"""Training objectives: each turns a batch and the model into a loss."""

from upwind.methods._base import (
    Method,
    NoOptions,
    Synthesiser,
    build,
    get,
    names,
    parse,
    resolve,
    set_apart,
)
from upwind.methods._losses import row_losses
from upwind.methods.erm import ERM
from upwind.methods.tar import TAR
from upwind.methods.tar_n import TARN

__all__ = [
    "ERM",
    "TAR",
    "TARN",
    "Method",
    "NoOptions",
    "Synthesiser",
    "build",
    "get",
    "names",
    "parse",
    "resolve",
    "row_losses",
    "set_apart",
]
