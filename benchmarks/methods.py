"""What a step of each method costs over a step of ERM: the figures of the README's table.

``python -m benchmarks.methods irm vrex`` measures those only and keeps the other entries of
docs/methods.json; then ``make tables``. Memory is read as Linux reports it.
"""

import json
import re
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

import torch

from benchmarks.training import side_by_side
from upwind import InputError, methods
from upwind.sampling import Batch
from upwind.train import load_data, resolve
from upwind.train.session import Session

OUT = Path(__file__).resolve().parents[1] / "docs" / "methods.json"
GRAPHS = ("twitch", "coauthor_cs")  # under covariate shift
TIMES = 5


def main(names: list[str] | None = None) -> None:
    """Measure, print, and write down after each row, on one thread."""
    found = json.loads(OUT.read_text()) if OUT.exists() else {}
    found |= {"machine": _machine(), "torch": torch.__version__}
    for source in GRAPHS:
        for name in names or methods.names():
            # A fresh process, whose peak is its own.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                try:
                    row = pool.submit(cost, name, source).result()
                except InputError as error:
                    print(f"left out {name} on {source}: {error}")
                    continue
            found.setdefault("costs", {}).setdefault(name, {})[source] = row
            print(f"{source:12} {name:12} {row['ratio']:6.2f} x  {row['peak_mib']:6} MiB")
            OUT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def cost(name: str, source: str) -> dict[str, Any]:
    """The peak of a process that trains by the method; then CPU time of a step over ERM's."""
    other = _session(name, source)
    batch = next(other.sampler.epoch())
    # What is done once an epoch is shared out over its steps.
    start = process_time()
    other.method.on_epoch_start(0)
    around = process_time() - start
    _step(other, batch)()
    start = process_time()
    other.method.on_epoch_end(other.model, other.data)
    around += process_time() - start
    peak = int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0]) / 1024

    plain = _session("erm", source)
    slow, fast = side_by_side(_step(other, batch), _step(plain, batch), TIMES)
    slow += around / len(plain.sampler)
    return {
        "ms": round(1e3 * slow),
        "erm_ms": round(1e3 * fast),
        "ratio": round(slow / fast, 3),
        "peak_mib": round(peak),
    }


def _session(name: str, source: str) -> Session:
    torch.set_num_threads(1)
    asked = {"source": source, "shift": "covariate", "method": name, "coverage": 1}
    data = load_data(asked)
    return Session(resolve(asked, data), data)


def _step(session: Session, batch: Batch) -> Callable[[], None]:
    def once() -> None:
        batch.memo.clear()
        session.model.train()
        session.method.on_step_start(0.5)
        session.optimiser.zero_grad()
        session.method.loss(session.model, batch).backward()
        session.optimiser.step()
        session.method.on_step_end(session.model, batch)

    return once


def _machine() -> str:
    models = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return f"{models[0] if models else 'unknown CPU'}, 1 thread"


if __name__ == "__main__":
    main(sys.argv[1:])
