"""A graph larger than one would load: imported, trained on, and how much memory that takes.

    python -m benchmarks.large [NODES [EDGES]]

Makes a graph (10 million nodes, 100 million directed edges, 32 features unless told otherwise) as
two Parquet tables, imports it, and trains one epoch of ERM and of TAR on it, each step in a process
of its own. Prints a table, and the flow's time per edge beside that of a small graph; writes
``out/bench/large.json``. Takes 6 GB of disk in the folder for temporary files.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

OUT = Path("out/bench/large.json")
NODES, EDGES, FEATURES, CLASSES = 10_000_000, 100_000_000, 32, 8
SPLIT = {"train": 100_000, "val": 20_000, "test": 20_000}
PIECE = 1_000_000
SMALL = 100  # times smaller is the graph that the flow's time per edge is compared with
TRAIN = "--sampler neighbour --batch_size 4096 --fanout 10 --layers 2 --hidden 64 --epochs 1"


def main(nodes: int = NODES, edges: int = EDGES) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size, graph in ((1, "large"), (SMALL, "small")):
            make(folder / graph, nodes // size, edges // size)
        for graph in ("large", "small"):
            upwind = ["import", f"{folder}/{graph}", f"{folder}/{graph}.upwind", "--undirected"]
            rows.append({"what": f"import, {graph}", **_measured("upwind", *upwind)})
        for method in ("erm", "tar:update=epoch"):
            options = TRAIN.replace("_", "-").split()
            words = ["train", f"{folder}/large.upwind", "--method", method, *options]
            step = _measured("upwind", *words, "--runs", f"{folder}/runs", "--json")
            rows.append({"what": f"train an epoch, {method}", **step})
        for graph in ("large", "small"):
            step = _measured("benchmarks.large", "flow", f"{folder}/{graph}.upwind")
            rows.append({"what": f"flow of ten steps, {graph}", **step})
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps({"nodes": nodes, "edges": edges, "rows": rows}, indent=2))
    print(f"{nodes:,} nodes, {edges:,} directed edges, {FEATURES} features")
    print(f"{'what':36} {'seconds':>9} {'of processor':>13} {'peak GB':>8}")
    for row in rows:
        took = f"{row['seconds']:9.1f} {row['cpu_seconds']:13.1f}"
        print(f"{row['what']:36} {took} {row['peak_gb']:8.2f}")
    large, small = (json.loads(row["said"])["ns"] for row in rows[-2:])
    print(f"flow: {large:.2f} and {small:.2f} ns per edge and step, ratio {large / small:.2f}")


def make(folder: Path, nodes: int, edges: int) -> None:
    """Two Parquet tables, some rows at a time; half as many edges as are asked for, one way.

    Classes are blocks of ids. Seven edges in ten go a short way, the others anywhere, so that
    neighbours mostly share a class; features are a mean a class and noise.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pa_parquet

    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    means = rng.standard_normal((CLASSES, FEATURES), dtype=np.float32)
    parts = np.zeros(nodes, np.int8)
    wanted = np.cumsum([0, *SPLIT.values()])
    chosen = rng.permutation(nodes)[: wanted[-1]]
    sizes = wanted * len(chosen) // wanted[-1]
    for number, (first, last) in enumerate(pairwise(sizes), start=1):
        parts[chosen[first:last]] = number
    words = np.array(["", *SPLIT])

    def node_rows(first: int, last: int) -> dict[str, Any]:
        label = np.arange(first, last) * CLASSES // nodes
        x = means[label] + 2 * rng.standard_normal((last - first, FEATURES), dtype=np.float32)
        columns = {"id": np.arange(first, last), "label": label, "split": words[parts[first:last]]}
        flat = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), FEATURES)
        return {**columns, "x": flat}

    def edge_rows(first: int, last: int) -> dict[str, Any]:
        source = rng.integers(0, nodes, last - first)
        near = (source + 1 + rng.geometric(0.01, last - first)) % nodes
        target = np.where(
            rng.random(last - first) < 0.7, near, rng.integers(0, nodes, last - first)
        )
        return {"source": source, "target": target}

    for name, count, rows in (("nodes", nodes, node_rows), ("edges", edges // 2, edge_rows)):
        writer = None
        for first in range(0, count, PIECE):
            piece = pa.table(rows(first, min(first + PIECE, count)))
            writer = writer or pa_parquet.ParquetWriter(folder / f"{name}.parquet", piece.schema)
            writer.write_table(piece)
        assert writer is not None
        writer.close()


def _measured(module: str, *words: str) -> dict[str, Any]:
    """What a process took: seconds, and the most memory it held, mapped files included."""
    start = time.perf_counter()
    command = [sys.executable, "-m", module, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    seconds = time.perf_counter() - start
    cpu = usage.ru_utime + usage.ru_stime
    peak = usage.ru_maxrss / 2**20
    return {"seconds": seconds, "cpu_seconds": cpu, "peak_gb": peak, "said": said}


def _flow(graph: str) -> None:
    """Nanoseconds of one thread per edge and step of the flow, the best of three."""
    import torch

    from upwind.data import load
    from upwind.flow import Graph, gradient_flow

    torch.set_num_threads(1)  # its own time can be told apart from what others on the machine do
    data = load(graph, training=False)
    flow_graph = Graph.from_edge_index(data.edge_index, data.num_nodes)
    losses = torch.rand(data.num_nodes, generator=torch.Generator().manual_seed(0))
    best = float("inf")
    gradient_flow(flow_graph, losses, steps=1)
    for _ in range(3):
        start = time.process_time()
        gradient_flow(flow_graph, losses, steps=10)
        best = min(best, time.process_time() - start)
    print(json.dumps({"ns": best / 10 / flow_graph.num_edges * 1e9}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["flow"]:
        _flow(sys.argv[2])
    else:
        main(*map(int, sys.argv[1:]))
