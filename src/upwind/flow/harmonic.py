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
            NaN is no guess.
        tolerance: the residual at which to stop, relative to that of the mean as a guess.
        max_iterations: at most so many multiplications with the Laplacian.

    >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> harmonic_extension(path, torch.tensor([0.0, 0.0, 1.0]), torch.tensor([True, False, True]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    for name, given in (("known", known), ("values", values), ("guess", guess)):
        missing = name == "guess" and given is None
        if not missing and getattr(given, "shape", None) != (graph.num_nodes,):
            raise InputError(f"{name} must be a tensor of shape [{graph.num_nodes}].")
    if known.dtype != torch.bool:
        raise InputError(f"known must be bool, not {known.dtype}.")
    if not known.any():
        raise InputError("known has no true entry: there is nothing to extend from.")
    values = checked_losses(graph, torch.where(known, values, values.new_zeros(())))
    # Between -1 and 1 about the mean, no product overflows.
    mean = values[known].double().mean()
    spread = (values.double() - mean)[known].abs().max().clamp(min=torch.finfo(values.dtype).tiny)
    level = torch.where(known, (values.double() - mean) / spread, 0.0).to(values)
    reached = torch.zeros(graph.num_components, dtype=torch.bool, device=known.device)
    reached[graph.component[known]] = True
    free = ~known & reached[graph.component]
    if not free.any():
        return torch.where(known, values, mean.to(values))

    adjacency = graph.adjacency(values.dtype)
    strength = graph.strength.to(values.dtype)
    free_ = free.to(values.dtype)

    def residual_of(y: Tensor) -> Tensor:
        return (adjacency @ y - strength * y) * free_

    x, residual = level, residual_of(level)
    scaled = torch.where(free, residual / strength, 0.0)
    goal = tolerance**2 * (residual @ scaled)
    if guess is not None:
        start = ((guess.double() - mean) / spread).to(x)
        x = torch.where(free & torch.isfinite(start), start, x)
        residual = residual_of(x)
        scaled = torch.where(free, residual / strength, 0.0)
    direction, energy = scaled, residual @ scaled
    for _ in range(max_iterations):
        if energy <= goal:
            break
        image = -residual_of(direction)
        length = energy / (direction @ image)
        x = x + length * direction
        residual = residual - length * image
        scaled = torch.where(free, residual / strength, 0.0)
        energy, before = residual @ scaled, energy
        direction = scaled + (energy / before) * direction
    return torch.where(known, values, (mean + spread * x.double()).to(values))
