"""What the paper claims, measured."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from upwind.flow import geometric_wasserstein, gradient_flow
from upwind.theory.cases import Case
from upwind.theory.steps import proximal_step, worst_case


@dataclass(frozen=True)
class EulerStep:
    """One Euler step against the exact proximal step of the same tau (L1 distance)."""

    case: str
    tau: float
    error: float


@dataclass(frozen=True)
class Theorem1:
    """The proximal step against the worst case in the ball that it reaches."""

    case: str
    tau: float
    radius: float
    penalized: float
    """The maximum of ``L - GW^2 / (2 tau)``: the theorem's left side, as printed."""
    proximal: float
    """L at its maximiser."""
    ball: float
    """The maximum of L in the ball: the right side."""
    apart: float
    """How far the two maximisers are apart, in L1."""


@dataclass(frozen=True)
class Theorem2:
    """The flow at time t against the worst case at the same distance."""

    case: str
    nodes: int
    beta: float
    time: float
    ratio: float
    """``(L(q(t)) - L(q(0))) / (L(worst) - L(q(0)))``."""
    promised: float
    """``1 - exp(-C t)``."""


@dataclass(frozen=True)
class Decay:
    """How fast the energy's gap to its limit closes."""

    case: str
    nodes: int
    beta: float
    rate: float
    """The C fitted to the tail of ``log(L(inf) - L(q(t)))``."""
    least: float
    """The largest C for which ``exp(-C t)`` bounds the whole curve: that of the theorem."""
    low: float
    """2 beta times the spectral gap, with the smaller end's mass on each edge."""
    high: float
    """The same with the larger end's mass."""


def euler_errors(case: Case, beta: float, taus: tuple[float, ...]) -> list[EulerStep]:
    """Compare one Euler step with the exact proximal step for each tau."""
    found = []
    for tau in taus:
        exact = proximal_step(case.graph, case.losses, case.start, tau=tau, beta=beta)
        euler = gradient_flow(
            case.graph, case.losses, start=case.start, steps=1, tau=tau, beta=beta
        )
        found.append(EulerStep(case.name, tau, float((exact.weights - euler.weights).abs().sum())))
    return found


def fitted_order(errors: list[EulerStep]) -> float:
    """The slope of log error over log tau."""
    tau, error = [e.tau for e in errors], [e.error for e in errors]
    return float(np.polyfit(np.log(tau), np.log(error), 1)[0])


def theorem_1(case: Case, beta: float, tau: float, steps: int = 4) -> Theorem1:
    """Solve both sides."""
    given = case.graph, case.losses, case.start
    left = proximal_step(*given, tau=tau, beta=beta, steps=steps)
    right = worst_case(*given, radius=left.distance, beta=beta, steps=steps)
    return Theorem1(
        case.name,
        tau,
        left.distance,
        left.value,
        left.energy,
        right.energy,
        float((left.weights - right.weights).abs().sum()),
    )


def flow_on(case: Case, q: Tensor, beta: float, time: float) -> Tensor:
    """Where the flow takes ``q`` in a time, accurate to three digits or so."""
    return gradient_flow(
        case.graph,
        case.losses,
        start=q,
        steps=1,
        tau=time,
        beta=beta,
        integrator="heun",
        rtol=1e-4,
    ).weights


def decay(case: Case, beta: float, digits: float = 1e-4) -> Decay:
    """Fit C: the gap is followed until it is ``digits`` of what it was."""
    low, high = case.rates(beta)
    top, bottom = (case.energy(q, beta) for q in (case.limit(beta), case.start))
    q, time, step = case.start, 0.0, 0.1 / high
    times, gaps = [], [1.0]
    while gaps[-1] > digits:
        q = flow_on(case, q, beta, step)
        time += step
        times.append(time)
        gaps.append((top - case.energy(q, beta)) / (top - bottom))
        step *= 1.1
    t, logs = np.array(times), np.log(gaps[1:])
    tail = logs < np.log(100 * digits)
    rate = -float(np.polyfit(t[tail], logs[tail], 1)[0])
    return Decay(case.name, len(case.losses), beta, rate, float((-logs / t).min()), low, high)


def theorem_2(
    case: Case, beta: float, rate: float, times: list[float], steps: int = 6
) -> Iterator[Theorem2]:
    """Compare the flow with the worst case in the ball that it reaches, at each time."""
    bottom = case.energy(case.start, beta)
    reached, before = case.start, 0.0
    for time in times:
        reached, before = flow_on(case, reached, beta, time - before), time
        far = geometric_wasserstein(
            case.graph, case.start, reached, steps=steps, solver="cvxpy"
        ).distance
        worst = worst_case(case.graph, case.losses, case.start, radius=far, beta=beta, steps=steps)
        ratio = (case.energy(reached, beta) - bottom) / (worst.energy - bottom)
        yield Theorem2(
            case.name, len(case.losses), beta, time, ratio, 1 - float(np.exp(-rate * time))
        )
