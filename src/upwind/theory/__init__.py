"""The paper's theorems, checked with numbers on graphs small enough to solve exactly."""

from upwind.theory.listing import show_theory
from upwind.theory.picture import draw_flow
from upwind.theory.steps import proximal_step, worst_case

__all__ = ["draw_flow", "proximal_step", "show_theory", "worst_case"]
