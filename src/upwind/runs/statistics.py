"""What a handful of runs says: mean, spread, and a difference paired by seed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy.special import stdtr


@dataclass(frozen=True)
class Sample:
    """Scores of several runs.

    Attributes:
        count: How many.
        mean: Their mean.
        deviation: Their standard deviation, of n - 1; none of a single run.
        error: The standard error of the mean.
    """

    count: int
    mean: float
    deviation: float | None
    error: float | None


@dataclass(frozen=True)
class Difference:
    """How much better than a baseline, over the seeds that both have.

    Attributes:
        pairs: Seeds that both have.
        mean: Mean difference.
        p_value: Of Student's paired two-sided t test; none where all pairs differ alike.
    """

    pairs: int
    mean: float
    p_value: float | None


def describe(scores: Sequence[float]) -> Sample:
    """Count, mean and spread.

    >>> describe([1.0, 2.0, 3.0])
    Sample(count=3, mean=2.0, deviation=1.0, error=0.5773502691896258)
    """
    n = len(scores)
    mean = math.fsum(scores) / n
    if n == 1:
        return Sample(1, mean, None, None)
    deviation = math.sqrt(math.fsum((s - mean) ** 2 for s in scores) / (n - 1))
    return Sample(n, mean, deviation, deviation / math.sqrt(n))


def difference(scores: Mapping[int, float], baseline: Mapping[int, float]) -> Difference | None:
    """Scores by seed against a baseline's by seed; none if they share no seed.

    >>> found = difference({1: 3.0, 2: 4.0, 3: 6.0}, {1: 2.0, 2: 3.0, 3: 3.0})
    >>> found.pairs, round(found.mean, 3), round(found.p_value, 3)
    (3, 1.667, 0.13)
    """
    gaps = [scores[seed] - baseline[seed] for seed in sorted(scores.keys() & baseline.keys())]
    if not gaps:
        return None
    sample = describe(gaps)
    if not sample.error:
        return Difference(sample.count, sample.mean, None)
    statistic = -abs(sample.mean / sample.error)
    return Difference(sample.count, sample.mean, float(2 * stdtr(sample.count - 1, statistic)))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number, step down (Holm, 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected, least = [0.0] * len(p_values), 0.0
    for place, i in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[i]))
        corrected[i] = least
    return corrected
