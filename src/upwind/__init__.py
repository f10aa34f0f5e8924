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
        Distance,
        Flow,
        Graph,
        Reach,
        geometric_wasserstein,
        gibbs,
        gradient_flow,
        harmonic_extension,
        reach,
        reconnect,
    )
    from upwind.plugin import TAR

__version__ = "0.1.0"

_HOME = {
    "Distance": "upwind.flow",
    "Flow": "upwind.flow",
    "Graph": "upwind.flow",
    "Reach": "upwind.flow",
    "TAR": "upwind.plugin",
    "concept_shift": "upwind.data",
    "covariate_shift": "upwind.data",
    "geometric_wasserstein": "upwind.flow",
    "gibbs": "upwind.flow",
    "gradient_flow": "upwind.flow",
    "harmonic_extension": "upwind.flow",
    "load": "upwind.data",
    "long_tail": "upwind.data",
    "reach": "upwind.flow",
    "reconnect": "upwind.flow",
}

__all__ = [
    "TAR",
    "Distance",
    "Flow",
    "Graph",
    "InputError",
    "InputWarning",
    "Reach",
    "concept_shift",
    "covariate_shift",
    "geometric_wasserstein",
    "gibbs",
    "gradient_flow",
    "harmonic_extension",
    "load",
    "long_tail",
    "reach",
    "reconnect",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'upwind' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
