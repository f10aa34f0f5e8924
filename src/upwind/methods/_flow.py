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
from upwind.methods._base import Method
from upwind.methods._losses import row_losses
from upwind.nets import Model
from upwind.sampling import Batch, whole


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
}


class FlowMethod(Method):
    """sum_i s_i m_i l_i: s_i the sampler's node norm, m_i the flow's weight of node i."""

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
        options.pop("neighbours", None)
        with warnings.catch_warnings():
            # That directed edges carry weight both ways is what the documentation says of TAR.
            warnings.simplefilter("ignore", InputWarning)
            self.tar = plugin.TAR(
                data.edge_index,
                int(data.num_nodes),
                labeled=data.train_mask & (data.y >= 0),
                edge_weight=data.edge_weight,
                reconnect=self.reconnect(),
                **options,
            )

    def loss(self, model: Model, batch: Batch) -> Tensor:
        """Weight flows on the batch, then weighs its losses."""
        logits = model(batch)
        rows = batch.mask
        weighted: Tensor = self.tar(
            row_losses(logits[rows], batch.y[rows]),
            nodes=batch.n_id[rows],
            subgraph=None if batch.is_whole else batch.n_id,
            logits=logits,
            sample_weight=batch.node_norm[rows],
        )
        return weighted

    def on_epoch_end(self, model: Model, data: Data) -> None:
        """With ``update="epoch"``: weight flows on the whole graph."""
        if self.options.update == "call":
            return
        logits = None
        if self.options.fill == "entropy":
            with torch.no_grad():
                logits = model.eval()(whole(data).to(self.tar.weights.device))
        self.tar.advance(logits=logits)

    def node_weights(self) -> Tensor:
        """The density over all nodes, of mean one."""
        weights: Tensor = self.tar.weights
        return weights * len(weights)
