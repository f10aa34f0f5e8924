"""What ``+`` means: margins on the logits add, weights on the losses multiply.

    loss = sum_i s_i  prod_k w_ki  loss(z_i + sum_k m_ki, y_i)

over the training rows i of the batch, with s_i the sampler's node norm and k over the methods
added up. A method that is a `Summand` says its margins m, its weights w, or what rows to
synthesise; one that says nothing of these is `ERM`, the zero of this sum.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from upwind.errors import InputError
from upwind.flow.reach import Reach
from upwind.methods._base import Method, get
from upwind.methods._losses import row_losses
from upwind.nets import Model
from upwind.sampling import Batch


@dataclass(frozen=True)
class Step:
    """A batch, and what the model says of it.

    Attributes:
        model: In training mode.
        batch: With the synthesised rows, if any.
        logits: Of every row.
        margins: What is added to the logits of the training rows, one column per class.
    """

    model: Model
    batch: Batch
    logits: Tensor
    margins: Tensor | None = None

    def losses(self, logits: Tensor | None = None) -> Tensor:
        """The loss of each training row, by these logits or by the step's own."""
        rows = (self.logits if logits is None else logits)[self.batch.mask]
        margins = self.margins
        if margins is not None:
            rows = rows + (margins if rows.shape[1] > 1 else margins[:, 1:] - margins[:, :1])
        return row_losses(rows, self.batch.y[self.batch.mask])


class Summand(Method):
    """A method that may stand on either side of a ``+``."""

    def synthesise(self, batch: Batch) -> Batch:
        """The batch to train on; new rows come last, and ``n_id`` says what each was made from."""
        return batch

    def margins(self, step: Step) -> Tensor | None:  # noqa: ARG002
        """What to add to the logits of the training rows, ``[rows, classes]``."""
        return None

    def weights(self, step: Step, losses: Tensor) -> Tensor | None:  # noqa: ARG002
        """What to multiply the losses of the training rows by; about one on average."""
        return None

    def loss(self, model: Model, batch: Batch) -> Tensor:
        """The sum of this one alone."""
        return _loss([self], model, batch)


@final
class Sum(Method):
    """Several summands as one method. It has no name and no options of its own."""

    def __init__(self, parts: Sequence[Summand]) -> None:
        super().__init__(None)
        self.parts: Any = nn.ModuleList(parts)

    def loss(self, model: Model, batch: Batch) -> Tensor:
        """A scalar."""
        return _loss(list(self.parts), model, batch)

    def node_weights(self) -> Tensor | None:
        """The product of the parts', with mean one."""
        total: Tensor | None = None
        for part in self.parts:
            if (weights := part.node_weights()) is not None:
                total = weights if total is None else total * weights
        return None if total is None else total / total.mean()

    def reach(self) -> Reach | None:
        """That of the part that moves weights."""
        return next((found for part in self.parts if (found := part.reach())), None)

    def on_start(self, model: Model, data: Data) -> None:
        """Passed on, like every hook."""
        for part in self.parts:
            part.on_start(model, data)

    def on_epoch_start(self, epoch: int) -> None:
        """Passed on."""
        for part in self.parts:
            part.on_epoch_start(epoch)

    def on_step_start(self, progress: float) -> None:
        """Passed on."""
        for part in self.parts:
            part.on_step_start(progress)

    def on_step_end(self, model: Model, batch: Batch) -> None:
        """Passed on."""
        for part in self.parts:
            part.on_step_end(model, batch)

    def on_epoch_end(self, model: Model, data: Data) -> None:
        """Passed on."""
        for part in self.parts:
            part.on_epoch_end(model, data)


def _loss(parts: Sequence[Summand], model: Model, batch: Batch) -> Tensor:
    for part in parts:
        batch = part.synthesise(batch)
    step = Step(model, batch, model(batch))
    margins = [m for part in parts if (m := part.margins(step)) is not None]
    if margins:
        step = Step(model, batch, step.logits, torch.stack(margins).sum(0))
    losses = step.losses()
    total = batch.node_norm[batch.mask] * losses
    for part in parts:
        if (weights := part.weights(step, losses.detach())) is not None:
            total = total * weights
    return total.sum()


def build(options: Mapping[str, Mapping[str, Any]]) -> Method:
    """The method with these resolved options; of several, their sum."""
    if not options:
        raise InputError("no method was named")
    kinds = {name: get(name) for name in options}
    for name, kind in kinds.items():
        if len(kinds) > 1 and not issubclass(kind, Summand):
            raise InputError(f"{name} brings its own loss and does not add up with others")
    built = [kind(kind.Options(**options[name])) for name, kind in kinds.items()]
    return built[0] if len(built) == 1 else Sum(built)  # type: ignore[arg-type]
