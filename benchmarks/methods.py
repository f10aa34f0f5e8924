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
    costs = found.setdefault("costs", {})
    for source in GRAPHS:
        plain = _apart(peak, "erm", source)
        for name in names or methods.names():
            try:
                row = _apart(time, name, source)
                row["memory_mib"] = round(_apart(peak, name, source) - plain)
            except InputError as error:
                print(f"left out {name} on {source}: {error}")
                continue
            costs.setdefault(name, {})[source] = row
            print(f"{source:12} {name:12} {row['ratio']:6.2f} x  {row['memory_mib']:+6} MiB")
            OUT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def time(name: str, source: str) -> dict[str, Any]:
    """CPU time of a step over that of ERM on the same batch, taken in turns."""
    plain, other = _session("erm", source), _session(name, source)
    batch = next(plain.sampler.epoch())
    # What is done once an epoch is shared out over its steps.
    start = process_time()
    other.method.on_epoch_start(0)
    around = process_time() - start
    slow, fast = side_by_side(_step(other, batch), _step(plain, batch), TIMES)
    start = process_time()
    other.method.on_epoch_end(other.model, other.data)
    slow += (around + process_time() - start) / len(plain.sampler)
    return {"ms": round(1e3 * slow), "erm_ms": round(1e3 * fast), "ratio": round(slow / fast, 3)}


def peak(name: str, source: str) -> float:
    """The most memory, in MiB, that this process held until the end of an epoch's two steps."""
    session = _session(name, source)
    session.method.on_epoch_start(0)
    batches = session.sampler.epoch()
    for _ in range(2):
        _step(session, next(batches))()
    session.method.on_epoch_end(session.model, session.data)
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024


def _apart(what: Callable[[str, str], Any], name: str, source: str) -> Any:
    """The answer of a fresh process, whose peak is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(what, name, source).result()


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
