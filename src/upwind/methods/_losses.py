"""The loss of a node, and of a batch."""

from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from upwind.sampling import Batch


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


def mean_loss(logits: Tensor, batch: Batch) -> Tensor:
    """sum_i s_i l_i / sum_i s_i over the training nodes of the batch, s_i the node norm.

    For logits of all rows; zero where the batch has no training node.
    """
    norm = batch.node_norm[batch.mask]
    losses = row_losses(logits[batch.mask], batch.y[batch.mask])
    return (norm * losses).sum() / norm.sum().clamp(min=1e-12)
