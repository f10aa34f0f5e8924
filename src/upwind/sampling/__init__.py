"""Batches: which part of the graph a training step sees."""

from upwind.sampling._base import Sampler, get, names
from upwind.sampling._batch import Batch, whole
from upwind.sampling.full import Full
from upwind.sampling.neighbour import Neighbour
from upwind.sampling.saint import Saint

__all__ = ["Batch", "Full", "Neighbour", "Saint", "Sampler", "get", "names", "whole"]
