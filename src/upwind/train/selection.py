"""Which epoch's model is the one to keep."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from upwind.errors import InputError

# The split that decides. The oracle looks at the test nodes: for analysis, never for a result.
RULES = {"ood_val": "val", "id_val": "id_val", "oracle": "test"}


@dataclass
class Best:
    """The first epoch with the strictly highest score, found as the epochs come in.

    >>> best = Best("ood_val", "accuracy")
    >>> [best.offer(epoch, {"val": {"accuracy": score}}) for epoch, score in enumerate([1, 1, 2])]
    [True, False, True]
    >>> best.epoch
    2
    """

    rule: str
    metric: str
    epoch: int | None = None
    score: float = -float("inf")

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise InputError(f"select={self.rule!r} is no rule; there are {', '.join(RULES)}")

    def offer(self, epoch: int, scores: Mapping[str, Mapping[str, float]]) -> bool:
        """Whether this epoch is the best so far; a score that is not a number never is."""
        score = scores.get(RULES[self.rule], {}).get(self.metric)
        if score is None or not score > self.score:
            return False
        self.epoch, self.score = epoch, score
        return True


def select(records: Iterable[Mapping[str, Any]], rule: str, metric: str) -> int | None:
    """The chosen epoch among records with ``epoch`` and ``scores``; none if none has a score."""
    best = Best(rule, metric)
    for record in records:
        best.offer(record["epoch"], record["scores"])
    return best.epoch
