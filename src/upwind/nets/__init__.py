"""Networks: an encoder, and the linear classifier on top of it."""

from upwind.nets._encoder import Encoder, get, names
from upwind.nets.gat import GAT
from upwind.nets.gcn import GCN
from upwind.nets.imported import Imported, fingerprint
from upwind.nets.model import Model, build, check

__all__ = [
    "GAT",
    "GCN",
    "Encoder",
    "Imported",
    "Model",
    "build",
    "check",
    "fingerprint",
    "get",
    "names",
]
