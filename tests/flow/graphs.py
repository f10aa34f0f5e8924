"""Graphs of every kind, and the equations of the flow written out with dense matrices."""

import numpy as np
import torch
from hypothesis import strategies as st

from upwind import Graph


def undirected(pairs, num_nodes, weight=None):
    """Build a graph from one entry per undirected edge."""
    pairs = torch.as_tensor(pairs, dtype=torch.long).reshape(-1, 2).T
    both = torch.cat([pairs, pairs.flip(0)], dim=1)
    weight = None if weight is None else torch.as_tensor(weight).repeat(2)
    return Graph.from_edge_index(both, num_nodes, weight)


def path(n):
    return [(i, i + 1) for i in range(n - 1)]


def star(n):
    return [(0, i) for i in range(1, n)]


def barabasi_albert(n, m, seed):
    rng = np.random.default_rng(seed)
    pairs, ends = [], list(range(m))
    for new in range(m, n):
        for old in {ends[at] for at in rng.integers(len(ends), size=m).tolist()}:
            pairs.append((new, old))
            ends += [new, old]
    return pairs


@st.composite
def graphs(draw, max_nodes=14):
    """Paths, stars, hubs, scattered edges, no edges, no nodes; weights from none to heavy."""
    n = draw(st.integers(0, max_nodes))
    kind = draw(st.sampled_from(["path", "star", "hubs", "scattered", "empty"]))
    if kind == "path":
        pairs = path(n)
    elif kind == "star":
        pairs = star(n)
    elif kind == "hubs" and n > 3:
        pairs = barabasi_albert(n, 2, draw(st.integers(0, 99)))
    elif kind == "scattered" and n:
        node = st.integers(0, n - 1)
        pairs = draw(st.lists(st.tuples(node, node), max_size=3 * n))
    else:
        pairs = []
    heaviest = draw(st.sampled_from([None, 2.0, 1e4]))
    if heaviest is None:
        return undirected(pairs, n)
    weight = draw(
        st.lists(st.floats(0.125, heaviest, width=32), min_size=len(pairs), max_size=len(pairs))
    )
    return undirected(pairs, n, torch.tensor(weight, dtype=torch.float64))


def losses_for(graph, high=3.0):
    """Draw one loss a node."""
    finite = st.floats(-high, high, width=32)
    return st.lists(finite, min_size=graph.num_nodes, max_size=graph.num_nodes).map(
        lambda values: torch.tensor(values, dtype=torch.float64)
    )


def dense(graph):
    """Return the weights as a dense float64 matrix."""
    n = graph.num_nodes
    matrix = np.zeros((n, n))
    row, col = graph.edge_index.numpy()
    matrix[row, col] = 1 if graph.weight is None else graph.weight.double().numpy()
    return matrix


def plain_euler(weight, loss, q, steps, tau, beta, prior=None):
    """Return the density after plain Euler steps, and the largest tau x outflow met."""
    prior = np.ones_like(q) if prior is None else prior
    steepest = 0.0
    for _ in range(steps):
        phi = loss - beta * np.log(q / prior)
        v = phi[:, None] - phi[None, :]
        donor = np.where(v > 0, q[None, :], q[:, None])
        outflow = (weight * np.maximum(-v, 0)).sum(axis=1)
        steepest = max(steepest, tau * outflow.max(initial=0))
        q = q + tau * (weight * v * donor).sum(axis=1)
    return q, steepest
