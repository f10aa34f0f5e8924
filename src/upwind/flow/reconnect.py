"""TAR-N: a graph that joins the labelled nodes directly."""

import numba
import numpy as np
import torch
from torch import Tensor

from upwind.errors import InputError, whole_number
from upwind.flow import csr
from upwind.flow.csr import Ints
from upwind.flow.graph import Graph


def reconnect(graph: Graph, labeled: Tensor, k: int = 3) -> Graph:
    """Join each labelled node with the ``k`` labelled nodes that a breadth-first search meets.

    (Zheng et al., appendix C, TAR-N.) The nodes keep their numbers; unlabelled ones are isolated,
    so the flow leaves their weight alone. The paper gives no value of k. Among labelled nodes of
    equal distance those met first count, in the order of node numbers. A component with fewer than
    k + 1 labelled nodes gives fewer edges.

    Args:
        graph: the graph to search.
        labeled: shape [N], bool.
        k: how many neighbours each labelled node looks for.

    >>> path = Graph.from_edge_index(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> reconnect(path, torch.tensor([True, False, True]), k=1).edge_index
    tensor([[0, 2],
            [2, 0]])
    """
    if not isinstance(labeled, Tensor) or labeled.dtype != torch.bool:
        raise InputError("labeled must be a tensor of bool, true at the labelled nodes.")
    if labeled.shape != (graph.num_nodes,):
        raise InputError(
            f"labeled must have one entry for each of the {graph.num_nodes} nodes, "
            f"but its shape is {list(labeled.shape)}."
        )
    k = min(whole_number(k, "k", least=1), int(labeled.sum()))
    source, target = _nearest(
        graph.rowptr.cpu().numpy(), graph.col.cpu().numpy(), labeled.cpu().numpy(), k
    )
    # Each pair once, whichever of the two found the other.
    n = graph.num_nodes
    pairs = np.unique(np.minimum(source, target) * n + np.maximum(source, target))
    low, high = pairs // max(n, 1), pairs % max(n, 1)
    rowptr, col, _, _ = csr.symmetric(
        np.concatenate([low, high]), np.concatenate([high, low]), None, n
    )
    return Graph(torch.from_numpy(rowptr), torch.from_numpy(col)).to(graph.device)


@numba.njit(cache=True)
def _nearest(rowptr: Ints, col: Ints, labeled: Ints, k: int) -> tuple[Ints, Ints]:
    n = len(rowptr) - 1
    seen = np.full(n, -1, np.int64)  # the search that met the node last: nothing to clear between
    queue = np.empty(n, np.int64)
    seeds = np.flatnonzero(labeled)
    source = np.empty(len(seeds) * k, np.int64)
    target = np.empty(len(seeds) * k, np.int64)
    found = 0
    for seed in seeds:
        seen[seed] = seed
        queue[0] = seed
        head, tail, left = 0, 1, k
        while head < tail and left > 0:
            i = queue[head]
            head += 1
            for e in range(rowptr[i], rowptr[i + 1]):
                j = col[e]
                if seen[j] == seed:
                    continue
                seen[j] = seed
                queue[tail] = j
                tail += 1
                if labeled[j]:
                    source[found], target[found] = seed, j
                    found += 1
                    left -= 1
                    if left == 0:
                        break
    return source[:found], target[:found]
