"""A person's own graph: read, checked, and given a split."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch_geometric.data import Data

from upwind.data.arrays import read_npz
from upwind.data.assemble import MASKS, assemble
from upwind.data.check import check_graph
from upwind.data.check_split import check_split
from upwind.data.concept import concept_shift
from upwind.data.covariate import covariate_shift
from upwind.data.defects import Defect, Findings, node_name, settle
from upwind.data.domains import node_domains
from upwind.data.graphml import read_graphml
from upwind.data.saved import read_saved
from upwind.data.split import PARTS, Domains, mask_of, random_split, renumbered, with_split
from upwind.data.stored import is_stored, open_stored
from upwind.data.table_files import SUFFIXES
from upwind.data.tables import Columns, read_tables
from upwind.errors import InputError

METRICS = ("accuracy", "balanced_accuracy", "macro_f1", "roc_auc")
"""What a file may ask to be scored by; the last takes two classes."""

WRITTEN_SHIFTS = ("covariate", "concept", "none", "long_tail")
"""What a file that `save` wrote says of its split."""


def read_own(
    path: Path,
    *,
    shift: str | None,
    domain: str | ArrayLike | None,
    seed: int,
    balance: bool,
    training: bool,
    label_names: Sequence[str] | None,
    edges: Path | None,
    columns: Columns,
) -> Data:
    """The graph at this path, with a split; the options are those of `load`."""
    shift_in_file, metric = "given", ""
    found: list[Defect] = []
    if is_stored(path):  # checked when it was imported
        if edges is not None or columns:
            raise InputError(f"{path} was imported, and has neither columns nor an edge table.")
        data = _with_classes(open_stored(path), path, label_names)
    else:
        column = domain if isinstance(domain, str) else "domain" if domain is None else None
        fields, found = _read(path, edges, column, columns)
        shift_in_file, metric = (str(fields.pop(key, "")) for key in ("shift", "metric"))
        shift_in_file = shift_in_file if shift_in_file in WRITTEN_SHIFTS else "given"
        data, in_labels = assemble(fields, label_names)
        found = [*found, *in_labels, *check_graph(data), *_check_metric(data, metric)]
    if domain is None and getattr(data, "domain", None) is not None:
        domain = "domain"
    own_domain = domain in (None, "domain") and bool(shift) and hasattr(data, "domain_id")
    if own_domain and is_stored(path):  # numbered in the order of their names; -1 is missing
        domain = np.where(data.domain_id.numpy() < 0, np.nan, data.domain_id.numpy())

    has_split = any(getattr(data, mask, None) is not None for mask in MASKS)
    if shift is None and (has_split or not training):
        if training:
            found += [*_leave_unlabelled_out(data), *check_split(data)]
        if any(defect.severity == "error" for defect in found):
            settle(found, str(path))
        split = _own_split(data, domain, shift_in_file)
        settle(found, str(path))
    else:
        if getattr(data, "y", None) is None:
            found.append(Defect("no_labels", "error", "there are no labels", "give y, or a label"))
        if any(defect.severity == "error" for defect in found):
            settle(found, str(path))
        split = _new_split(data, shift, domain, seed, balance)
        if own_domain and is_stored(path):
            split.domain_names = [data.domain_names[int(name)] for name in split.domain_names]
        if shift is None:
            what = f"the file has no split, so a random one was made (60, 20, 20 %, seed {seed})"
            advice = "give masks or a split column, or choose a shift"
            found.append(Defect("no_split", "warning", what, advice))
        settle(found + check_split(split), str(path))

    split.name = path.stem
    split.metric = metric or "accuracy"
    split.num_classes = len(split.label_names)
    if getattr(split, "y", None) is None:
        split.y = torch.full((data.num_nodes,), -1)
    return split


def _with_classes(data: Data, path: Path, label_names: Sequence[str] | None) -> Data:
    """An imported graph with the classes that a model knows, in its order."""
    if label_names is None or list(label_names) == data.label_names:
        return data
    strange = sorted(set(data.label_names) - set(label_names))
    if strange:
        raise InputError(f"{path} has labels that the model does not know, first {strange[0]!r}.")
    if getattr(data, "y", None) is not None:
        code = [list(label_names).index(name) for name in data.label_names]
        data.y = torch.tensor([*code, -1])[data.y]
    data.label_names = list(label_names)
    return data


def _check_metric(data: Data, metric: str) -> list[Defect]:
    if metric in ("", *METRICS[:-1]) or (metric == METRICS[-1] and len(data.label_names) == 2):
        return []
    what = f"the metric is {metric!r}, with {len(data.label_names)} classes"
    advice = f"give {', '.join(METRICS[:-1])}, or with two classes {METRICS[-1]}"
    return [Defect("metric", "error", what, advice)]


def _read(
    path: Path, edges: Path | None, domain: str | None, columns: Columns
) -> tuple[dict[str, Any], list[Defect]]:
    if path.is_dir():
        path, edges = (only_file(path, stem) for stem in ("nodes", "edges"))
    name = path.name.lower()
    if name.endswith(SUFFIXES):
        if edges is None:
            raise InputError(f"{path} is a node table; name the edge table too (edges, --edges).")
        if not edges.exists():
            raise InputError(f"there is no file {edges}; check the path.")
        return read_tables(path, edges, domain, columns)
    if edges is not None:
        raise InputError(f"{path} is no table, so it needs no edge table; leave {edges} out.")
    if name.endswith(".graphml"):
        return read_graphml(path, domain, columns)
    if columns:
        raise InputError(f"{path} has no columns; leave out {', '.join(columns)}.")
    if name.endswith(".npz"):
        return read_npz(path), []
    if name.endswith((".pt", ".pth")):
        return read_saved(path), []
    kinds = ", ".join([".npz", ".pt", ".graphml", *SUFFIXES])
    raise InputError(f"{path} is no graph file that upwind knows; it reads {kinds}.")


def only_file(folder: Path, stem: str) -> Path:
    """The one table of this name in the folder."""
    files = sorted(folder / f"{stem}{suffix}" for suffix in SUFFIXES)
    there = [file for file in files if file.exists()]
    if len(there) != 1:
        raise InputError(
            f"{folder} has {len(there)} files called {stem} ({', '.join(SUFFIXES)}); it needs one."
        )
    return there[0]


def _leave_unlabelled_out(data: Data) -> list[Defect]:
    """Take nodes without a label out of the masks: nobody can score them."""
    if getattr(data, "y", None) is None or tuple(data.y.shape) != (data.num_nodes,):
        return []
    masks = {mask: getattr(data, mask, None) for mask in MASKS}
    fitting = {name: m for name, m in masks.items() if m is not None and m.shape == data.y.shape}
    lost = torch.zeros(data.num_nodes, dtype=torch.bool)
    for name, mask in fitting.items():
        lost |= mask & (data.y < 0)
        data[name] = mask & (data.y >= 0)
    found = Findings()
    found.each(
        "unlabelled",
        "warning",
        np.flatnonzero(lost.numpy()),
        "nodes of the split without a label",
        "they were left out of it",
        lambda node: f"node {node_name(data, node)}",
    )
    return found


def _own_split(data: Data, domain: str | ArrayLike | None, shift: str) -> Data:
    """The split of the file; where it names no environments, the domains are those."""
    domains = None
    if domain is not None:
        domains = node_domains(data, domain)
    elif getattr(data, "domain_id", None) is not None:
        ids = np.asarray(data.domain_id)
        names = getattr(data, "domain_names", None)
        known = names or [str(i) for i in range(int(ids.max(initial=-1)) + 1)]
        domains = Domains(ids, list(known))
    train = mask_of(data, "train").numpy()
    if getattr(data, "env_id", None) is not None:
        env_id = data.env_id.numpy()
        present = np.unique(env_id[train & (env_id >= 0)])
        if not np.array_equal(present, np.arange(len(present))):
            env_id = renumbered(np.where(train, env_id, -1))
    elif domains is not None:
        env_id = renumbered(np.where(train, domains.id, -1))
    else:
        env_id = np.full(data.num_nodes, -1)
    parts = {part: np.flatnonzero(mask_of(data, part).numpy()) for part in PARTS}
    return with_split(data, parts, env_id, shift=shift, domains=domains)


def _new_split(
    data: Data, shift: str | None, domain: str | ArrayLike | None, seed: int, balance: bool
) -> Data:
    if shift in (None, "none"):
        domains = None if domain is None else node_domains(data, domain)
        return random_split(data, seed=seed, domains=domains)
    if domain is None:
        raise InputError(
            f"a {shift} shift needs a domain; name a column of the graph, degree, word or "
            "pagerank (domain, on the command line --domain)."
        )
    make = covariate_shift if shift == "covariate" else concept_shift
    return make(data, domain, seed=seed, balance=balance)
