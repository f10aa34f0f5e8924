"""Values known on some nodes, continued to the others as smoothly as the graph allows."""

import torch
from torch import Tensor

from upwind.errors import InputError
from upwind.flow.gradient import checked_losses
from upwind.flow.graph import Graph


def harmonic_extension(
    graph: Graph,
    values: Tensor,
    known: Tensor,
    *,
    guess: Tensor | None = None,
    tolerance: float = 1e-3,
    max_iterations: int = 1000,
) -> Tensor:
    r"""Fill in the unknown values so that each is the weighted mean of its neighbours.

    The extension minimises ``sum_ij w_ij (x_i - x_j)^2`` with x given on the known nodes: a system
    with the graph's Laplacian on the unknown ones, solved by conjugate gradients with the diagonal
    as preconditioner. A component without a known node gets the mean of the known values.

    Args:
        graph: the graph.
        values: shape [N]; only the entries of known nodes are read.
        known: shape [N], bool.
        guess: shape [N], where to start: the extension of the epoch before saves most of the work.
        tolerance: the residual at which to stop, relative to that of the mean as a guess.
        max_iterations: at most so many multiplications with the Laplacian.

    >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> harmonic_extension(path, torch.tensor([0.0, 0.0, 1.0]), torch.tensor([True, False, True]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    if known.dtype != torch.bool or known.shape != (graph.num_nodes,):
        raise InputError(f"known must be bool and of shape [{graph.num_nodes}].")
    if not known.any():
        raise InputError("known has no true entry: there is nothing to extend from.")
    values = checked_losses(graph, torch.where(known, values, values.new_zeros(())))
    mean = values[known].mean()
    reached = torch.zeros(graph.num_components, dtype=torch.bool, device=known.device)
    reached[graph.component[known]] = True
    free = ~known & reached[graph.component]
    x = torch.where(known, values, mean)
    if not free.any():
        return x

    weight = graph.weight_as(values.dtype)
    ones = values.new_ones(graph.num_edges) if weight is None else weight
    n = graph.num_nodes
    adjacency = torch.sparse_csr_tensor(
        graph.rowptr, graph.col, ones, (n, n), check_invariants=False
    )
    strength = graph.strength.to(values.dtype)
    free_ = free.to(values.dtype)

    def residual_of(y: Tensor) -> Tensor:
        return (adjacency @ y - strength * y) * free_

    goal = tolerance * _norm(residual_of(x), strength, free)
    if guess is not None:
        x = torch.where(free, guess.to(x), x)
    residual = residual_of(x)
    scaled = torch.where(free, residual / strength, 0.0)
    direction, energy = scaled, residual @ scaled
    for _ in range(max_iterations):
        if energy <= goal**2:
            break
        image = -residual_of(direction)
        length = energy / (direction @ image)
        x = x + length * direction
        residual = residual - length * image
        scaled = torch.where(free, residual / strength, 0.0)
        energy, before = residual @ scaled, energy
        direction = scaled + (energy / before) * direction
    return x


def _norm(residual: Tensor, strength: Tensor, free: Tensor) -> Tensor:
    return torch.where(free, residual**2 / strength, 0.0).sum().sqrt()
