"""The loss of a node."""

from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy


def row_losses(logits: Tensor, y: Tensor) -> Tensor:
    """One loss per row: cross-entropy, and with a single logit its binary form.

    >>> import torch
    >>> row_losses(torch.zeros(2, 4), torch.tensor([0, 3])).tolist()
    [1.3862943649291992, 1.3862943649291992]
    >>> row_losses(torch.zeros(1, 1), torch.tensor([1])).tolist()
    [0.6931471824645996]
    """
    if logits.shape[1] == 1:
        return binary_cross_entropy_with_logits(logits[:, 0], y.to(logits.dtype), reduction="none")
    return cross_entropy(logits, y, reduction="none")
