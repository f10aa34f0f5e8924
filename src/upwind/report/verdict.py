"""What the numbers say, in words that they carry."""

import math
from collections.abc import Sequence

from upwind.runs import Row
from upwind.runs.statistics import Sample

LEVEL = 0.05

_METRICS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "macro_f1": "macro F1",
    "roc_auc": "ROC-AUC",
    "ece": "ECE",
}


def metric_title(name: str) -> str:
    """A metric as people write it.

    >>> metric_title("roc_auc")
    'ROC-AUC'
    """
    return _METRICS.get(name, name)


def percent(sample: Sample | None) -> str:
    """Mean and deviation in percent.

    >>> from upwind.runs.statistics import describe
    >>> percent(describe([0.5, 0.6])), percent(None)
    ('55.0 ± 7.1', '–')
    """
    if sample is None or math.isnan(sample.mean):
        return "–"
    after = "" if sample.deviation is None else f" ± {100 * sample.deviation:.1f}"
    return f"{100 * sample.mean:.1f}{after}"


def signed(share: float, digits: int = 1) -> str:
    """A difference in points.

    >>> signed(-0.02)
    '−2.0'
    """
    return f"{100 * share:+.{digits}f}".replace("-", "−")


def p_value(p: float) -> str:
    """A p-value as people write it.

    >>> p_value(0.0412), p_value(0.00001)
    ('p = 0.041', 'p < 0.001')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def verdict(table: Sequence[Row], baseline: str, test: str) -> list[str]:
    """Which methods differ from the baseline on the test nodes, and which do not show it.

    With k methods against the baseline a difference counts below p = 0.05 / k (Bonferroni), so
    that all the sentences together are wrong by chance at most once in twenty times.
    """
    others = [row for row in table if row.method != baseline]
    level = LEVEL / max(1, len(others))
    better: list[tuple[str, str]] = []
    worse: list[tuple[str, str]] = []
    open_: list[tuple[str, str]] = []
    rest = []
    for row in others:
        d = row.difference
        if d is None or d.p_value is None or math.isnan(d.mean):
            rest.append(_untested(row, baseline, test))
            continue
        group = open_ if d.p_value >= level else better if d.mean > 0 else worse
        seeds = f"{p_value(d.p_value)}, {d.pairs} paired seeds"
        group.append((row.method, f"{signed(d.mean)} points ({seeds})"))
    said = [
        *_grouped(better, f"better than {baseline} on {test}"),
        *_grouped(worse, f"worse than {baseline} on {test}"),
        *_grouped(open_, f"not shown to differ from {baseline} on {test}"),
    ]
    return said + rest


def under_shift(row: Row, test: str, id_test: str) -> str | None:
    """How much a method loses on the way out of the training distribution."""
    if row.id_test is None:
        return None
    change = 100 * (row.test.mean - row.id_test.mean)
    word = "loses" if change < 0 else "gains"
    return (
        f"{row.method} {word} {abs(change):.1f} points from {id_test} ({percent(row.id_test)}) "
        f"to {test} ({percent(row.test)})."
    )


def _untested(row: Row, baseline: str, test: str) -> str:
    d = row.difference
    if d is None:
        return f"{row.method} and {baseline} share no finished seed: they cannot be compared."
    if math.isnan(d.mean):
        return f"{row.method} and {baseline} cannot be compared: a run has no score on {test}."
    if d.pairs > 1 and d.mean == 0:
        return f"{row.method} scores the same as {baseline} on {test} with every seed."
    if d.pairs > 1:
        return f"{row.method} differs from {baseline} by {signed(d.mean)} points on every seed."
    return (
        f"{row.method} differs from {baseline} by {signed(d.mean)} points on the one seed that "
        "both have; one pair says nothing about chance."
    )


def _grouped(methods: Sequence[tuple[str, str]], claim: str) -> list[str]:
    """One sentence for one method; for several another with their numbers."""
    if not methods:
        return []
    names = [name for name, _ in methods]
    if len(names) == 1:
        return [f"{names[0]} is {claim}: {methods[0][1]}."]
    numbers = "; ".join(f"{name} {found}" for name, found in methods)
    return [f"{', '.join(names[:-1])} and {names[-1]} are {claim}.", f"{numbers}."]
