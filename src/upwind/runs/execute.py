"""Doing a run: from where its record stands to its result."""

import dataclasses
import io
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO

import numpy as np
import torch
from torch_geometric.data import Data

from upwind.errors import InputError
from upwind.runs import codec, files
from upwind.runs.environment import environment
from upwind.runs.record import Run, facts
from upwind.train import Config, load_data, resolve
from upwind.train.loop import Record, evaluate, predict, train
from upwind.train.metrics import calibration, probabilities
from upwind.train.selection import RULES, select
from upwind.train.session import Session, check

Watcher = Callable[[Record], None]


def execute(
    asked: Mapping[str, Any],
    *,
    root: Path = Path("runs"),
    checkpoint_seconds: float = 10.0,
    data: Data | None = None,
    watch: Watcher = lambda _: None,
) -> Run:
    """Train as asked and return the record; a run that is done is not done again.

    A run that was stopped goes on from its checkpoint and ends as if it had not been, to the
    last bit. Of two processes that start the same run the second waits for the first.

    Args:
        asked: Settings by the names of `upwind.train.Config`; what is left out is as published.
        root: The folder of runs.
        checkpoint_seconds: How much work may be lost; the result does not depend on it.
        data: The graph with its split, where the caller has loaded it already.
        watch: Told of every epoch.
    """
    if not checkpoint_seconds >= 0:
        raise InputError(f"checkpoint_seconds={checkpoint_seconds} must be 0 or more")
    data = load_data(asked) if data is None else data
    config = resolve(asked, data)
    check(config, data)
    run = Run.of(root, config, data)
    with files.disk_errors_said(run.folder):
        run.folder.mkdir(parents=True, exist_ok=True)
        with files.locked(run.folder / "lock"):
            run.check_settings(config)
            if not run.is_done:
                _do(run, config, data, asked, checkpoint_seconds, watch)
    return run


def _do(
    run: Run,
    config: Config,
    data: Data,
    asked: Mapping[str, Any],
    checkpoint_seconds: float,
    watch: Watcher,
) -> None:
    session = Session(config, data)
    files.write_json(
        run.folder / "config.json",
        {"asked": dict(asked), "config": dataclasses.asdict(config), "data": facts(data)},
    )
    files.write_json(run.folder / "environment.json", environment())
    checkpoint = run.folder / "checkpoint.safetensors"
    if checkpoint.exists():
        session.load_state_dict(codec.read(checkpoint))
    with open(run.folder / "epochs.jsonl", "a+b") as lines:
        _keep_lines(lines, session.epoch)
        saved = monotonic()

        def after_epoch(record: Record) -> None:
            nonlocal saved
            lines.write(json.dumps(record).encode() + b"\n")
            lines.flush()
            if monotonic() - saved >= checkpoint_seconds or session.epoch == config.epochs:
                os.fsync(lines.fileno())  # a checkpoint never knows more than the lines
                files.write(checkpoint, codec.encode(session.state_dict()))
                saved = monotonic()
            watch(record)

        train(session, after_epoch)
    _finish(run, session)


def _keep_lines(lines: BinaryIO, count: int) -> None:
    """Cut the file after so many lines: what came later is not in the checkpoint."""
    lines.seek(0)
    for _ in range(count):
        lines.readline()
    lines.truncate(lines.tell())
    lines.seek(0, os.SEEK_END)


def _finish(run: Run, session: Session) -> None:
    """Score the kept model and close the record."""
    epochs = list(run.epochs())
    rules = {rule: _outcome(epochs, rule, session.best.metric) for rule in RULES}
    files.write(run.folder / "model.safetensors", codec.encode(session.best_model))
    session.model.load_state_dict(session.best_model)
    logits = predict(session)
    curves = {
        name: dataclasses.asdict(calibration(session.labels(name), probabilities(rows)))
        for name, rows in logits.items()
    }
    if session.weight_log.trace:
        buffer = io.BytesIO()
        trace = torch.stack(session.weight_log.trace).numpy()
        arrays = {"epochs": np.array(session.weight_log.epochs), "weights": trace}
        if session.weight_log.nodes is not None:
            arrays["nodes"] = session.weight_log.nodes.numpy()
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        files.write(run.folder / "weights.npz", buffer.getvalue())
    reach = session.method.reach()
    files.write_json(
        run.folder / "result.json",
        {
            "metric": session.data.metric,
            "selected": session.config.select,
            "rules": rules,
            "scores": evaluate(session, logits),
            "calibration": curves,
            "weights": epochs[-1]["weights"],
            "reach": reach and {**dataclasses.asdict(reach), "says": str(reach)},
            "seconds": _total(epochs),
        },
    )
    files.write(run.folder / "done", b"")


def _outcome(epochs: list[Record], rule: str, metric: str) -> dict[str, Any] | None:
    """The epoch that a rule picks, and every part's scores there."""
    chosen = select(epochs, rule, metric)
    return None if chosen is None else {"epoch": chosen, "scores": epochs[chosen]["scores"]}


def _total(epochs: list[Record]) -> dict[str, float]:
    """Seconds by what they went into, over all epochs."""
    total: dict[str, float] = {}
    for record in epochs:
        for name, seconds in record["seconds"].items():
            total[name] = total.get(name, 0.0) + seconds
    return total
