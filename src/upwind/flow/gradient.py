"""The gradient flow of the weighted loss in the geometric Wasserstein space."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from upwind.errors import InputError, whole_number
from upwind.flow.graph import Graph
from upwind.flow.problem import LONGEST, Limited, Problem

Backend = Literal["auto", "torch", "cpu", "cuda"]
Integrator = Literal["euler", "heun"]
SHORTEST = 2**-12  # Heun's steps against all of the way: a flow ends, whatever is asked of it
Euler = Callable[[Problem, Tensor, int, Limited], None]


@dataclass(frozen=True)
class Flow:
    """The weights that a flow ended in, and what happened on the way."""

    weights: Tensor
    """The density q at the end; its sum is that of the start."""
    mass_error: float
    """By how much the sum of the weights changed, relative to it: rounding, nothing else."""
    steps: int
    """How many Euler steps were taken."""
    limited_steps: int
    """In how many of them at least one donor would have given more than 99 % of its mass."""
    limited_donors: int
    """How many donors were limited, summed over steps."""
    backend: str
    """What computed it: torch, cpu or cuda."""
    energy: Tensor | None = None
    """``sum q l - beta sum q log(q / prior)`` at the start and after each step, float64."""
    trajectory: Tensor | None = None
    """The density at the start and after each step, shape [steps + 1, N]."""


def gradient_flow(
    graph: Graph,
    losses: Tensor,
    *,
    steps: int = 10,
    tau: float = 1e-3,
    beta: float = 0.1,
    start: Tensor | None = None,
    prior: Tensor | None = None,
    integrator: Integrator = "euler",
    rtol: float = 1e-2,
    energy: bool = False,
    trajectory: bool = False,
    backend: Backend = "auto",
) -> Flow:
    r"""Let weight flow along the edges towards the nodes that the model gets wrong.

    .. math::

        \phi_i = \ell_i - \beta \log(q_i / \pi_i), \qquad v_{ij} = \phi_i - \phi_j, \qquad
        \frac{dq_i}{dt} = \sum_j w_{ij} v_{ij} (v_{ij} > 0 \;?\; q_j : q_i)

    (Zheng et al., *Topology-Aware Dynamic Reweighting for Distribution Shifts on Graph*, equations
    4 to 6.) Mass is conserved and every weight stays positive, for any step size: a donor that
    would keep less than 1 % of its mass in a step gives only 99 % of it, in the same proportions.
    Where no donor is limited this is plain Euler, bit for bit.

    Args:
        graph: where weight can flow.
        losses: shape [N], the loss of each node; half precision is computed in float32.
        steps: how many Euler steps (the paper's ``T_in``).
        tau: the size of a step.
        beta: strength of the entropy, which spreads weight.
        start: shape [N], positive: the density to start from. By default the prior.
        prior: shape [N], positive: what the entropy is relative to. By default uniform.
        integrator: ``"euler"`` is the paper's; ``"heun"`` reaches the same end time
            ``steps * tau`` to second order, with steps as long as ``rtol`` allows.
        rtol: for ``"heun"``, the relative error allowed in a step (which is not made shorter than
            2^-12 of the way).
        energy: whether to return the energy after each step.
        trajectory: whether to return the density after each step.
        backend: ``"torch"`` (any device), ``"cpu"`` (compiled), ``"cuda"`` (Triton), or by device.

    >>> graph = Graph.from_edge_index(torch.tensor([[0, 1], [1, 0]]))
    >>> gradient_flow(graph, torch.tensor([0.0, 1.0]), steps=1, tau=0.1).weights
    tensor([0.4500, 0.5500])
    """
    losses = checked_losses(graph, losses)
    check_step(steps, tau, beta)
    if integrator not in ("euler", "heun"):
        raise InputError(f"integrator must be 'euler' or 'heun', not {integrator!r}.")
    if integrator == "heun":
        check_size(rtol, "rtol")
    prior = None if prior is None else checked_density(prior, losses, "prior")
    if start is not None:
        first = checked_mass(checked_density(start, losses, "start").clone())
    elif prior is not None:
        first = normalized(prior)
    else:
        first = torch.full_like(losses, 1 / max(1, graph.num_nodes))
    problem = Problem.scaled(graph, losses, tau=tau, beta=beta, prior=prior)
    name, euler = _backend(backend, losses)
    q = first.clamp_(min=problem.floor)
    mass = float(q.sum(dtype=torch.float64))
    limited = Limited()
    energies, path = [], []

    def observe() -> None:
        if energy:
            energies.append(_energy(losses, q, beta, prior))
        if trajectory:
            path.append(q.clone())

    observe()
    if integrator == "heun":
        taken = _heun(euler, problem, q, steps, rtol, limited, observe)
    elif energy or trajectory:
        for _ in range(steps):
            euler(problem, q, 1, limited)
            observe()
        taken = steps
    else:
        euler(problem, q, steps, limited)
        taken = steps
    end = float(q.sum(dtype=torch.float64))
    return Flow(
        weights=q,
        mass_error=abs(end - mass) / mass if mass else 0.0,
        steps=taken,
        limited_steps=limited.steps,
        limited_donors=limited.donors,
        backend=name,
        energy=torch.stack(energies) if energy else None,
        trajectory=torch.stack(path) if trajectory else None,
    )


def _heun(
    euler: Euler,
    problem: Problem,
    q: Tensor,
    steps: int,
    rtol: float,
    limited: Limited,
    observe: Callable[[], None],
) -> int:
    """Integrate to ``steps * tau`` with Heun's rule in place; return the Euler steps taken.

    The rule is the mean of where we are and of two Euler steps on. Both keep mass and positivity,
    so their mean does. Its distance from the first Euler step bounds the error.
    """
    end = steps * problem.tau
    left, step, taken = end, end, 0
    while left > 0:
        step = min(step, left)
        trial = replace(problem, tau=step)
        tried = Limited()
        once = q.clone()
        euler(trial, once, 1, tried)
        twice = once.clone()
        euler(trial, twice, 1, tried)
        taken += 2
        mean = (q + twice) / 2
        error = float(((mean - once).abs() / mean).max()) / max(rtol, 1e-12) if len(q) else 0.0
        if error <= 1 or step <= end * SHORTEST:
            q.copy_(mean)
            left -= step
            limited.steps += tried.steps
            limited.donors += tried.donors
            observe()
        step *= min(5.0, max(0.2, 0.9 / max(error, 1e-12) ** 0.5))
        step = max(step, end * SHORTEST)  # or it would shrink for ever
    return taken


def _energy(losses: Tensor, q: Tensor, beta: float, prior: Tensor | None) -> Tensor:
    q = q.double()
    relative = q if prior is None else q / normalized(prior.double())
    return (q * losses.double()).sum() - beta * torch.xlogy(q, relative).sum()


def _backend(wanted: Backend, losses: Tensor) -> tuple[str, Euler]:
    if wanted not in ("auto", "torch", "cpu", "cuda"):
        raise InputError(f"backend must be 'auto', 'torch', 'cpu' or 'cuda', not {wanted!r}.")
    kind = losses.device.type
    if wanted == "cpu" and kind != "cpu":
        raise InputError(f"backend 'cpu' needs losses on the CPU, not on {losses.device}.")
    if wanted == "cpu" or (wanted == "auto" and kind == "cpu"):
        from upwind.flow import cpu

        return "cpu", cpu.euler
    if wanted == "cuda" or (wanted == "auto" and kind == "cuda"):
        from upwind.flow import cuda

        if cuda.available(losses.device):
            return "cuda", cuda.euler
        if wanted == "cuda":
            raise InputError(
                "backend 'cuda' needs Triton and losses on a GPU; backend 'torch' needs neither."
            )
    from upwind.flow import reference

    return "torch", reference.euler


def checked_losses(graph: Graph, losses: Tensor) -> Tensor:
    """Return the losses as the flow takes them, or say in one sentence why it cannot."""
    if not isinstance(graph, Graph):
        raise InputError(
            f"graph must be a Graph, not {type(graph).__name__}; "
            "Graph.from_edge_index(edge_index) makes one."
        )
    if not isinstance(losses, Tensor) or not losses.is_floating_point():
        kind = getattr(losses, "dtype", type(losses).__name__)
        raise InputError(f"losses must be a tensor of floating-point numbers, not {kind}.")
    if losses.shape != (graph.num_nodes,):
        raise InputError(
            f"losses must have one entry for each of the {graph.num_nodes} nodes, "
            f"but their shape is {list(losses.shape)}."
        )
    if losses.device != graph.device:
        raise InputError(
            f"losses are on {losses.device} but the graph is on {graph.device}; "
            "move one with .to(device)."
        )
    losses = losses.detach()
    if losses.dtype not in (torch.float32, torch.float64):
        losses = losses.float()
    if not torch.isfinite(losses).all():
        first = int((~torch.isfinite(losses)).nonzero()[0])
        raise InputError(f"the loss of node {first} is {float(losses[first])}.")
    return losses.contiguous()


def checked_density(density: Tensor, like: Tensor, name: str) -> Tensor:
    """Return ``density`` in the precision of ``like``, or say which entry is no weight."""
    if not isinstance(density, Tensor) or density.shape != like.shape:
        shape = list(getattr(density, "shape", [])) or type(density).__name__
        raise InputError(f"{name} must have shape {list(like.shape)}, not {shape}.")
    density = density.detach().to(like)
    bad = ~((density > 0) & torch.isfinite(density))
    if bad.any():
        first = int(bad.nonzero()[0])
        raise InputError(
            f"{name} must be positive and finite, but is {float(density[first])} at node {first}."
        )
    return density


def normalized(density: Tensor) -> Tensor:
    """Return the density divided by its sum, which need not fit its precision.

    >>> normalized(torch.tensor([3e38, 1e38]))
    tensor([0.7500, 0.2500])
    """
    if not density.numel():
        return density
    shape = density.double() / density.max()
    return (shape / shape.sum()).to(density)


def checked_mass(density: Tensor) -> Tensor:
    """Return the density if its precision can hold its mass on one node, or on all."""
    limits, mass = torch.finfo(density.dtype), float(density.sum(dtype=torch.float64))
    if len(density) and not len(density) * limits.tiny / limits.eps**2 < mass < 2.0**LONGEST:
        raise InputError(
            f"start adds up to {mass:.3g}, too far from one for {density.dtype}; "
            "multiply it by a constant."
        )
    return density


def check_step(steps: int, tau: float, beta: float) -> None:
    """Refuse what is no step of a flow."""
    whole_number(steps, "steps")
    for name, value in (("tau", tau), ("beta", beta)):
        check_size(value, name)


def check_size(value: float, name: str) -> None:
    """Refuse what is not a finite number of at least zero."""
    try:
        usable = 0 <= float(value) < float("inf")
    except (TypeError, ValueError):
        usable = False
    if not usable or isinstance(value, str):
        raise InputError(f"{name} must be finite and not negative, not {value!r}.")
