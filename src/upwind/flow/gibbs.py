"""The weights that the flow tends to."""

import numba
import numpy as np
import torch
from torch import Tensor

from upwind.flow.csr import Floats, Ints
from upwind.flow.gradient import check_size, checked_density, checked_losses, normalized
from upwind.flow.graph import Graph


def gibbs(
    graph: Graph,
    losses: Tensor,
    beta: float,
    start: Tensor | None = None,
    prior: Tensor | None = None,
) -> Tensor:
    r"""Return the limit of :func:`gradient_flow` as time grows.

    On a connected component of mass m the limit is ``m prior exp(losses / beta)``, normalised. For
    ``beta = 0`` nothing spreads weight, and it gathers on local maxima of the losses: each node
    passes all that it gets on to its neighbours of higher loss, in proportion to ``w_ij v_ij``.
    (That is the limit of the flow without entropy; the limit of the formula as beta falls to zero
    would leave everything on the global maximum of a component.)

    >>> graph = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
    >>> gibbs(graph, torch.tensor([0.0, 1.0]), beta=1.0)
    tensor([0.2689, 0.7311])
    """
    losses = checked_losses(graph, losses)
    prior = None if prior is None else checked_density(prior, losses, "prior").double()
    if start is not None:
        first = checked_density(start, losses, "start").double()
    elif prior is not None:
        first = normalized(prior)
    else:
        first = losses.new_full(losses.shape, 1 / max(1, graph.num_nodes), dtype=torch.float64)
    check_size(beta, "beta")
    if beta == 0:
        weight = graph.weight_as(torch.float64)
        ascending = torch.argsort(losses, stable=True)
        settled = _uphill(
            graph.rowptr.cpu().numpy(),
            graph.col.cpu().numpy(),
            np.empty(0) if weight is None else weight.cpu().numpy(),
            losses.cpu().double().numpy(),
            ascending.cpu().numpy(),
            first.cpu().clone().numpy(),
        )
        return torch.from_numpy(settled).to(losses)
    # In log space, each component by itself: l / beta may be far beyond what exp can hold, and
    # beyond all numbers.
    mass = _per_component(graph, first)
    level = _below_highest(graph, losses.double()) / beta
    if prior is not None:
        level = _below_highest(graph, level + prior.log())
    share = level.exp()
    total = _per_component(graph, share)
    return (share * (mass / total)[graph.component]).to(losses)


def _below_highest(graph: Graph, value: Tensor) -> Tensor:
    """By how much each node is below the highest of its component."""
    highest = value.new_full((graph.num_components,), -torch.inf)
    highest.scatter_reduce_(0, graph.component, value, reduce="amax")
    return value - highest[graph.component]


def _per_component(graph: Graph, value: Tensor) -> Tensor:
    return value.new_zeros(graph.num_components).index_add_(0, graph.component, value)


@numba.njit(cache=True)
def _uphill(
    rowptr: Ints, col: Ints, weight: Floats, loss: Floats, ascending: Ints, q: Floats
) -> Floats:
    """Empty each node, from the lowest loss up, into its neighbours of higher loss."""
    for i in ascending:
        total = 0.0
        for e in range(rowptr[i], rowptr[i + 1]):
            w = weight[e] if len(weight) else 1.0
            total += w * max(loss[col[e]] - loss[i], 0.0)
        if total > 0:
            for e in range(rowptr[i], rowptr[i + 1]):
                w = weight[e] if len(weight) else 1.0
                q[col[e]] += q[i] * (w * max(loss[col[e]] - loss[i], 0.0) / total)
            q[i] = 0.0
    return q
