"""The loss that is assumed where a node has no label."""

from typing import Literal

import torch
from torch import Tensor

from upwind.errors import InputError

Fill = Literal["mean", "entropy", "harmonic", "given"]


def expected(
    fill: Fill, losses: Tensor, logits: Tensor | None, fill_values: Tensor | None
) -> Tensor:
    """What each node is assumed to lose: the entropy of its logits, or what the caller says."""
    given = fill_values if fill == "given" else logits
    name = "fill_values" if fill == "given" else "logits"
    if given is None:
        raise InputError(f"fill={fill!r} needs {name} in each call.")
    allowed = (1,) if fill == "given" else (1, 2)
    if given.dim() not in allowed or len(given) != len(losses):
        raise InputError(
            f"{name} must have a row for each of the {len(losses)} nodes, but their shape is "
            f"{list(given.shape)}."
        )
    values = given.detach().to(losses)
    return values if fill == "given" else entropy(values)


def entropy(logits: Tensor) -> Tensor:
    """Return the entropy of each row's prediction, which is the loss that the model expects there.

    One logit a row is a binary prediction.

    >>> entropy(torch.zeros(1, 4))
    tensor([1.3863])
    """
    if logits.dim() == 1 or logits.shape[1] == 1:
        flat = logits.reshape(-1)
        logits = torch.stack([torch.zeros_like(flat), flat], dim=1)
    share: Tensor = torch.special.entr(logits.softmax(dim=1))
    return share.sum(dim=1)
