"""TAR as one object for a training loop of your own."""

from collections.abc import Callable
from typing import Literal, NamedTuple, Self

import torch
from torch import Tensor, nn

from upwind.errors import InputError
from upwind.flow.gradient import (
    Backend,
    Flow,
    Integrator,
    check_step,
    checked_density,
    gradient_flow,
)
from upwind.flow.graph import Graph
from upwind.flow.harmonic import harmonic_extension
from upwind.flow.reconnect import reconnect as reconnected

Fill = Literal["mean", "entropy", "harmonic", "given"]


class GroupWeight(NamedTuple):
    """How much of the labelled nodes, and of their weight, is in each group."""

    groups: Tensor
    nodes: Tensor
    weight: Tensor


class TAR(nn.Module):
    r"""Topology-aware dynamic reweighting: the weighted loss, with weights that follow the errors.

    (Zheng et al., *Topology-Aware Dynamic Reweighting for Distribution Shifts on Graph*.) Each call
    takes the losses of the labelled nodes, lets weight flow along the edges towards the high ones
    (see :func:`upwind.gradient_flow`), and returns ``sum_i q_i loss_i`` over the labelled nodes.
    Gradients reach the losses, never the weights.

    The weights are a buffer: they are saved by ``state_dict``, move with ``.to``, and keep their
    precision when a model around them is cast to half.

    Args:
        edge_index: shape [2, E], as in PyTorch Geometric.
        num_nodes: N; by default the length of ``labeled``.
        labeled: shape [N], bool: the nodes whose losses are known.
        edge_weight: shape [E].
        tau: step size of the flow.
        steps: steps of the flow per call (the paper's ``T_in``).
        beta: strength of the entropy, which spreads weight.
        restart: whether each flow starts from the prior (the paper's equation 6) or from the
            weights of the flow before (the paper's algorithm 1).
        fill: the loss assumed where it is not known: ``"mean"`` of the known ones (the paper's),
            ``"entropy"`` of the model's prediction there (give ``logits`` in each call),
            ``"harmonic"`` interpolation over the graph, or ``"given"`` (give ``fill_values``).
        prior: shape [N], positive: where the flow starts and what its entropy is relative to.
            Uniform by default.
        normalize: ``"mean"``: weights have mean one over the labelled nodes, so the result has the
            size of ``losses.mean()``. ``"sum"``: the paper's ``sum q_i loss_i`` as it stands, where
            the weight on unlabelled nodes counts for nothing.
        reconnect: if given, weight flows on the graph that joins each labelled node with so many
            labelled nodes nearest to it (the paper's TAR-N).
        update: ``"call"``: the weights flow in each call. ``"epoch"``: calls only remember the
            losses, and weights flow when you call :meth:`advance`, say once an epoch.
        integrator: see :func:`upwind.gradient_flow`.
        backend: see :func:`upwind.gradient_flow`.

    >>> edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> tar = TAR(edge_index, labeled=torch.tensor([True, False, True]), tau=0.1)
    >>> tar(torch.tensor([0.2, 1.0], requires_grad=True))
    tensor(0.7365, grad_fn=<DivBackward0>)
    """

    weights: Tensor
    """The density q, shape [N]; it sums to one."""
    known_losses: Tensor
    """The last loss seen of each node, shape [N]; NaN where none was."""

    def __init__(
        self,
        edge_index: Tensor,
        num_nodes: int | None = None,
        *,
        labeled: Tensor,
        edge_weight: Tensor | None = None,
        tau: float = 1e-3,
        steps: int = 10,
        beta: float = 0.1,
        restart: bool = False,
        fill: Fill = "mean",
        prior: Tensor | None = None,
        normalize: Literal["mean", "sum"] = "mean",
        reconnect: int | None = None,
        update: Literal["call", "epoch"] = "call",
        integrator: Integrator = "euler",
        backend: Backend = "auto",
    ) -> None:
        super().__init__()
        _check_choice("fill", fill, ("mean", "entropy", "harmonic", "given"))
        _check_choice("normalize", normalize, ("mean", "sum"))
        _check_choice("update", update, ("call", "epoch"))
        check_step(steps, tau, beta)
        n = len(labeled) if num_nodes is None else num_nodes
        if labeled.dtype != torch.bool or labeled.shape != (n,):
            raise InputError(
                f"labeled must be bool and of shape [{n}], true at the labelled nodes, but it is "
                f"{labeled.dtype} of shape {list(labeled.shape)}."
            )
        if not labeled.any():
            raise InputError("labeled has no true entry: there is no loss to weigh.")
        self.tau, self.steps, self.beta = tau, steps, beta
        self.restart, self.fill, self.normalize, self.update = restart, fill, normalize, update
        self.integrator, self.backend = integrator, backend
        graph = Graph.from_edge_index(edge_index, n, edge_weight)
        labeled = labeled.to(graph.device)
        self._graph = graph if reconnect is None else reconnected(graph, labeled, reconnect)
        self._extension: Tensor | None = None
        uniform = torch.full((n,), 1 / n, device=graph.device)
        start = uniform if prior is None else checked_density(prior, uniform, "prior")
        self.register_buffer("weights", start / start.sum(dtype=torch.float64).float())
        self.register_buffer("known_losses", torch.full_like(uniform, torch.nan))
        self.register_buffer("labeled", labeled, persistent=False)
        self.register_buffer("prior", None if prior is None else start, persistent=False)
        self.last_flow: Flow | None = None

    labeled: Tensor
    prior: Tensor | None

    @property
    def graph(self) -> Graph:
        """The graph that weight flows on."""
        return self._graph

    def forward(
        self,
        losses: Tensor,
        *,
        nodes: Tensor | None = None,
        subgraph: Tensor | tuple[Tensor, Tensor] | None = None,
        logits: Tensor | None = None,
        fill_values: Tensor | None = None,
        sample_weight: Tensor | None = None,
    ) -> Tensor:
        """Return the weighted loss, a scalar.

        Args:
            losses: shape [n]: the losses of the labelled nodes in the order of the mask, or of
                ``nodes``.
            nodes: shape [n], the global id of each loss, all of labelled nodes.
            subgraph: for a sampled batch, the global ids of its nodes: weight flows among them
                alone. A pair ``(ids, edge_index)`` gives the batch's own edges, in local numbers;
                otherwise all edges among its nodes count. Without it the whole graph flows, from
                the last known loss of each node.
            logits: for ``fill="entropy"``, shape [nodes of the graph or of the batch, C].
            fill_values: for ``fill="given"``, shape [nodes of the graph or of the batch].
            sample_weight: shape [n]: factors of the sampler's own, such as GraphSAINT's node
                norm; the result is then the sum, not the mean, of factor x weight x loss.
        """
        weight = self.weigh(
            losses, nodes=nodes, subgraph=subgraph, logits=logits, fill_values=fill_values
        )
        if sample_weight is not None:
            return (sample_weight.detach() * weight * losses).sum()
        total = (weight * losses).sum()
        return total / len(losses) if self.normalize == "mean" else total

    def weigh(
        self,
        losses: Tensor,
        *,
        nodes: Tensor | None = None,
        subgraph: Tensor | tuple[Tensor, Tensor] | None = None,
        logits: Tensor | None = None,
        fill_values: Tensor | None = None,
    ) -> Tensor:
        """Let weight flow, and return the weight of each loss, for a sum of your own.

        Arguments are those of a call.
        """
        nodes = self._checked_nodes(losses, nodes)
        with torch.no_grad(), torch.autocast(losses.device.type, enabled=False):
            self.known_losses[nodes] = losses.detach().to(self.known_losses)
            if self.update == "call":
                self._flow(subgraph, logits, fill_values)
            weight = self.weights[nodes].to(losses.dtype)
            if self.normalize == "mean":
                weight = weight / self.weights[self.labeled].mean().to(losses.dtype)
        return weight

    def advance(self, *, logits: Tensor | None = None, fill_values: Tensor | None = None) -> None:
        """Let the weights of the whole graph flow once, from the last known losses.

        Before any loss is known this does nothing.
        """
        if not self.known_losses.isnan().all():
            with torch.no_grad(), torch.autocast(self.weights.device.type, enabled=False):
                self._flow(None, logits, fill_values)

    @torch.compiler.disable
    def _flow(
        self,
        subgraph: Tensor | tuple[Tensor, Tensor] | None,
        logits: Tensor | None,
        fill_values: Tensor | None,
    ) -> None:
        graph, ids = self._graph, None
        if isinstance(subgraph, tuple):
            ids, edges = subgraph
            graph = Graph.from_edge_index(edges, len(ids))
        elif subgraph is not None and len(subgraph) < graph.num_nodes:
            ids, graph = subgraph, graph.subgraph(subgraph)
        elif subgraph is not None:
            ids = subgraph
            graph = graph if bool((ids[1:] > ids[:-1]).all()) else graph.subgraph(ids)

        def part(x: Tensor) -> Tensor:
            return x if ids is None else x[ids]

        losses = self._filled(graph, part(self.known_losses), logits, fill_values, ids)
        prior = None if self.prior is None else part(self.prior)
        if not self.restart:
            start = part(self.weights)
        elif self.prior is not None:
            start = part(self.prior) / self.prior.sum()
        else:
            start = torch.full_like(losses, 1 / len(self.weights))
        self.last_flow = gradient_flow(
            graph,
            losses,
            steps=self.steps,
            tau=self.tau,
            beta=self.beta,
            start=start,
            prior=prior,
            integrator=self.integrator,
            backend=self.backend,
        )
        if ids is None:
            # Rounding must not add up over thousands of epochs.
            self.weights.copy_(self.last_flow.weights)
            self.weights /= self.weights.sum(dtype=torch.float64).float()
        else:
            self.weights[ids] = self.last_flow.weights

    def _filled(
        self,
        graph: Graph,
        losses: Tensor,
        logits: Tensor | None,
        fill_values: Tensor | None,
        ids: Tensor | None,
    ) -> Tensor:
        known = ~losses.isnan()
        if self.fill == "harmonic":
            guess = self._extension
            if guess is not None and ids is not None:
                guess = guess[ids]
            filled = harmonic_extension(graph, losses, known, guess=guess)
            if ids is None:
                self._extension = filled
            return filled
        if self.fill == "mean":
            return torch.where(known, losses, losses[known].mean())
        given = fill_values if self.fill == "given" else logits
        name = "fill_values" if self.fill == "given" else "logits"
        if given is None:
            raise InputError(f"fill={self.fill!r} needs {name} in each call.")
        if len(given) != len(losses):
            raise InputError(
                f"{name} must have a row for each of the {len(losses)} nodes, but has {len(given)}."
            )
        values = given.detach().to(losses)
        return torch.where(known, losses, values if self.fill == "given" else entropy(values))

    def _checked_nodes(self, losses: Tensor, nodes: Tensor | None) -> Tensor:
        if nodes is None:
            nodes = self.labeled.nonzero().squeeze(1)
            if losses.shape != nodes.shape:
                raise InputError(
                    f"losses must have one entry for each of the {len(nodes)} labelled nodes, but "
                    f"their shape is {list(losses.shape)}; use reduction='none', and pass nodes= "
                    "for the losses of some nodes only."
                )
        elif nodes.shape != losses.shape:
            raise InputError(
                f"nodes must name the node of each loss: losses have shape {list(losses.shape)}, "
                f"nodes {list(nodes.shape)}."
            )
        elif ((nodes < 0) | (nodes >= len(self.labeled))).any():
            raise InputError(f"nodes must be ids from 0 to {len(self.labeled) - 1}.")
        elif not self.labeled[nodes].all():
            first = int(nodes[~self.labeled[nodes]][0])
            raise InputError(f"node {first} has a loss, but is not marked in labeled.")
        if not torch.isfinite(losses).all():
            first = int((~torch.isfinite(losses)).nonzero()[0])
            raise InputError(
                f"the loss of node {int(nodes[first])} is {float(losses[first])}; the weights were "
                "left as they are."
            )
        return nodes

    @property
    def effective_sample_size(self) -> float:
        """As how many equally weighted labelled nodes the weights count: 1 / sum of squares."""
        q = self.weights[self.labeled].double()
        return float(q.sum() ** 2 / (q**2).sum())

    def heaviest(self, k: int = 10) -> tuple[Tensor, Tensor]:
        """Return the ids of the labelled nodes of most weight, and their weight (mean one)."""
        q = self.weights / self.weights[self.labeled].mean()
        weight, ids = torch.where(self.labeled, q, -1).topk(min(k, int(self.labeled.sum())))
        return ids, weight

    def weight_by(self, groups: Tensor) -> GroupWeight:
        """Return each group's share of the labelled nodes and of their weight.

        Args:
            groups: shape [N]: class, environment, degree, anything that can be told apart.
        """
        if groups.shape != self.labeled.shape:
            raise InputError(f"groups must have shape {list(self.labeled.shape)}.")
        q = self.weights[self.labeled]
        names, index = torch.unique(groups[self.labeled], return_inverse=True)
        nodes = torch.bincount(index, minlength=len(names)).to(q)
        weight = torch.zeros_like(nodes).index_add_(0, index, q)
        return GroupWeight(names, nodes / nodes.sum(), weight / weight.sum())

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        # A density over many nodes does not survive half precision: follow the device only.
        device = fn(self.weights.new_empty(1)).device

        def move(x: Tensor) -> Tensor:
            return x.to(device)

        super()._apply(move, recurse)  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self._graph = self._graph.to(device)
        if self._extension is not None:
            self._extension = self._extension.to(device)
        return self

    def extra_repr(self) -> str:
        """Say what the flow is."""
        return (
            f"{self._graph}, labeled={int(self.labeled.sum())}, tau={self.tau}, "
            f"steps={self.steps}, beta={self.beta}, restart={self.restart}, fill={self.fill!r}, "
            f"update={self.update!r}"
        )


def entropy(logits: Tensor) -> Tensor:
    """Return the entropy of each row's prediction, which is the loss that the model expects there.

    One logit a row is a binary prediction.

    >>> entropy(torch.zeros(1, 4))
    tensor([1.3863])
    """
    if logits.dim() == 1 or logits.shape[1] == 1:
        flat = logits.reshape(-1)
        logits = torch.stack([torch.zeros_like(flat), flat], dim=1)
    log_p = logits.log_softmax(dim=1)
    return -(log_p.exp() * log_p).sum(dim=1)


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise InputError(f"{name} must be one of {listed}, not {value!r}.")
