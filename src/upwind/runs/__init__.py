"""Runs: their records on disk, doing them, comparing them, and using what they trained."""

from upwind.runs.compare import Comparison, Row, compare
from upwind.runs.execute import execute
from upwind.runs.predict import predict
from upwind.runs.record import Run, find_runs

__all__ = ["Comparison", "Row", "Run", "compare", "execute", "find_runs", "predict"]
