"""The distance as a convex program for cvxpy: for small graphs, and for what the theorems ask.

The program is that of :mod:`upwind.flow.distance_admm`, stated once more and solved by an
interior-point method. Its density at the end may be fixed, or left free for a proximal step.
"""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upwind.errors import InputError
from upwind.flow.transport import Array, Solution, Transport

if TYPE_CHECKING:
    import cvxpy


def solve(transport: Transport) -> Solution:
    """Solve with Clarabel."""
    cp = load_cvxpy()
    program = Program.of(transport)
    problem = cp.Problem(
        cp.Minimize(program.cost / 2),
        [*program.constraints, program.path[:, -1] == transport.last],
    )
    iterations = run(problem)
    # Where a donor has nothing but the solver's digits, what it gives must not cost infinity.
    path = np.maximum(np.array(program.path.value), 1e-12 * transport.first.mean())
    path[:, 0], path[:, -1] = transport.first, transport.last
    path, flux = transport.exact(path, np.array(program.flux.value))
    # cvxpy's multiplier is that of the constraint times dt, with the sign of (left - right).
    potential = np.array(program.continuity.dual_value) * transport.steps
    bound = max(transport.lower_bound(potential), transport.lower_bound(-potential))
    return Solution(path, flux, bound, iterations)


@dataclass(frozen=True)
class Program:
    """Densities and fluxes that start at a density and obey the continuity equation."""

    path: "cvxpy.Variable"
    flux: "cvxpy.Variable"
    cost: "cvxpy.Expression"
    """The squared length of the path."""
    continuity: Any
    constraints: list[Any]

    @classmethod
    def of(cls, transport: Transport) -> "Program":
        """State all of the program but where it ends."""
        import scipy.sparse as sp

        cp = load_cvxpy()
        n, steps, edges = len(transport.first), transport.steps, len(transport.col)
        donor = np.repeat(np.arange(n), np.diff(transport.rowptr))
        ones, edge = np.ones(edges), np.arange(edges)
        gives = sp.csr_array((ones, (donor, edge)), shape=(n, edges))
        gets = sp.csr_array((ones, (transport.col, edge)), shape=(n, edges))
        path = cp.Variable((n, steps + 1))
        flux = cp.Variable((edges, steps))
        price = cp.Variable((edges, steps))
        mean = gives.T @ ((path[:, 1:] + path[:, :-1]) / 2)
        scaled = sp.diags_array(transport.weight**-0.5) @ flux
        continuity = (path[:, 1:] - path[:, :-1]) * steps == (gets - gives) @ flux

        def flat(x: Any) -> Any:
            return cp.vec(x, order="F")

        # scaled^2 <= price x mean, a rotated cone a directed edge and step.
        cone = cp.SOC(flat(price + mean), cp.vstack([2 * flat(scaled), flat(price - mean)]), axis=0)
        return cls(
            path,
            flux,
            cp.sum(price) / steps,
            continuity,
            [continuity, path[:, 0] == transport.first, path >= 0, flux >= 0, cone],
        )


def load_cvxpy() -> Any:
    """Import cvxpy, or say how to get it."""
    try:
        import cvxpy
    except ImportError:
        raise InputError("this needs cvxpy and Clarabel: pip install 'upwind[theory]'.") from None
    return cvxpy


def run(problem: Any) -> int:
    """Solve to ten digits, or to seven where rounding allows no more; return the iterations."""
    asked = {f"tol_{name}": 1e-10 for name in ("gap_abs", "gap_rel", "feas")}
    enough = {f"reduced_{name}": 1e-7 for name in asked}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        problem.solve(solver="CLARABEL", **asked, **enough)
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise InputError(f"Clarabel found no solution: {problem.status}.")
    return int(problem.solver_stats.num_iters)


def density(variable: "cvxpy.Variable") -> Array:
    """The value of a variable as a density."""
    value = np.maximum(np.array(variable.value, dtype=float), 0)
    return np.asarray(value / value.sum())
