"""The mathematics: the graph, the flow on it, its limit, and what TAR builds from them."""

from upwind.flow.gibbs import gibbs
from upwind.flow.gradient import Flow, gradient_flow
from upwind.flow.graph import Graph
from upwind.flow.harmonic import harmonic_extension
from upwind.flow.reconnect import reconnect

__all__ = ["Flow", "Graph", "gibbs", "gradient_flow", "harmonic_extension", "reconnect"]
