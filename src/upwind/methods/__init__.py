"""Training objectives: each turns a batch and the model into a loss.

A file of this folder that does not begin with an underscore is a method, and being there is all
that it takes to be one.
"""

from importlib import import_module
from pkgutil import iter_modules

from upwind.methods._base import Method, NoOptions, get, names, parse, resolve, set_apart
from upwind.methods._losses import row_losses
from upwind.methods._sum import Step, Sum, Summand, build

for _found in iter_modules(__path__):
    if not _found.name.startswith("_"):
        import_module(f"{__name__}.{_found.name}")

__all__ = [
    "Method",
    "NoOptions",
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
