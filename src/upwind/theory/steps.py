"""The two inner problems of the paper, solved exactly: the proximal step, and the worst case."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from upwind.flow import Graph
from upwind.flow.distance import checked_mass
from upwind.flow.distance_program import Program, density, load_cvxpy, run
from upwind.flow.gradient import checked_losses
from upwind.flow.transport import Transport


@dataclass(frozen=True)
class Maximum:
    """A density that solves one of the two problems."""

    weights: Tensor
    energy: float
    """``L = sum q l - beta sum q log q`` there."""
    distance: float
    """The distance from the start to it, on the program's time grid."""
    value: float
    """The value of the problem: the energy, less the penalty if there is one."""


def proximal_step(
    graph: Graph, losses: Tensor, start: Tensor, *, tau: float, beta: float, steps: int = 4
) -> Maximum:
    """Maximise ``L(q) - GW^2(start, q) / (2 tau)`` over all densities (the paper's equation 3).

    >>> graph = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
    >>> losses, start = torch.tensor([0.0, 1.0]), torch.tensor([0.5, 0.5])
    >>> step = proximal_step(graph, losses, start, tau=0.1, beta=0.1)
    >>> [round(x, 2) for x in step.weights.tolist()]  # q_0 falls by about tau q_0 (l_1 - l_0)
    [0.45, 0.55]
    """
    return _solve(graph, losses, start, beta, steps, tau=tau, radius=None)


def worst_case(
    graph: Graph, losses: Tensor, start: Tensor, *, radius: float, beta: float, steps: int = 4
) -> Maximum:
    """Maximise ``L(q)`` over the densities with ``GW(start, q) <= radius``.

    >>> graph = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
    >>> losses, start = torch.tensor([0.0, 1.0]), torch.tensor([0.5, 0.5])
    >>> worst = worst_case(graph, losses, start, radius=0.1, beta=0.0)
    >>> [round(x, 2) for x in worst.weights.tolist()]  # 2 sqrt(0.5) - 2 sqrt(q_0) = 0.1
    [0.43, 0.57]
    """
    return _solve(graph, losses, start, beta, steps, tau=None, radius=radius)


def _solve(
    graph: Graph,
    losses: Tensor,
    start: Tensor,
    beta: float,
    steps: int,
    *,
    tau: float | None,
    radius: float | None,
) -> Maximum:
    cp = load_cvxpy()
    first = checked_mass(graph, start, "start")
    first = first / first.sum()
    loss = checked_losses(graph, losses).double().numpy()
    program = Program.of(Transport(graph, first, first, steps))
    q = program.path[:, -1]
    energy = loss @ q
    if beta:
        energy = energy + beta * cp.sum(cp.entr(q))
    if tau is not None:
        # Times tau: for a small one the penalty would dwarf the energy's digits.
        goal, constraints = 2 * tau * energy - program.cost, program.constraints
    else:
        goal = energy
        constraints = [*program.constraints, program.cost <= (radius or 0.0) ** 2]
    run(cp.Problem(cp.Maximize(goal), constraints))
    reached = density(q)
    square = max(float(np.asarray(program.cost.value)), 0.0)
    entropy = -float(np.where(reached > 0, reached * np.log(np.maximum(reached, 1e-300)), 0).sum())
    found = float(loss @ reached) + beta * entropy
    return Maximum(
        weights=torch.from_numpy(reached),
        energy=found,
        distance=square**0.5,
        value=found if tau is None else found - square / (2 * tau),
    )
