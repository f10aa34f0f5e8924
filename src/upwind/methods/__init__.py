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
from upwind.methods.cit import CIT
from upwind.methods.dann import DANN
from upwind.methods.deepcoral import DeepCORAL
from upwind.methods.eerm import EERM
from upwind.methods.erm import ERM
from upwind.methods.groupdro import GroupDRO
from upwind.methods.irm import IRM
from upwind.methods.kldro import KLDRO
from upwind.methods.srgnn import SRGNN
from upwind.methods.tar import TAR
from upwind.methods.tar_n import TARN
from upwind.methods.vrex import VREx
from upwind.methods.wdro import WDRO

__all__ = [
    "CIT",
    "DANN",
    "EERM",
    "ERM",
    "IRM",
    "KLDRO",
    "SRGNN",
    "TAR",
    "TARN",
    "WDRO",
    "DeepCORAL",
    "GroupDRO",
    "Method",
    "NoOptions",
    "Synthesiser",
    "VREx",
    "build",
    "get",
    "names",
    "parse",
    "resolve",
    "row_losses",
    "set_apart",
]
