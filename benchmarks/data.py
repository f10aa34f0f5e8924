"""How long it takes to make a split, and to load a large graph from Parquet.

    python -m benchmarks.data

Prints a table and writes ``out/bench/data.json``. Data sets whose raw files are not at hand (see
UPWIND_DATA) are left out.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

OUT = Path("out/bench/data.json")
NODES, EDGES, FEATURES = 1_000_000, 10_000_000, 16
REPEATS = 3


def main() -> None:
    rows = [*split_times(), parquet_time()]
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps({"rows": rows}, indent=2))
    print(f"{'what':58} {'seconds':>8} {'target':>7} {'peak MB':>8} {'target':>7}")
    for row in rows:
        peak = row.get("peak_mb")
        memory = f"{peak:8,.0f} {row['peak_mb_target']:7,.0f}" if peak else ""
        print(f"{row['what']:58} {row['seconds']:8.2f} {row['seconds_target']:7.0f} {memory}")
    print(f"The load took {rows[-1]['cpu_seconds']:.1f} s of processor time; written to {OUT}")


def split_times() -> list[dict[str, Any]]:
    """The best of three, for the split alone and for all of `load`."""
    from upwind.data import CATALOG, concept_shift, covariate_shift, load
    from upwind.data.raw import RawFiles
    from upwind.errors import InputError

    rows = []
    for name in ("webkb", "twitch", "dblp", "coauthor_cs"):
        entry = CATALOG[name]
        assert entry.read is not None
        try:
            graph = entry.read(RawFiles())
        except InputError as error:
            print(f"{name} left out: {error}", file=sys.stderr)
            continue
        domain, balance = entry.domains[0], entry.balance
        tasks: dict[str, Callable[[], object]] = {
            "covariate split": lambda: covariate_shift(graph, domain, balance=balance),  # noqa: B023
            "concept split": lambda: concept_shift(graph, domain, bias=entry.bias),  # noqa: B023
            "load, concept shift": lambda: load(name, shift="concept"),  # noqa: B023
        }
        for what, task in tasks.items():
            seconds = min(_timed(task) for _ in range(REPEATS))
            size = f"{graph.num_nodes:,} nodes"
            rows.append(
                {"what": f"{name} ({size}): {what}", "seconds": seconds, "seconds_target": 5}
            )
    return rows


def parquet_time() -> dict[str, Any]:
    """Write and load in processes of their own, so that the peak is that of import and load."""
    with tempfile.TemporaryDirectory() as folder:
        answers = [
            subprocess.run(
                [sys.executable, "-m", "benchmarks.data", step, folder],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            ).stdout
            for step in ("write", "load")
        ]
    return {
        "what": f"load {NODES:,} nodes, {EDGES:,} edges from Parquet",
        **json.loads(answers[-1]),
        "seconds_target": 30,
        "peak_mb_target": 4000,
    }


def _timed(task: Callable[[], object]) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def _write(folder: str) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pa_parquet

    rng = np.random.default_rng(0)
    ids = np.char.add("user-", rng.permutation(NODES).astype(str))
    nodes = {"id": ids, "label": rng.integers(0, 10, NODES), "domain": rng.integers(0, 50, NODES)}
    nodes |= {f"f{i}": rng.random(NODES, dtype=np.float32) for i in range(FEATURES)}
    pa_parquet.write_table(pa.table(nodes), f"{folder}/nodes.parquet")
    ends = {name: ids[rng.integers(0, NODES, EDGES)] for name in ("source", "target")}
    pa_parquet.write_table(pa.table(ends), f"{folder}/edges.parquet")


def _load(folder: str) -> None:
    from upwind.data import load

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # random edges are directed, and more
        start = time.process_time()
        seconds = _timed(lambda: load(folder, shift="covariate"))
        cpu = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak_mb = peak / (2**20 if sys.platform == "darwin" else 2**10)
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu, "peak_mb": peak_mb}))


if __name__ == "__main__":
    steps = {"write": _write, "load": _load}
    steps[sys.argv[1]](sys.argv[2]) if len(sys.argv) > 1 else main()
