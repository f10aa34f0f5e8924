"""Which training nodes of a batch are in which environment, and averages over each."""

import torch
from torch import Tensor

from upwind.sampling import Batch


def membership(batch: Batch) -> tuple[Tensor, Tensor]:
    """Environments with training nodes in the batch, ``[E]``, and who is in each, ``[E, n]``.

    The n columns are the rows of ``batch.mask``; a node without an environment is in none.
    """
    of_node = batch.env_id[batch.mask]
    present = torch.unique(of_node)
    present = present[present >= 0]
    return present, of_node == present[:, None]


def environment_means(values: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Environments in the batch, and of each (n / n_e) sum_{i in e} s_i v_i, both ``[E]``.

    One v_i for each of the n training nodes of the batch, n_e of them in e; s_i is the sampler's
    node norm. Where s_i = 1/n this is the mean over the environment; the benchmark has the same
    factors, so that the environments' losses are on the scale of its ERM loss.
    """
    present, member = membership(batch)
    weighted = values * batch.node_norm[batch.mask] * len(values)
    return present, (member * weighted).sum(1) / member.sum(1)
