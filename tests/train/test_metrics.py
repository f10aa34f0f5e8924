import math

import numpy as np
import pytest
import torch
from sklearn import metrics as reference

from upwind.train import metrics

CASES = [(3, 200, 0), (7, 50, 1), (2, 40, 2), (4, 5, 3)]


def predictions(classes, count, seed, absent=True):
    """Labels and logits; where it can be, the last class occurs only among predictions."""
    random = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes - (absent and classes > 2), (count,), generator=random)
    return y, torch.randn(count, classes, generator=random)


@pytest.mark.parametrize("case", CASES)
def test_scores_are_scikit_learns(case):
    y, logits = predictions(*case)
    guess = logits.argmax(1)
    found = metrics.scores(logits, y)
    assert found["accuracy"] == pytest.approx(reference.accuracy_score(y, guess))
    recall = reference.recall_score(y, guess, average=None, labels=np.unique(y), zero_division=0)
    assert found["balanced_accuracy"] == pytest.approx(recall.mean())
    f1 = reference.f1_score(y, guess, average="macro", zero_division=0)
    assert found["macro_f1"] == pytest.approx(f1)


def test_balanced_accuracy_is_scikit_learns_own_where_every_class_occurs():
    y, logits = predictions(4, 100, 0, absent=False)
    guess = logits.argmax(1)
    expected = reference.balanced_accuracy_score(y, guess)
    assert metrics.balanced_accuracy(y, guess) == pytest.approx(expected)


@pytest.mark.parametrize("digits", [8, 1])  # with one digit, many scores are tied
def test_roc_auc_is_scikit_learns(digits):
    y, logits = predictions(2, 300, 5)
    score = logits[:, 1].round(decimals=digits)
    assert metrics.roc_auc(y, score) == pytest.approx(reference.roc_auc_score(y, score))


def test_one_logit_scores_like_the_two_it_stands_for():
    y, logits = predictions(2, 100, 1)
    single = (logits[:, 1] - logits[:, 0])[:, None]
    one, two = metrics.scores(single, y), metrics.scores(logits, y)
    assert one == pytest.approx(two)


def test_roc_auc_of_a_single_class_is_no_number():
    assert math.isnan(metrics.roc_auc(torch.ones(3), torch.rand(3)))


@pytest.mark.parametrize("bins", [5, 15])
def test_calibration_is_a_slow_transcription(bins):
    y, logits = predictions(3, 400, 4)
    probability = (3 * logits).softmax(1).double()
    confidence, guess = probability.max(1)
    error = 0.0
    for b in range(bins):
        low, high = b / bins, (b + 1) / bins
        rows = (confidence > low) & (confidence <= high)
        if rows.any():
            right = (guess == y)[rows].double().mean()
            error += float(rows.double().mean() * abs(right - confidence[rows].mean()))
    found = metrics.calibration(y, probability, bins)
    assert found.error == pytest.approx(error)
    assert sum(found.count) == 400


def test_a_sure_and_right_prediction_is_calibrated():
    assert metrics.calibration(torch.tensor([0]), torch.tensor([[1.0, 0.0]])).error == 0
