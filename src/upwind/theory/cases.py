"""Small graphs from a seed, with losses on them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from upwind.flow import Graph, gibbs


@dataclass(frozen=True, eq=False)
class Case:
    """A graph, the losses of its nodes, and where the flow starts."""

    name: str
    graph: Graph
    losses: Tensor

    @cached_property
    def start(self) -> Tensor:
        """Equal weights."""
        n = self.graph.num_nodes
        return torch.full((n,), 1 / n, dtype=torch.float64)

    def energy(self, q: Tensor, beta: float) -> float:
        """``sum q l - beta sum q log q``."""
        return float((q * self.losses).sum() - beta * torch.xlogy(q, q).sum())

    def limit(self, beta: float) -> Tensor:
        """Where the flow ends."""
        return gibbs(self.graph, self.losses, beta, start=self.start)

    def rates(self, beta: float) -> tuple[float, float]:
        r"""Two bounds on the rate at which the energy's gap closes near the limit, ``pi``.

        ``2 beta lambda``, with lambda the smallest positive generalised eigenvalue of the Laplacian
        with conductances ``w_ij theta(pi_i, pi_j)`` against ``diag(pi)``, theta the smaller and the
        larger of the two: the donor's mass is one of them.
        """
        pi = self.limit(beta).numpy()
        row, col = self.graph.edge_index.numpy()
        weight = np.ones(len(row)) if self.graph.weight is None else self.graph.weight.numpy()
        found = []
        for theta in (np.minimum, np.maximum):
            laplacian = np.zeros((len(pi), len(pi)))
            np.add.at(laplacian, (row, col), -weight * theta(pi[row], pi[col]))
            np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
            scaled = laplacian / np.sqrt(np.outer(pi, pi))
            values = np.linalg.eigvalsh(scaled)
            found.append(2 * beta * float(values[self.graph.num_components]))
        return found[0], found[1]


def cases(seed: int, sizes: tuple[int, ...] = (6, 9, 12)) -> list[Case]:
    """Paths, rings with chords and stars of each size, with losses between 0 and 2."""
    random = np.random.default_rng(seed)
    found = []
    for n in sizes:
        ring = [(i, (i + 1) % n) for i in range(n)]
        chords = [(i, (i + n // 2) % n) for i in range(n // 2)]
        kinds = {"path": ring[:-1], "ring with chords": ring + chords}
        for kind, pairs in kinds.items():
            losses = torch.from_numpy(random.uniform(0, 2, n))
            found.append(Case(f"{kind}, N = {n}", undirected(pairs, n), losses))
    return found


def undirected(pairs: list[tuple[int, int]], num_nodes: int) -> Graph:
    """Build a graph from one entry per edge."""
    ends = torch.tensor(pairs).T
    return Graph.from_edge_index(torch.cat([ends, ends.flip(0)], 1), num_nodes)
