"""What ``upwind datasets`` says: the catalogue, or one graph with its split."""

import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from torch_geometric.data import Data

from upwind.data.catalog import CATALOG, DataSet
from upwind.data.defects import warnings_on_stderr
from upwind.data.load import load
from upwind.data.picture import draw, kind_of_split, most_frequent
from upwind.data.split import part_sizes
from upwind.data.strength import Strength, shift_strength


def list_data_sets(as_json: bool = False) -> None:
    """Print the catalogue, as a table or as one JSON document."""
    if as_json:
        _print_json([_entry(entry) for entry in CATALOG.values()])
        return
    table = Table("name", "what", title="Data sets", title_justify="left", box=None)
    for heading in ("nodes", "edges", "features", "classes"):
        table.add_column(heading, justify="right")
    for heading in ("domains", "environments", "licence", "from"):
        table.add_column(heading)
    for entry in CATALOG.values():
        figures = [f"{figure:,}" for figure in entry.size]
        envs = ", ".join(f"{n} {shift}" for shift, n in entry.envs.items() if shift != "none")
        table.add_row(
            entry.name,
            entry.title,
            *figures,
            ", ".join(entry.domains) or "-",
            envs or "-",
            entry.licence,
            entry.origin,
        )
    console = _console()
    console.print(table)
    for entry in CATALOG.values():
        if entry.note:
            console.print(f"{entry.name}: {entry.note}.")


def show_data_set(
    source: str, *, picture: Path | None = None, as_json: bool = False, **options: Any
) -> None:
    """Print a graph's split and how strong its shift is, and save the picture of it.

    Args:
        source: A data set's name or a path, as for `load`.
        picture: Where to save the picture; by default NAME_SHIFT.png in the current folder.
        as_json: Print one JSON document and nothing else.
        **options: Those of `load`.
    """
    busy = Console(stderr=True).status(f"reading {source}")  # silent where nobody watches
    with busy, warnings_on_stderr():
        data = load(source, **options)
        busy.update(f"measuring {data.name}")
        strength = shift_strength(data)
        drawn = draw(data, strength, picture or Path(f"{data.name}_{data.shift}.png"))
    if as_json:
        _print_json(_summary(data, strength) | {"picture": str(drawn)})
        return
    console = _console()
    console.print(
        f"{data.name}, {kind_of_split(data)}: {data.num_nodes:,} nodes, "
        f"{data.edge_index.shape[1]:,} edges, {data.x.shape[1]:,} features, "
        f"{data.num_classes} classes, {data.num_envs} environments, scored by {data.metric}",
    )
    console.print(_table(data, strength))
    console.print(
        "Shifts are distances to the training set, from 0 to 1: of the labels and of the labels "
        "within a domain (total variation), of the features (Kolmogorov-Smirnov, worst of five "
        "principal axes). id_test shows how much of that is chance.",
    )
    console.print(f"Picture: {drawn}")


def _table(data: Data, strength: Strength) -> Table:
    groups = strength.groups
    shown, rest = most_frequent(groups[0].labels)
    table = Table("part", box=None, header_style="bold")
    headings = ["nodes", *(f"{data.label_names[c]} %" for c in shown)]
    headings += [f"{len(rest)} others %"] if rest else []
    headings += [f"axis {strength.axis}", "label shift", "in domain", "feature shift"]
    for heading in headings:
        table.add_column(heading, justify="right")
    for group in groups:
        labels = [f"{100 * group.labels[c]:.1f}" for c in shown]
        labels += [f"{100 * sum(group.labels[c] for c in rest):.1f}"] if rest else []
        within = "-" if group.concept_shift is None else f"{group.concept_shift:.2f}"
        table.add_row(
            group.name,
            f"{group.nodes:,}",
            *labels,
            f"{group.along.mean():.2f} ± {group.along.std():.2f}",
            f"{group.label_shift:.2f}",
            within,
            f"{group.feature_shift:.2f}",
            end_section=group.name == "train",
        )
    return table


def _entry(entry: DataSet) -> dict[str, Any]:
    nodes, edges, features, classes = entry.size
    return {
        "name": entry.name,
        "title": entry.title,
        "nodes": nodes,
        "edges": edges,
        "features": features,
        "classes": classes,
        "domains": list(entry.domains),
        "environments": dict(entry.envs),
        "metric": entry.metric,
        "licence": entry.licence,
        "from": entry.origin,
        "note": entry.note,
    }


def _summary(data: Data, strength: Strength) -> dict[str, Any]:
    return {
        "name": data.name,
        "shift": data.shift,
        "nodes": data.num_nodes,
        "edges": data.edge_index.shape[1],
        "features": data.x.shape[1],
        "classes": data.label_names,
        "environments": data.num_envs,
        "metric": data.metric,
        "parts": part_sizes(data),
        "axis": strength.axis,
        "groups": [
            {
                "name": group.name,
                "nodes": group.nodes,
                "labels": group.labels,
                "axis_mean": float(group.along.mean()),
                "axis_deviation": float(group.along.std()),
                "label_shift": group.label_shift,
                "concept_shift": group.concept_shift,
                "feature_shift": group.feature_shift,
            }
            for group in strength.groups
        ],
    }


def _print_json(document: Any) -> None:
    json.dump(document, sys.stdout, indent=2)
    print()


def _console() -> Console:
    # Into a file or a pipe a line is as long as it needs to be.
    width = None if sys.stdout.isatty() else 200
    return Console(width=width, markup=False, highlight=False)
