"""TAR as one object for a training loop of your own."""

import warnings
from collections.abc import Callable
from typing import Literal, NamedTuple, Self

import torch
from torch import Tensor, nn

from upwind.errors import InputError, InputWarning, whole_number
from upwind.flow.fill import Fill, expected
from upwind.flow.gradient import (
    Backend,
    Flow,
    Integrator,
    check_step,
    checked_density,
    gradient_flow,
    normalized,
)
from upwind.flow.graph import Graph
from upwind.flow.harmonic import harmonic_extension
from upwind.flow.reach import Reach, reach
from upwind.flow.reconnect import reconnect as reconnected


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
    tensor(0.7365, grad_fn=<SumBackward0>)
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
        if not isinstance(labeled, Tensor):
            raise InputError(f"labeled must be a tensor, not {type(labeled).__name__}.")
        n = len(labeled) if num_nodes is None else whole_number(num_nodes, "num_nodes")
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
        uniform = torch.full((n,), 1 / n, dtype=torch.float32, device=graph.device)
        start = uniform if prior is None else normalized(checked_density(prior, uniform, "prior"))
        unknown = torch.full_like(uniform, torch.nan)
        self.register_buffer("weights", start.clone())
        self.register_buffer("known_losses", unknown)
        # Saved, since where conjugate gradients start decides the last bits of where they end.
        self.register_buffer("extension", unknown.clone() if fill == "harmonic" else None)
        self.register_buffer("labeled", labeled, persistent=False)
        self.register_buffer("prior", None if prior is None else start, persistent=False)
        self.last_flow: Flow | None = None

    labeled: Tensor
    prior: Tensor | None
    extension: Tensor | None

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
                the last known loss of each node. With ``restart`` all other nodes are back at the
                start; with ``update="epoch"`` it is of no use.
            logits: for ``fill="entropy"``, shape [nodes of the graph or of the batch, C].
            fill_values: for ``fill="given"``, shape [nodes of the graph or of the batch].
            sample_weight: shape [n]: factors of the sampler's own, such as GraphSAINT's node
                norm; the result is then the sum, not the mean, of factor x weight x loss.
        """
        weight = self.weigh(
            losses, nodes=nodes, subgraph=subgraph, logits=logits, fill_values=fill_values
        )
        if sample_weight is not None:
            weight = sample_weight.detach().to(weight) * weight
        elif self.normalize == "mean":
            weight = weight / max(len(losses), 1)  # a batch may have no labelled node
        return (weight * losses).sum()

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
            # Half precision would not hold 1/N, nor the sum.
            weight = self.weights[nodes].to(torch.promote_types(losses.dtype, torch.float32))
            if self.normalize == "mean":
                weight = weight / self.weights[self.labeled].mean()
        return weight

    def advance(self, *, logits: Tensor | None = None, fill_values: Tensor | None = None) -> None:
        """Let the weights of the whole graph flow once, from the last known losses.

        Before any loss is known this does nothing.
        """
        with torch.no_grad(), torch.autocast(self.weights.device.type, enabled=False):
            self._flow(None, logits, fill_values)

    @torch.compiler.disable
    def _flow(
        self,
        subgraph: Tensor | tuple[Tensor, Tensor] | None,
        logits: Tensor | None,
        fill_values: Tensor | None,
    ) -> None:
        graph, ids = self._sampled(subgraph)
        losses = self._filled(graph, ids, logits, fill_values)
        if losses is None:
            return
        if self.restart:
            fresh = torch.full_like(self.weights, 1 / len(self.weights))
            self.weights.copy_(fresh if self.prior is None else self.prior)
        start = self.weights[ids]
        self.last_flow = gradient_flow(
            graph,
            losses,
            steps=self.steps,
            tau=self.tau,
            beta=self.beta,
            start=start,
            prior=None if self.prior is None else self.prior[ids],
            integrator=self.integrator,
            backend=self.backend,
        )
        # Rounding must not add up over thousands of steps.
        end = self.last_flow.weights.double()
        mass = 1.0 if subgraph is None else start.double().sum()
        self.weights[ids] = (end * (mass / end.sum())).float()

    def _sampled(
        self, subgraph: Tensor | tuple[Tensor, Tensor] | None
    ) -> tuple[Graph, Tensor | slice]:
        """Return the graph to flow on, and which of all nodes are on it."""
        if subgraph is None:
            return self._graph, slice(None)
        ids, edges = subgraph if isinstance(subgraph, tuple) else (subgraph, None)
        self._graph.check_nodes(ids)
        ids = ids.to(self.weights.device, torch.int64)
        if edges is not None:
            with warnings.catch_warnings():
                # Samplers of neighbours give one direction: that is no news in every batch.
                warnings.simplefilter("ignore", InputWarning)
                return Graph.from_edge_index(edges.to(ids.device), len(ids)), ids
        if len(ids) == self._graph.num_nodes and bool((ids[1:] > ids[:-1]).all()):
            return self._graph, ids
        return self._graph.subgraph(ids), ids

    def _filled(
        self,
        graph: Graph,
        ids: Tensor | slice,
        logits: Tensor | None,
        fill_values: Tensor | None,
    ) -> Tensor | None:
        """Return a loss for each node of ``graph``; None if none of them is known."""
        losses = self.known_losses[ids]
        known = ~losses.isnan()
        if not known.any():
            return None
        if self.extension is not None:
            filled = harmonic_extension(graph, losses, known, guess=self.extension[ids])
            self.extension[ids] = filled
            return filled
        if self.fill == "mean":
            return torch.where(known, losses, losses[known].double().mean().float())
        values = expected(self.fill, losses, logits, fill_values)
        values = torch.where(known, losses, values)
        if not (finite := torch.isfinite(values)).all():
            first = torch.arange(len(self.labeled), device=values.device)[ids][~finite][0]
            raise InputError(
                f"fill={self.fill!r} gives node {int(first)} a loss that is not finite; the "
                "weights were left as they are."
            )
        return values

    def _checked_nodes(self, losses: Tensor, nodes: Tensor | None) -> Tensor:
        if not isinstance(losses, Tensor) or not losses.is_floating_point():
            kind = getattr(losses, "dtype", type(losses).__name__)
            raise InputError(f"losses must be a tensor of floating-point numbers, not {kind}.")
        if losses.device != self.weights.device:
            raise InputError(
                f"losses are on {losses.device}, but TAR is on {self.weights.device}; "
                "move it with .to(device), as a model."
            )
        if nodes is None:
            nodes = self.labeled.nonzero().squeeze(1)
            if losses.shape != nodes.shape:
                raise InputError(
                    f"losses must have one entry for each of the {len(nodes)} labelled nodes, but "
                    f"their shape is {list(losses.shape)}; use reduction='none', and pass nodes= "
                    "for the losses of some nodes only."
                )
        elif nodes.shape != losses.shape or losses.dim() != 1:
            raise InputError(
                f"nodes must name the node of each loss: losses have shape {list(losses.shape)}, "
                f"nodes {list(nodes.shape)}."
            )
        elif nodes.is_floating_point() or nodes.is_complex() or nodes.dtype == torch.bool:
            raise InputError(f"nodes must be node ids, not {nodes.dtype}.")
        elif ((nodes < 0) | (nodes >= len(self.labeled))).any():
            raise InputError(f"nodes must be ids from 0 to {len(self.labeled) - 1}.")
        elif not self.labeled[nodes := nodes.to(self.labeled.device, torch.int64)].all():
            first = int(nodes[~self.labeled[nodes]][0])
            raise InputError(f"node {first} has a loss, but is not marked in labeled.")
        bad = ~torch.isfinite(losses.detach().to(self.known_losses.dtype))
        if bad.any():
            first = int(bad.nonzero()[0])
            raise InputError(
                f"the loss of node {int(nodes[first])} is {float(losses.detach()[first])}; the "
                "weights were left as they are."
            )
        return nodes

    @property
    def effective_sample_size(self) -> float:
        """As how many equally weighted labelled nodes the weights count: 1 / sum of squares."""
        q = self.weights[self.labeled].double()
        return float(q.sum() ** 2 / (q**2).sum())

    def reach(self) -> Reach:
        """Return how much mass the weights moved from the start, and over how many edges.

        See :func:`upwind.reach`; as text it is a sentence on what the training guarded against.
        """
        uniform = torch.full_like(self.weights, 1 / len(self.weights))
        return reach(self._graph, uniform if self.prior is None else self.prior, self.weights)

    def heaviest(self, k: int = 10) -> tuple[Tensor, Tensor]:
        """Return the ids of the labelled nodes of most weight, and their weight (mean one)."""
        q = self.weights / self.weights[self.labeled].mean()
        k = min(whole_number(k, "k"), int(self.labeled.sum()))
        weight, ids = torch.where(self.labeled, q, -1).topk(k)
        return ids, weight

    def weight_by(self, groups: Tensor) -> GroupWeight:
        """Return each group's share of the labelled nodes and of their weight.

        Args:
            groups: shape [N]: class, environment, degree, anything that can be told apart.
        """
        if not isinstance(groups, Tensor) or groups.shape != self.labeled.shape:
            raise InputError(f"groups must be a tensor of shape {list(self.labeled.shape)}.")
        q = self.weights[self.labeled]
        groups = groups.to(q.device)
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
        return self

    def extra_repr(self) -> str:
        """Say what the flow is."""
        return (
            f"{self._graph}, labeled={int(self.labeled.sum())}, tau={self.tau}, "
            f"steps={self.steps}, beta={self.beta}, restart={self.restart}, fill={self.fill!r}, "
            f"update={self.update!r}"
        )


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise InputError(f"{name} must be one of {listed}, not {value!r}.")
