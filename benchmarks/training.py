"""What a training step costs: each number beside the one it is to be compared with, in one run."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import torch
from torch.nn.functional import batch_norm
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv as ReferenceConv

from upwind import InputError
from upwind.methods import row_losses
from upwind.nets.dropout import Dropout
from upwind.nets.gcn import GCNConv
from upwind.nets.propagate import gcn_operator
from upwind.sampling import Batch
from upwind.sparse import product, take_rows
from upwind.train import load_data, resolve
from upwind.train.loop import train
from upwind.train.session import Session

OUT = Path("out/bench/training.json")
Row = dict[str, Any]


def main() -> None:
    """Measure on one thread, print, and write it down."""
    torch.set_num_threads(1)
    rows = [*first_layer(), *convolution(), *steps(), *whole_run(), *many_seeds()]
    width = max(len(row["what"]) for row in rows)
    print(f"{'what':{width}}  {'ms':>9}  {'against':>9}  {'ratio':>7}")
    for row in rows:
        print(
            f"{row['what']:{width}}  {row['ms']:9.2f}  {row['against']:9.2f}  {row['ratio']:7.3f}"
        )
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps({"threads": torch.get_num_threads(), "rows": rows}, indent=1) + "\n")


def first_layer() -> list[Row]:
    """X W of a batch, forward and gradient: dense features over sparse ones."""
    data = _load("coauthor_cs", "covariate")
    if data is None:
        return []
    dense, batch = data.x.to_dense(), torch.randperm(data.num_nodes)[:4096].sort().values
    weight = torch.randn(data.x.shape[1], 300, requires_grad=True)
    towards = torch.randn(4096, 300)

    def step(x: torch.Tensor) -> None:
        part = take_rows(x, batch)
        out = product(part, weight) if x.layout == torch.sparse_csr else part @ weight
        torch.autograd.grad(out, weight, towards)

    slow, fast = side_by_side(lambda: step(dense), lambda: step(data.x), 5)
    return [_row("first layer on Coauthor-CS, 4,096 rows: dense over sparse", slow, fast)]


def convolution() -> list[Row]:
    """A graph convolution of width 300, forward and gradient: PyG's over ours."""
    data = generated(34_120, 25)
    x = torch.randn(data.num_nodes, 300, requires_grad=True)
    reference, ours = ReferenceConv(300, 300), GCNConv(300, 300)
    towards = torch.randn_like(x)

    def theirs() -> None:
        torch.autograd.grad(reference(x, data.edge_index), x, towards)

    def mine() -> None:
        operator = gcn_operator(data.edge_index, None, int(data.num_nodes))
        torch.autograd.grad(ours(x, operator), x, towards)

    slow, fast = side_by_side(theirs, mine, 3)
    return [_row("convolution of Twitch's size: PyG's over ours", slow, fast)]


def steps() -> list[Row]:
    """A step of TAR over a step of ERM on the same batches."""
    graphs = {
        "Twitch": _load("twitch", "covariate"),
        "DBLP-word": _load("dblp", "covariate"),
        "Coauthor-CS": _load("coauthor_cs", "covariate"),
        "170k generated": generated(170_000, 14),
    }
    rows = []
    for name, data in graphs.items():
        if data is not None:
            for method in ("tar", "tar:update=epoch"):
                rows.append(_step(name, data, method))
    return rows


def _step(name: str, data: Data, method: str) -> Row:
    plain, weighted = (
        Session(resolve({"source": name, "method": spec, "coverage": 1}, data), data)
        for spec in ("erm", method)
    )
    batch = next(plain.sampler.epoch())

    def step(session: Session) -> Callable[[], None]:
        def once() -> None:
            batch.memo.clear()
            session.optimiser.zero_grad()
            session.method.loss(session.model, batch).backward()
            session.optimiser.step()

        return once

    slow, fast = side_by_side(step(weighted), step(plain), 9)
    # What is done once an epoch is shared out over its steps.
    start = process_time()
    weighted.method.on_epoch_end(weighted.model, data)
    slow += (process_time() - start) / len(weighted.sampler)
    return _row(f"{name}: step of {method} over ERM", slow, fast)


def whole_run() -> list[Row]:
    """A full ERM run on WebKB: time outside forward, backward and optimiser over all of it."""
    data = _load("webkb", "covariate")
    if data is None:
        return []
    spent: dict[str, float] = {}

    def add(record: dict[str, Any]) -> None:
        for part, seconds in record["seconds"].items():
            spent[part] = spent.get(part, 0.0) + seconds

    start = perf_counter()  # the clock that the loop's own laps go by
    train(Session(resolve({"source": "webkb"}, data), data), add)
    total = perf_counter() - start
    inside = sum(spent[part] for part in ("forward", "backward", "optimise"))
    shares = {part: seconds / total for part, seconds in spent.items()}
    row = _row("ERM on WebKB: outside forward, backward, optimiser", total - inside, total)
    return [row | {"shares": shares}]


def many_seeds(count: int = 5) -> list[Row]:
    """A step of ERM on CBAS for several seeds: one after the other over one batched program."""
    data = load_data({"source": "cbas", "shift": "covariate"})
    config = resolve({"source": "cbas", "sampler": "full"}, data)
    sessions = [Session(replace(config, seed=seed), data) for seed in range(count)]
    batch = next(sessions[0].sampler.epoch())
    together = _Together(sessions, batch)
    optimiser = torch.optim.Adam(together.parameters, lr=config.lr, fused=True)

    def apart() -> None:
        for session in sessions:
            session.optimiser.zero_grad()
            session.method.loss(session.model, batch).backward()
            session.optimiser.step()

    def at_once() -> None:
        optimiser.zero_grad()
        together.loss().backward()
        optimiser.step()

    slow, fast = side_by_side(apart, at_once, 15)
    return [_row(f"step of {count} seeds on CBAS: one by one over batched", slow, fast)]


class _Together:
    """The same networks with their parameters stacked, on as many copies of the graph."""

    def __init__(self, sessions: list[Session], batch: Batch) -> None:
        models = [session.model for session in sessions]
        states = [model.state_dict() for model in models]
        self.stacked = {
            name: torch.stack([state[name] for state in states]).requires_grad_()
            for name, _ in models[0].named_parameters()
        }
        self.parameters = list(self.stacked.values())
        self.layers = len(models[0].encoder.convolutions)
        self.batch, self.count = batch, len(models)
        copies = [batch.edge_index + i * batch.num_nodes for i in range(self.count)]
        rows = self.count * batch.num_nodes
        self.operator = gcn_operator(torch.cat(copies, 1), None, rows)
        self.dropout = Dropout(0.5)

    def loss(self) -> torch.Tensor:
        """Sum of the networks' losses, so that each gets its own gradient."""
        rows, p = self.batch.num_nodes, self.stacked
        h = self.batch.x.expand(self.count, -1, -1)
        for i in range(self.layers):
            name = f"encoder.convolutions.{i}"
            h = h @ p[f"{name}.linear.weight"]
            h = product(self.operator, h.flatten(0, 1)).view(self.count, rows, -1)
            h = h + p[f"{name}.bias"][:, None]
            scale, shift = (p[f"encoder.norms.{i}.{part}"] for part in ("weight", "bias"))
            # Every network's features side by side: batch norm goes over the nodes of each alone.
            side = h.transpose(0, 1).flatten(1)
            side = batch_norm(side, None, None, scale.flatten(), shift.flatten(), training=True)
            h = side.view(rows, self.count, -1).transpose(0, 1)
            h = self.dropout(h if i == self.layers - 1 else h.relu())
        logits = h @ p["classifier.weight"].mT + p["classifier.bias"][:, None]
        mask = self.batch.mask
        y = self.batch.y[mask].expand(self.count, -1)
        each = row_losses(logits[:, mask].flatten(0, 1), y.flatten())
        return (self.batch.node_norm[mask] * each.view(self.count, -1)).sum()


def side_by_side(
    one: Callable[[], None], two: Callable[[], None], times: int
) -> tuple[float, float]:
    """Median CPU seconds of each, taken in turns: a busy machine slows both alike."""
    spent: tuple[list[float], list[float]] = ([], [])
    for _ in range(times + 1):
        for what, seconds in zip((one, two), spent, strict=True):
            start = process_time()
            what()
            seconds.append(process_time() - start)
    first, second = (median(seconds[1:]) for seconds in spent)
    return first, second


def generated(nodes: int, degree: int) -> Data:
    """A random graph with a heavy tail of degrees, 128 features, 40 classes, half in training."""
    random = torch.Generator().manual_seed(0)
    rank = torch.rand(2, nodes * degree // 2, generator=random)
    ends = (nodes * rank**1.5).long()
    y = torch.randint(0, 40, (nodes,), generator=random)
    half = torch.arange(nodes) % 2 == 0
    empty = torch.zeros(nodes, dtype=torch.bool)
    return Data(
        x=torch.randn(nodes, 128, generator=random),
        edge_index=torch.cat([ends, ends.flip(0)], 1),
        y=y,
        env_id=torch.full((nodes,), -1),
        train_mask=half,
        val_mask=~half,
        test_mask=~half,
        id_val_mask=empty,
        id_test_mask=empty,
        name="generated",
        shift="none",
        metric="accuracy",
        num_classes=40,
        num_envs=0,
        num_nodes=nodes,
    )


def _load(source: str, shift: str) -> Data | None:
    """The data set, where its raw files are."""
    try:
        return load_data({"source": source, "shift": shift})
    except InputError as error:
        print(f"left out {source}: {error}")
        return None


def _row(what: str, seconds: float, against: float) -> Row:
    return {
        "what": what,
        "ms": 1e3 * seconds,
        "against": 1e3 * against,
        "ratio": seconds / against,
    }


if __name__ == "__main__":
    main()
