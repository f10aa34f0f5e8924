"""What a trained model says of a graph, perhaps another one than it was trained on."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from upwind import nets, sampling
from upwind.errors import InputError
from upwind.runs import codec, files
from upwind.runs.record import Run
from upwind.train.metrics import probabilities
from upwind.train.prepare import prepare
from upwind.train.session import outputs


def predict(
    run: Run, data: Data, *, backbone: str | None = None
) -> dict[str, np.ndarray[Any, Any]]:
    """Columns ``node, label, confidence`` and one probability per class, a row per node.

    A model on a module of somebody's own is imported only if ``backbone`` names that module: a
    record from elsewhere must not choose what code runs here.
    """
    if not run.is_done:
        raise InputError(f"{run.folder} is not finished; give its command again to go on")
    config, trained = run.config, run.data
    if data.x.shape[1] != trained["features"]:
        raise InputError(
            f"the model was trained on {trained['features']} features per node ({trained['name']}),"
            f" and this graph has {data.x.shape[1]}"
        )
    if ":" in config.backbone and backbone != config.backbone:
        raise InputError(
            f"this run's network is {config.backbone}, code that did not come with upwind; to "
            f"import it say --backbone {config.backbone}"
        )
    prepared = prepare(data, row_normalise=config.row_normalise)
    size = outputs(Data(metric=trained["metric"], num_classes=trained["classes"]))
    model = nets.build(config.backbone, trained["features"], size, dataclasses.asdict(config))
    path = run.folder / "model.safetensors"
    try:
        model.load_state_dict(codec.read(path))
    except (OSError, RuntimeError) as error:
        raise InputError(f"{path} does not hold this run's model: {error}") from None
    model.eval()
    with torch.no_grad():
        probability = probabilities(model(_batch(prepared)))
    confidence, label = probability.max(1)
    names = np.array(trained["label_names"])
    columns = {
        "node": np.array(getattr(data, "node_names", None) or range(len(label))),
        "label": names[label.numpy()],
        "confidence": confidence.numpy(),
    }
    for name, column in zip(names, probability.numpy().T, strict=True):
        columns[f"probability_{name}"] = column
    return columns


def save(columns: dict[str, np.ndarray[Any, Any]], path: Path) -> None:
    """Write the columns as Parquet or CSV, by the file's ending."""
    import io

    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    writers = {".parquet": pyarrow.parquet.write_table, ".csv": pyarrow.csv.write_csv}
    if path.suffix not in writers:
        raise InputError(f"{path}: predictions are written as .parquet or .csv")
    buffer = io.BytesIO()
    writers[path.suffix](pa.table(columns), buffer)
    with files.disk_errors_said(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, buffer.getvalue())


def _batch(data: Data) -> sampling.Batch:
    """The whole graph, with no label and no part of a split asked for."""
    bare = Data(x=data.x, edge_index=data.edge_index, edge_weight=data.edge_weight)
    bare.y = torch.full((data.num_nodes,), -1)
    bare.train_mask = torch.zeros(data.num_nodes, dtype=torch.bool)
    bare.env_id = bare.y
    return sampling.whole(bare)
