"""How good predictions are, and how far their confidence can be trusted."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor


def probabilities(logits: Tensor) -> Tensor:
    """One column per class; a single logit becomes two."""
    if logits.shape[1] > 1:
        return logits.softmax(1)
    positive = logits.sigmoid()
    return torch.cat([1 - positive, positive], 1)


def accuracy(y: Tensor, predicted: Tensor) -> float:
    """Share of right predictions.

    >>> accuracy(torch.tensor([0, 1]), torch.tensor([0, 0]))
    0.5
    """
    return float((y == predicted).double().mean())


def balanced_accuracy(y: Tensor, predicted: Tensor) -> float:
    """Mean recall of the classes that occur in ``y``.

    >>> balanced_accuracy(torch.tensor([0, 0, 0, 1]), torch.tensor([0, 0, 0, 0]))
    0.5
    """
    hits, of_class, _ = _counts(y, predicted)
    there = of_class > 0
    return float((hits[there] / of_class[there]).mean())


def macro_f1(y: Tensor, predicted: Tensor) -> float:
    """Mean F1 of the classes that occur in ``y`` or in ``predicted``.

    >>> macro_f1(torch.tensor([0, 1]), torch.tensor([0, 1]))
    1.0
    """
    hits, of_class, as_class = _counts(y, predicted)
    either = of_class + as_class
    there = either > 0
    return float((2 * hits[there] / either[there]).mean())


def roc_auc(y: Tensor, score: Tensor) -> float:
    """Chance that a positive outscores a negative, ties counted half; NaN without both.

    >>> roc_auc(torch.tensor([0, 1, 1]), torch.tensor([0.1, 0.1, 0.9]))
    0.75
    """
    positives = int((y == 1).sum())
    negatives = len(y) - positives
    if positives == 0 or negatives == 0:
        return math.nan
    _, place, count = torch.unique(score, return_inverse=True, return_counts=True)
    last = count.cumsum(0).double()
    middle = last - (count - 1) / 2  # the mean rank of each group of ties
    ranks = middle[place][y == 1].sum()
    return float((ranks - positives * (positives + 1) / 2) / (positives * negatives))


@dataclass(frozen=True)
class Calibration:
    """Predictions in bins of equal width by confidence.

    Attributes:
        error: Expected calibration error, sum_b n_b / n |accuracy_b - confidence_b|.
        count: Predictions per bin.
        confidence: Mean confidence per bin, 0 where it is empty.
        accuracy: Share of right predictions per bin, 0 where it is empty.
    """

    error: float
    count: list[int]
    confidence: list[float]
    accuracy: list[float]


def calibration(y: Tensor, probability: Tensor, bins: int = 15) -> Calibration:
    """How confidence compares with accuracy (Naeini et al., AAAI 2015).

    >>> calibration(torch.tensor([0, 0]), torch.tensor([[0.75, 0.25], [0.25, 0.75]])).error
    0.25
    """
    confidence, predicted = probability.double().max(1)
    place = (confidence * bins).ceil().long().clamp(1, bins) - 1
    count = place.bincount(minlength=bins)
    per = count.clamp(min=1)
    mean_confidence = place.bincount(confidence, minlength=bins) / per
    mean_right = place.bincount((predicted == y).double(), minlength=bins) / per
    gap = (mean_right - mean_confidence).abs()
    return Calibration(
        float((gap * count).sum() / len(y)),
        count.tolist(),
        mean_confidence.tolist(),
        mean_right.tolist(),
    )


def scores(logits: Tensor, y: Tensor) -> dict[str, float]:
    """Every metric of these rows; ROC-AUC where there are two classes."""
    probability = probabilities(logits)
    predicted = probability.argmax(1)
    found = {
        "accuracy": accuracy(y, predicted),
        "balanced_accuracy": balanced_accuracy(y, predicted),
        "macro_f1": macro_f1(y, predicted),
        "ece": calibration(y, probability).error,
    }
    if probability.shape[1] == 2:
        found["roc_auc"] = roc_auc(y, probability[:, 1])
    return found


def _counts(y: Tensor, predicted: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Per class: right predictions, examples, predictions."""
    size = int(torch.maximum(y.max(), predicted.max())) + 1
    hits = y[y == predicted].bincount(minlength=size)
    return hits.double(), y.bincount(minlength=size), predicted.bincount(minlength=size)
