"""Training objectives: each turns a batch and the model into a loss."""

from upwind.methods._base import (
    Method,
    NoOptions,
    get,
    names,
    parse,
    resolve,
    set_apart,
)
from upwind.methods._losses import row_losses
from upwind.methods._sum import Step, Sum, Summand, build
from upwind.methods.balanced_softmax import BalancedSoftmax
from upwind.methods.cb_loss import CBLoss
from upwind.methods.erm import ERM
from upwind.methods.graphens import GraphENS
from upwind.methods.pc_softmax import PCSoftmax
from upwind.methods.reweight import Reweight
from upwind.methods.tam import TAM
from upwind.methods.tar import TAR
from upwind.methods.tar_n import TARN

__all__ = [
    "ERM",
    "TAM",
    "TAR",
    "TARN",
    "BalancedSoftmax",
    "CBLoss",
    "GraphENS",
    "Method",
    "NoOptions",
    "PCSoftmax",
    "Reweight",
    "Step",
    "Sum",
    "Summand",
    "build",
    "get",
    "names",
    "parse",
    "resolve",
    "row_losses",
    "set_apart",
]
