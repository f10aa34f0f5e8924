"""The paper's tables and figures, from records, with the paper's numbers beside ours."""

from upwind.paper.make import NAMES, make

__all__ = ["NAMES", "make"]
