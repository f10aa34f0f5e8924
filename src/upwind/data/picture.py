"""A picture of a split: labels and features of each environment and part, one row each."""

from pathlib import Path

import numpy as np
from torch_geometric.data import Data

from upwind.data.strength import Strength
from upwind.errors import InputError

# Okabe and Ito's colours, which people of any colour vision tell apart; grey is the rest.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
REST = "#BBBBBB"


def draw(data: Data, strength: Strength, path: Path) -> Path:
    """Save the picture; what kind of file it is, its name says (.png, .pdf, .svg).

    >>> import tempfile
    >>> from upwind.data import load
    >>> from upwind.data.strength import shift_strength
    >>> data = load("cbas", shift="concept")
    >>> draw(data, shift_strength(data), Path(tempfile.mkdtemp()) / "cbas.png").exists()
    True
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("a picture needs matplotlib: pip install 'upwind[report]'.") from error

    groups = strength.groups
    figure = Figure(figsize=(9, 1.7 + 0.34 * len(groups)), layout="constrained", dpi=150)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.15, 1])
    rows = np.arange(len(groups))

    shown, rest = most_frequent(groups[0].labels)
    shares = np.array([group.labels for group in groups])
    bars = [(_plain(data.label_names[c]), shares[:, c], COLOURS[i]) for i, c in enumerate(shown)]
    if rest:
        bars.append((f"{len(rest)} others", shares[:, rest].sum(axis=1), REST))
    start = np.zeros(len(groups))
    for _, width, colour in bars:
        left.barh(rows, width, left=start, color=colour, height=0.72, edgecolor="white")
        start += width
    left.set(xlim=(0, 1), xlabel="share of each class", yticks=rows)
    left.set_yticklabels([f"{group.name}  ({group.nodes:,})" for group in groups])
    left.invert_yaxis()

    right.boxplot(
        [group.along for group in groups],
        positions=rows,
        orientation="horizontal",
        widths=0.6,
        whis=(5, 95),
        showfliers=False,
        manage_ticks=False,
        patch_artist=True,
        boxprops={"facecolor": "#D6E6F2", "edgecolor": "#333333"},
        medianprops={"color": "#D55E00", "linewidth": 1.6},
        whiskerprops={"color": "#333333"},
        capprops={"color": "#333333"},
    )
    right.axvline(np.median(groups[0].along), color="#888888", linestyle=":", linewidth=1)
    right.set_xlabel(
        f"features: principal axis {strength.axis}, farthest for {groups[-1].name}\n"
        "(median, quartiles, 5 to 95 %)"
    )
    right.tick_params(axis="y", length=0)
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
        axis.axhline(0.5 + data.num_envs, color="#888888", linewidth=0.8)

    far = groups[-1]
    within = "" if far.concept_shift is None else f" ({far.concept_shift:.2f} within a domain)"
    figure.suptitle(
        f"{_plain(data.name)}, {kind_of_split(data)}. From training, {far.name} is "
        f"{far.label_shift:.2f} in labels{within}, {far.feature_shift:.2f} in features",
        fontsize=10,
    )
    names = [name for name, _, _ in bars]
    columns = max(2, min(8, 140 // (8 + max(map(len, names)))))
    figure.legend(left.containers, names, loc="outside lower left", ncols=columns, frameon=False)
    figure.savefig(path)
    return path


def _plain(name: str) -> str:
    """A name of the user's: not too long, and with no sign that would start a formula."""
    short = name if len(name) <= 24 else f"{name[:23]}…"
    return short.replace("$", r"\$")


def kind_of_split(data: Data) -> str:
    """What kind of split this is, in words."""
    words = {"none": "no shift", "long_tail": "long tail", "given": "its own split"}
    return words.get(data.shift, f"{data.shift} shift")


def most_frequent(shares: list[float]) -> tuple[list[int], list[int]]:
    """The classes to show one by one, and those to show as one.

    >>> most_frequent([0.1, 0.6, 0.3])
    ([0, 1, 2], [])
    >>> most_frequent([0.01] * 90 + [0.1])[0]
    [0, 1, 2, 3, 4, 5, 90]
    """
    order = np.argsort(-np.array(shares), kind="stable").tolist()
    return sorted(order[: len(COLOURS)]), sorted(order[len(COLOURS) :])
