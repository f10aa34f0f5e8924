"""Kernel mean matching: weights under which one sample looks like another to a kernel."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from upwind.errors import InputError, RunError

Floats = NDArray[np.float64]
_SCALES = (1.0, 0.1, 0.001)


def kernel(a: Any, b: Any) -> Floats:
    """Mean over the scales s of exp(-s ||a_i - b_j||^2), between the rows of two SciPy matrices."""
    inner = np.asarray((a @ b.T).todense(), dtype=np.float64)
    of_a = np.asarray(a.multiply(a).sum(1), dtype=np.float64).reshape(-1, 1)
    of_b = np.asarray(b.multiply(b).sum(1), dtype=np.float64).reshape(1, -1)
    distance = np.maximum(of_a + of_b - 2 * inner, 0)
    mean: Floats = np.mean([np.exp(-scale * distance) for scale in _SCALES], axis=0)
    return mean


def match(source: Any, target: Any, groups: NDArray[np.int64], lowest: float) -> Floats:
    """Weights w of the rows of ``source``, for the mean of ``target`` in the kernel's space.

    They minimise || 1/n sum_i w_i k(a_i, .) - 1/m sum_j k(b_j, .) ||, subject to w >= ``lowest``
    and to a mean of one over each of the ``groups`` of rows (Gretton et al., 2009, with the label
    balance of Zhu et al., 2021): the quadratic program

        min 1/2 w'Kw - n/m sum_ij w_i k(a_i, b_j)

    over n variables, solved by Clarabel's interior point. K is dense: its factorisation takes
    n^3 / 3 operations an iteration.
    """
    return solve(kernel(source, source), kernel(source, target).mean(1), groups, lowest)


def solve(gram: Floats, wanted: Floats, groups: NDArray[np.int64], lowest: float) -> Floats:
    """The program of `match` for given K and row means of the kernel with the target."""
    try:
        import clarabel
    except ImportError as error:
        raise InputError(
            "srgnn solves a quadratic program with clarabel: pip install 'upwind[bench]'"
        ) from error
    from scipy import sparse

    size = len(gram)
    _, group = np.unique(groups, return_inverse=True)
    counts = np.bincount(group)
    membership = sparse.csc_matrix(
        (np.ones(size), (group, np.arange(size))), shape=(len(counts), size)
    )
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        sparse.triu(gram, format="csc"),
        -size * wanted,
        sparse.vstack([membership, -sparse.identity(size)], format="csc"),
        np.concatenate([counts, np.full(size, -lowest)]).astype(np.float64),
        [clarabel.ZeroConeT(len(counts)), clarabel.NonnegativeConeT(size)],
        settings,
    ).solve()
    if "Solved" not in str(solution.status):
        raise RunError(f"kernel mean matching ended with {solution.status}; nothing was trained")
    weights = np.maximum(np.asarray(solution.x), lowest)
    means: Floats = np.bincount(group, weights) / counts
    balanced: Floats = weights / means[group]
    return balanced
