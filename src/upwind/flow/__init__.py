"""The mathematics: the graph, the flow on it, its limit and its distance, and what TAR builds."""

from upwind.flow.distance import Distance, geometric_wasserstein
from upwind.flow.gibbs import gibbs
from upwind.flow.gradient import Flow, gradient_flow
from upwind.flow.graph import Graph
from upwind.flow.harmonic import harmonic_extension
from upwind.flow.reach import Reach, reach
from upwind.flow.reconnect import reconnect

__all__ = [
    "Distance",
    "Flow",
    "Graph",
    "Reach",
    "geometric_wasserstein",
    "gibbs",
    "gradient_flow",
    "harmonic_extension",
    "reach",
    "reconnect",
]
