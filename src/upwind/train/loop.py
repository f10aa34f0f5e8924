"""The training loop."""

import copy
import math
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from upwind.errors import RunError
from upwind.methods import row_losses
from upwind.sampling import Neighbour
from upwind.train import metrics
from upwind.train.session import Session

Record = dict[str, Any]
"""An epoch as a line of ``epochs.jsonl``."""


def train(session: Session, after_epoch: Callable[[Record], None]) -> None:
    """Train from where the session is to its last epoch, telling ``after_epoch`` of each."""
    config, model, method = session.config, session.model, session.method
    while session.epoch < config.epochs:
        epoch, clock = session.epoch, Clock()
        model.train()
        method.train()
        method.on_epoch_start(epoch)
        total = 0.0
        batches = session.sampler.epoch()
        for step in range(len(session.sampler)):
            batch = next(batches).to(session.device)
            clock.lap("sample")
            method.on_step_start((epoch + step / len(session.sampler)) / config.epochs)
            session.optimiser.zero_grad()
            loss = method.loss(model, batch)
            clock.lap("forward")
            loss.backward()  # type: ignore[no-untyped-call]
            clock.lap("backward")
            session.optimiser.step()
            clock.lap("optimise")
            method.on_step_end(model, batch)
            total += float(loss.detach())
            clock.lap("method")
        method.on_epoch_end(model, session.data)
        clock.lap("method")
        if not math.isfinite(total):
            raise RunError(
                f"the loss is no longer a number in epoch {epoch}; a lower lr may keep it finite "
                f"(now {config.lr:g})"
            )

        logits = predict(session)
        scores = evaluate(session, logits)
        if session.scheduler:
            session.scheduler.step(scores["val"]["loss"])
        if session.best.offer(epoch, scores):
            session.best_model = copy.deepcopy(model.state_dict())
        weights = method.node_weights()
        summary = None if weights is None else session.weight_log.record(epoch, weights)
        session.epoch += 1
        clock.lap("evaluate")
        after_epoch(
            {
                "epoch": epoch,
                "loss": total / len(session.sampler),
                "lr": session.optimiser.param_groups[0]["lr"],
                "scores": scores,
                "weights": summary,
                "seconds": clock.laps,
            }
        )


@torch.no_grad()
def predict(session: Session) -> dict[str, Tensor]:
    """Logits of every part of the split: from the whole graph, or if it is mapped, in batches."""
    session.model.eval()
    if session.whole is not None:
        logits = session.model(session.whole)
        rows = session.whole.n_id  # all nodes but those that a long tail removed
        return {name: logits[mask[rows]] for name, mask in session.splits.items()}
    config = session.config
    sizes = {name: getattr(config, name) for name in Neighbour.options}
    draws = Neighbour(session.data, seed=config.seed, **sizes)  # the same at every call
    return {
        name: torch.cat(
            [
                session.model(there)[there.seeds]
                for batch in draws.batches(mask.cpu().nonzero().flatten())
                if (there := batch.to(session.device))
            ]
        )
        for name, mask in session.splits.items()
    }


def evaluate(session: Session, logits: Mapping[str, Tensor]) -> dict[str, dict[str, float]]:
    """Every metric on every part of the split that has nodes."""
    found = {}
    for name, rows in logits.items():
        y = session.labels(name)
        found[name] = {**metrics.scores(rows, y), "loss": float(row_losses(rows, y).mean())}
    return found


class Clock:
    """Seconds by what they went into."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, name: str) -> None:
        """The time since the last lap went into this."""
        now = perf_counter()
        self.laps[name] = self.laps.get(name, 0.0) + now - self._last
        self._last = now
