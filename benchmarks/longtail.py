"""An epoch on the long-tailed sets: against dense features and PyG's GATConv, and of GraphENS."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import torch
from torch.nn.functional import cross_entropy, elu
from torch_geometric.data import Data
from torch_geometric.nn import GATConv

from upwind import InputError
from upwind.train import load_data, resolve
from upwind.train.loop import train
from upwind.train.metrics import scores
from upwind.train.session import Session

OUT = Path("out/bench/longtail.json")
SETS = ("cora_lt", "citeseer_lt", "pubmed_lt")
EPOCHS = 9


class Reference(torch.nn.Module):
    """The same network of PyG's layers."""

    def __init__(self, data: Data) -> None:
        super().__init__()
        self.first = GATConv(data.x.shape[1], 32, heads=8, dropout=0.6)
        self.second = GATConv(256, 32, heads=8, dropout=0.6)
        self.dropout = torch.nn.Dropout(0.5)
        self.classifier = torch.nn.Linear(256, data.num_classes)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        h = elu(self.second(elu(self.first(x, edge_index)), edge_index))
        return self.classifier(self.dropout(h))


def main() -> None:
    """Measure on one thread, print, and write it down."""
    torch.set_num_threads(1)
    rows = []
    for name in sys.argv[2:] or SETS:
        try:
            data = load_data({"source": name})
        except InputError as error:
            print(f"left out {name}: {error}")
            continue
        runs = {
            "PyG, dense": reference(data),
            "erm": ours(data, name, "erm"),
            "graphens": ours(data, name, "graphens"),
        }
        seconds = in_turns(runs)
        rows += [{"set": name, "what": what, "seconds": s} for what, s in seconds.items()]
        print(f"{name}: " + ", ".join(f"{what} {1e3 * s:.0f} ms" for what, s in seconds.items()))
        print(
            f"  PyG over erm {seconds['PyG, dense'] / seconds['erm']:.2f}, "
            f"graphens over erm {seconds['graphens'] / seconds['erm']:.2f}"
        )
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps({"threads": 1, "rows": rows}, indent=1) + "\n")


def reference(data: Data) -> Callable[[], None]:
    """An epoch as the public code has it: step, and scores of all parts from a second pass."""
    x = data.x.to_dense() / data.x.to_dense().sum(1, keepdim=True).clamp(min=1)
    model = Reference(data)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)

    def epoch() -> None:
        model.train()
        optimiser.zero_grad()
        logits = model(x, data.edge_index)[data.train_mask]
        cross_entropy(logits, data.y[data.train_mask]).backward()
        optimiser.step()
        with torch.no_grad():
            logits = model.eval()(x, data.edge_index)
        for part in ("train", "val", "test"):
            scores(logits[data[f"{part}_mask"]], data.y[data[f"{part}_mask"]])

    return epoch


def ours(data: Data, name: str, method: str) -> Callable[[], None]:
    """An epoch of the loop."""
    asked: dict[str, Any] = {"source": name, "method": method, "epochs": 10**6}
    session = Session(resolve(asked, data), data)

    class Enough(Exception):
        pass

    def stop(_: Any) -> None:
        raise Enough

    def epoch() -> None:
        try:
            train(session, stop)
        except Enough:
            return

    return epoch


def in_turns(runs: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Median CPU seconds of each, taken in turns; what GraphENS does after its warm-up."""
    for _ in range(6):
        for epoch in runs.values():
            epoch()
    spent: dict[str, list[float]] = {what: [] for what in runs}
    for _ in range(EPOCHS):
        for what, epoch in runs.items():
            start = process_time()
            epoch()
            spent[what].append(process_time() - start)
    return {what: median(seconds) for what, seconds in spent.items()}


if __name__ == "__main__":
    main()
