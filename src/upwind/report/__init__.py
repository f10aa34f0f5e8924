"""The report: one HTML file from the records of runs, which needs no network."""

from upwind.report.page import write
from upwind.report.records import open_records

__all__ = ["open_records", "write"]
