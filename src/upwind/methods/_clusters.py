"""Soft clusters of a graph's nodes, and moving nodes from one cluster to another."""

import torch
from torch import Tensor

_SMALLEST_VARIANCE = 1e-5


def cut_loss(edge_index: Tensor, edge_weight: Tensor | None, assignment: Tensor) -> Tensor:
    """-Tr(S'AS) / Tr(S'DS), in [-1, 0] (Bianchi et al., ICML 2020): -1 where no edge is cut.

    D holds the mean of in- and out-degree, so that the bounds hold for directed edges too.
    """
    source, target = edge_index
    weight = assignment.new_ones(len(source)) if edge_weight is None else edge_weight
    degree = assignment.new_zeros(len(assignment))
    degree = degree.index_add(0, source, weight / 2).index_add(0, target, weight / 2)
    inside = weight @ (assignment[source] * assignment[target]).sum(1)
    return -inside / (degree @ assignment.square().sum(1)).clamp(min=1e-12)


def orthogonality_loss(assignment: Tensor) -> Tensor:
    """|| S'S / ||S'S|| - I / sqrt(M) ||, Frobenius: 0 for M hard clusters of equal size."""
    overlap = assignment.T @ assignment
    clusters = len(overlap)
    even = torch.eye(clusters, dtype=overlap.dtype, device=overlap.device) / clusters**0.5
    distance: Tensor = torch.linalg.matrix_norm(overlap / torch.linalg.matrix_norm(overlap) - even)
    return distance


def statistics(features: Tensor, assignment: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of every cluster, [M, width], weighted by the assignment."""
    share = assignment / assignment.sum(0).clamp(min=1e-12)
    middle = features.mean(0)
    centred = features - middle  # so that the difference of squares below loses nothing
    mean = share.T @ centred
    variance = share.T @ centred.square() - mean.square()
    return mean + middle, (variance.clamp(min=0) + _SMALLEST_VARIANCE).sqrt()


def other_clusters(own: Tensor, count: int) -> Tensor:
    """A cluster for each node, uniform over those that are not its own.

    >>> other_clusters(torch.tensor([0, 1]), 2).tolist()
    [1, 0]
    """
    drawn = torch.randint(count - 1, own.shape, device=own.device)
    return drawn + (drawn >= own)


def transfer(
    features: Tensor, own: Tensor, target: Tensor, mean: Tensor, deviation: Tensor
) -> Tensor:
    """sigma_target (z - mu_own) / sigma_own + mu_target, all per node."""
    return (features - mean[own]) / deviation[own] * deviation[target] + mean[target]
