"""What TAR and TAR-N share: all but the graph that weight flows on."""

import dataclasses
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch_geometric.data import Data

from upwind import plugin
from upwind._options import option
from upwind.errors import InputError, InputWarning
from upwind.flow.gradient import check_step
from upwind.flow.reach import Reach
from upwind.methods._classes import by_class, class_counts
from upwind.methods._sum import Step, Summand
from upwind.nets import Model
from upwind.sampling import Batch, whole

_MOST_EDGES_TO_REACH = 5_000_000  # some seconds


@dataclasses.dataclass(frozen=True)
class FlowOptions:
    """Options of the flow; ``upwind.TAR`` says more of each."""

    tau: float = option(1e-3, "Step size of the flow.", grid=(1e-2, 1e-3, 1e-4))
    steps: int = option(10, "Steps of the flow.", grid=(1, 3, 5, 10, 30, 100))
    beta: float = option(0.1, "Strength of the entropy.", grid=(1.0, 0.1, 0.01, 0.001, 0.0))
    restart: bool = option(False, "Whether each flow starts from equal weights.")
    fill: Literal["mean", "entropy", "harmonic"] = option(
        "mean", "The loss assumed where there is no label."
    )
    normalize: Literal["mean", "sum"] = option("mean", "Labelled weights of mean one, or as is.")
    update: Literal["call", "epoch"] = option(
        "call", "Flow on the batch at each step, or on the whole graph once an epoch."
    )
    prior: Literal["uniform", "balanced"] = option(
        "uniform", "What the flow starts from and entropy pulls to: equal nodes, or classes."
    )
    losses: Literal["trained", "clean"] = option(
        "trained", "What the flow goes by: the losses of the training pass, or without dropout."
    )

    def __post_init__(self) -> None:
        check_step(self.steps, self.tau, self.beta)


def _options(tau: float, steps: int, beta: float) -> Mapping[str, Any]:
    return {"tau": tau, "steps": steps, "beta": beta}


# The paper's settings tables. Its Cora by words has a stand-in here, DBLP by words.
PUBLISHED: dict[str, Mapping[str, Any]] = {
    "cbas/concept": _options(0.01, 10, 0.1),
    "cbas/covariate": _options(0.001, 30, 0.1),
    "webkb/concept": _options(0.001, 10, 0.01),
    "webkb/covariate": _options(0.001, 10, 1.0),
    "twitch/concept": _options(0.001, 30, 0.1),
    "twitch/covariate": _options(0.001, 10, 0.1),
    "cora_word/concept": _options(0.001, 10, 0.1),
    "cora_word/covariate": _options(0.001, 10, 1.0),
    "dblp_word/concept": _options(0.001, 10, 0.1),
    "dblp_word/covariate": _options(0.001, 10, 1.0),
    "cora_lt": _options(0.0001, 10, 0.1),
    "citeseer_lt": _options(0.01, 10, 1.0),
    "pubmed_lt": _options(0.01, 3, 1.0),
    "citeseer_lt+graphens": _options(0.001, 30, 0.001),
    "pubmed_lt+graphens": _options(0.01, 5, 0.0001),
}


class FlowMethod(Summand):
    """The weight of training node i is the flow's density there, with mean one over them.

    A synthesised row has no place in the graph. It weighs what the node weighs that it was made
    from (``n_id``), and the flow goes by the mean loss of a node and its synthesised rows: the
    loss of its neighbourhood as the model meets it. Margins are in the losses that the flow
    sees, weights of other summands are not.
    """

    # Their share of the weight flows on, and their loss is filled in.
    uses: ClassVar[frozenset[str]] = frozenset({"unlabelled inputs"})
    published: ClassVar[Mapping[str, Mapping[str, Any]]] = PUBLISHED

    @abstractmethod
    def reconnect(self) -> int | None:
        """How many labelled nodes each is joined with; none for the graph as it is."""

    def on_start(self, model: Model, data: Data) -> None:  # noqa: ARG002
        """Make the flow on the data's graph."""
        after_epoch = self.options.fill == "entropy" and self.options.update == "epoch"
        if after_epoch and hasattr(data, "stored"):
            raise InputError(
                "fill=entropy with update=epoch needs the model's answer at every node, and this "
                "graph is mapped from disk because that may not fit; use another fill."
            )
        options = dataclasses.asdict(self.options)
        for ours in ("neighbours", "prior", "losses"):
            options.pop(ours, None)
        prior = None
        if self.options.prior == "balanced":
            prior = by_class(data, 1 / class_counts(data))[1]
        with warnings.catch_warnings():
            # That directed edges carry weight both ways is what the documentation says of TAR.
            warnings.simplefilter("ignore", InputWarning)
            self.tar = plugin.TAR(
                data.edge_index,
                int(data.num_nodes),
                labeled=data.train_mask & (data.y >= 0),
                edge_weight=data.edge_weight,
                reconnect=self.reconnect(),
                prior=prior,
                **options,
            )

    @torch.no_grad()
    def weights(self, step: Step, losses: Tensor) -> Tensor:
        """Weight flows on the batch."""
        batch, logits = step.batch, step.logits
        if self.options.losses == "clean":
            logits = step.model.eval()(batch)
            step.model.train()
            losses = step.losses(logits)
        real = slice(batch.num_nodes - batch.synthesised)
        nodes, place = torch.unique(batch.n_id[batch.mask], return_inverse=True)
        weights: Tensor = self.tar.weigh(
            torch.zeros_like(nodes, dtype=losses.dtype).index_add_(0, place, losses)
            / place.bincount(minlength=len(nodes)),
            nodes=nodes,
            subgraph=None if batch.is_whole else batch.n_id[real],
            logits=self._placed(logits[real], batch),
        )
        return weights[place]

    def _placed(self, logits: Tensor, batch: Batch) -> Tensor:
        """A row for every node of the graph that weight flows on."""
        if not batch.is_whole:
            return logits
        every = logits.new_zeros(len(self.tar.weights), logits.shape[1])
        every[batch.n_id[: len(logits)]] = logits
        return every

    def on_epoch_end(self, model: Model, data: Data) -> None:
        """With ``update="epoch"``: weight flows on the whole graph."""
        if self.options.update == "call":
            return
        logits = None
        if self.options.fill == "entropy":
            with torch.no_grad():
                batch = whole(data).to(self.tar.weights.device)
                logits = self._placed(model.eval()(batch), batch)
        self.tar.advance(logits=logits)

    def reach(self) -> Reach | None:
        """From the density that the flow began with; none on a graph where it would take long."""
        graph = self.tar.graph
        return self.tar.reach() if graph.num_edges <= _MOST_EDGES_TO_REACH else None

    def node_weights(self) -> Tensor:
        """The density over all nodes, of mean one."""
        weights: Tensor = self.tar.weights
        return weights * len(weights)
