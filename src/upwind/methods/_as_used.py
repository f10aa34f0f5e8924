"""The model as it will be used, for an adversary to look at between two steps of training."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def as_used(model: nn.Module) -> Iterator[None]:
    """Without dropout, and with batch norm's running statistics, which stay as they are."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
