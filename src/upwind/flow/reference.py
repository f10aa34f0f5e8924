"""The flow in plain torch, on any device and in any precision: it reads like the equation."""

import torch
from torch import Tensor

from upwind.flow.problem import KEEP, Limited, Problem


def euler(problem: Problem, q: Tensor, steps: int, limited: Limited) -> None:
    """Take ``steps`` limited Euler steps, in place."""
    graph = problem.graph
    i, j = graph.row, graph.col
    weight = graph.weight_as(q.dtype)
    loss = problem.scale * problem.loss - problem.shift
    for _ in range(steps):
        phi = loss - problem.beta * q.log()
        v = phi[i] - phi[j]
        if weight is not None:
            v = v * weight
        outflow = torch.zeros_like(q).index_add_(0, i, (-v).clamp(min=0))
        kept = q - q * (problem.tau * outflow)
        least = (KEEP * q).clamp(min=problem.floor)
        too_much = (outflow > 0) & ~(kept >= least)
        offer = problem.tau * q
        donors = int(too_much.sum())
        if donors:
            # What is offered per unit of outflow, so that outflow x offer leaves the least.
            most = (q - least).clamp(min=0) / outflow
            offer = torch.where(too_much, torch.minimum(most, offer), offer)
            kept = q - offer * outflow
            limited.add(donors)
        inflow = torch.zeros_like(q).index_add_(0, i, v.clamp(min=0) * offer[j])
        q.copy_(kept + inflow)
