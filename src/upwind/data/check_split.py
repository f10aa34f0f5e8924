"""What can be wrong with the parts of a split, and with the classes in them."""

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from upwind.data.defects import Defect, Findings, node_name
from upwind.data.split import PARTS, mask_of


def check_split(data: Data) -> list[Defect]:
    """The defects of the masks, the environments and the classes of the training set."""
    n, y = data.num_nodes, getattr(data, "y", None)
    shapes = {part: tuple(mask_of(data, part).shape) for part in PARTS}
    wrong = [
        Defect(
            "mask_shape",
            "error",
            f"{part}_mask has shape {shape}, and there are {n} nodes",
            "give one value a node; of several splits choose one column",
        )
        for part, shape in shapes.items()
        if shape != (n,)
    ]
    if y is None:
        return [*wrong, Defect("no_labels", "error", "there are no labels", "give y")]
    if wrong or tuple(y.shape) != (n,) or y.is_floating_point():
        return wrong

    found = Findings()

    def each(code: str, places: NDArray[np.bool_], what: str, advice: str) -> None:
        nodes = np.flatnonzero(places)
        found.each(code, "error", nodes, what, advice, lambda node: f"node {node_name(data, node)}")

    masks = {part: mask_of(data, part).numpy() for part in PARTS}
    labels = y.numpy()
    everywhere = np.sum([*masks.values()], axis=0)
    each("overlap", everywhere > 1, "nodes in two parts of the split", "let masks share no node")
    each(
        "unlabelled",
        (everywhere > 0) & (labels < 0),
        "nodes without a label in a part of the split",
        "label them or take them out of the masks",
    )
    train = masks["train"] & (labels >= 0)
    if not train.any():
        advice = "give train_mask or a split column, or choose a shift"
        found.append(Defect("no_training", "error", "the training set is empty", advice))
        return found
    found += _check_classes(data, labels[train])
    for code, parts, what, advice in (
        ("no_validation", ("val", "id_val"), "validation", "there is nothing to choose a model by"),
        ("no_test", ("test", "id_test"), "test", "there is no honest estimate of the model"),
    ):
        if not any(masks[part].any() for part in parts):
            what = f"the {what} set is empty"
            found.append(Defect(code, "warning", what, f"{advice}: set some nodes apart"))
    env_id = getattr(data, "env_id", None)
    if env_id is not None and tuple(env_id.shape) == (n,):
        stray = train & (env_id.numpy() < 0)
        if not stray[train].all():
            advice = "give an environment to all of them or to none"
            each("no_environment", stray, "training nodes without an environment", advice)
    return found


def _check_classes(data: Data, training_labels: NDArray[np.int64]) -> list[Defect]:
    names = getattr(data, "label_names", None) or []
    if int(data.y.max()) >= max(data.num_nodes, len(names)):
        return []  # out of range, which is a defect of the labels; a count could be of any size
    sizes = np.bincount(training_labels, minlength=max(len(names), int(data.y.max()) + 1))
    missing = np.flatnonzero(sizes == 0)
    if len(sizes) - len(missing) < 2:
        what = "the training set has a single class"
        return [Defect("one_class", "error", what, "train on two classes or more")]
    found = Findings()
    found.each(
        "empty_class",
        "warning",
        missing,
        "classes without a training node",
        "the model can hardly ever predict them; add examples, or merge them with others",
        lambda label: f"class {names[label] if label < len(names) else label}",
    )
    return found
