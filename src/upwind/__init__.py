"""Node classifiers that hold up when the graph changes.

Everything public is here, and loaded when it is first touched: ``import upwind`` costs
milliseconds, so that the command line answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from upwind.errors import InputError, InputWarning

if TYPE_CHECKING:
    from upwind.data import concept_shift, covariate_shift, load, long_tail
    from upwind.flow import (
        Flow,
        Graph,
        gibbs,
        gradient_flow,
        harmonic_extension,
        reconnect,
    )
    from upwind.plugin import TAR

__version__ = "0.1.0"

_HOME = {
    "Flow": "upwind.flow",
    "Graph": "upwind.flow",
    "TAR": "upwind.plugin",
    "concept_shift": "upwind.data",
    "covariate_shift": "upwind.data",
    "gibbs": "upwind.flow",
    "gradient_flow": "upwind.flow",
    "harmonic_extension": "upwind.flow",
    "load": "upwind.data",
    "long_tail": "upwind.data",
    "reconnect": "upwind.flow",
}

__all__ = [
    "TAR",
    "Flow",
    "Graph",
    "InputError",
    "InputWarning",
    "concept_shift",
    "covariate_shift",
    "gibbs",
    "gradient_flow",
    "harmonic_extension",
    "load",
    "long_tail",
    "reconnect",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'upwind' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
