"""Runs: their records on disk, doing them, comparing them, and using what they trained."""

from upwind.runs.execute import execute
from upwind.runs.record import Run, find_runs

__all__ = ["Run", "execute", "find_runs"]
