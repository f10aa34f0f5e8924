"""Random edits of a graph's edges, with candidates drawn so that nothing is N x N."""

import torch
from torch import Tensor


def candidates(edge_index: Tensor, num_nodes: int, count: int) -> tuple[Tensor, Tensor]:
    """For each node, nodes whose edge to it may change, and whether it is there now: [N, count].

    The first half are in-neighbours, drawn with replacement; the others, and all where there is
    no in-neighbour, are drawn from all nodes.
    """
    source, target = edge_index
    order = target.argsort(stable=True)
    degree = target.bincount(minlength=num_nodes)
    first = degree.cumsum(0) - degree
    drawn = torch.randint(num_nodes, (num_nodes, count), device=target.device)
    half = count // 2
    if half and source.numel():
        place = (torch.rand(num_nodes, half, device=target.device) * degree[:, None]).long()
        slot = (first[:, None] + place).clamp(max=source.numel() - 1)
        near = source[order[slot]]
        drawn[:, :half] = torch.where(degree[:, None] > 0, near, drawn[:, :half])
    to = torch.arange(num_nodes, device=target.device)[:, None]
    return drawn, torch.isin(drawn * num_nodes + to, source * num_nodes + target)


def draw(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """``count`` distinct columns of each row, one after another, and the log-probability of each.

    Column j comes first with probability softmax(scores)_j, and each later one in the same way
    among those that are left (Plackett and Luce). Gradients reach the log-probabilities, [N].
    """
    gumbel = -torch.empty_like(scores).exponential_().log()
    picks = (scores.detach() + gumbel).topk(count, dim=1).indices
    left, log_probability = scores, torch.zeros_like(scores[:, 0])
    for pick in picks.T[:, :, None]:
        log_probability = log_probability + left.log_softmax(1).gather(1, pick)[:, 0]
        left = left.scatter(1, pick, -torch.inf)
    return picks, log_probability


def toggle(
    edge_index: Tensor, edge_weight: Tensor | None, source: Tensor, target: Tensor, num_nodes: int
) -> tuple[Tensor, Tensor | None]:
    """The graph without those of the edges ``source -> target`` that it has, and with the others.

    New edges have weight one. Self-loops stay as they are.

    >>> edges = torch.tensor([[0, 1], [1, 2]])
    >>> toggle(edges, None, torch.tensor([0, 2]), torch.tensor([1, 0]), 3)[0].tolist()
    [[1, 2], [2, 0]]
    """
    asked = torch.unique((source * num_nodes + target)[source != target])
    have = edge_index[0] * num_nodes + edge_index[1]
    kept = ~torch.isin(have, asked)
    new = asked[~torch.isin(asked, have)]
    edges = torch.cat([edge_index[:, kept], torch.stack([new // num_nodes, new % num_nodes])], 1)
    if edge_weight is None:
        return edges, None
    return edges, torch.cat([edge_weight[kept], edge_weight.new_ones(len(new))])
