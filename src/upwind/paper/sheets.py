"""What each table of the paper is made of: rows of methods, columns of data."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from upwind import methods
from upwind.paper import published
from upwind.paper.published import Numbers


@dataclass(frozen=True)
class Column:
    """Where a row is measured.

    Attributes:
        source: The data set.
        shift: Its shift; none for a long tail.
        metric: What is shown; the data set's own by default.
        seeds: How many runs a cell is the mean of.
        search: Whether a row's candidates are compared on validation; else published values stand.
        printed: The column's key in the paper's numbers.
        note: What a reader must know of it.
    """

    source: str
    shift: str | None
    metric: str | None = None
    seeds: int = 10
    search: bool = True
    printed: str = ""
    note: str = ""

    @property
    def data_shift(self) -> str:
        """What the data says its shift is."""
        return self.shift or "long_tail"


@dataclass(frozen=True)
class Row:
    """What is measured.

    Attributes:
        label: As it stands in the table.
        candidates: Specs of methods, of which the best on validation is shown.
        printed: The row's key in the paper's numbers; empty for a row of ours.
        block: Under which heading it stands.
    """

    label: str
    candidates: tuple[str, ...]
    printed: str = ""
    block: str = ""


@dataclass(frozen=True)
class Sheet:
    """A table before it is filled.

    Attributes:
        name: What it is called on the command line.
        title: Its caption's first sentence.
        rows: The first row of a block is what the others of the block are compared with.
        columns: In the paper's order.
        numbers: The paper's.
        spread: Standard deviation of the runs, or standard error of their mean.
        settings: What all runs are asked for besides.
        tuning: Rounds of the choice among candidates: seeds, and the share that goes on to them.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    numbers: Numbers
    spread: Literal["deviation", "error"]
    settings: tuple[tuple[str, Any], ...] = ()
    tuning: tuple[tuple[int, float], ...] = ((1, 1.0), (3, 0.34))


def grid(name: str) -> tuple[str, ...]:
    """Every combination of a method's published search space; the bare name without one.

    >>> grid("erm")
    ('erm',)
    >>> len(grid("tar"))
    90
    """
    spaces = {
        field.name: field.metadata["grid"]
        for field in fields(methods.get(name).Options)
        if field.metadata.get("grid")
    }
    combinations = itertools.product(*spaces.values())
    return tuple(
        ":".join([name, *(f"{k}={v}" for k, v in zip(spaces, values, strict=True))])
        for values in combinations
    )


_LABELS = {
    "erm": "ERM",
    "irm": "IRM",
    "vrex": "VREx",
    "groupdro": "Group DRO",
    "dann": "DANN",
    "deepcoral": "Deep CORAL",
    "eerm": "EERM",
    "srgnn": "SRGNN",
    "tar": "TAR",
    "tar_n": "TAR-N",
    "reweight": "Re-Weight",
    "cb_loss": "CB loss",
    "tam": "TAM",
    "balanced_softmax": "balanced softmax",
    "graphens": "GraphENS",
}


def label(spec: str) -> str:
    """A method's name as people write it.

    >>> label("graphens+tam"), label("tar:tau=0.1")
    ('GraphENS + TAM', 'TAR')
    """
    names = [part.split(":")[0] for part in spec.split("+")]
    return " + ".join(_LABELS.get(name, name) for name in names)


_DBLP = "DBLP by words stands in for Cora by words, whose raw file was not to be had."
_TWITCH = "Features are a 128-d SVD of the original ones: scores do not compare with the paper's."

SHIFT_COLUMNS = (
    *(
        Column(source, shift, printed=f"{source}/{shift}")
        for source in ("webkb", "cbas")
        for shift in ("concept", "covariate")
    ),
    *(
        Column(source, shift, seeds=5, search=False, printed=f"{printed}/{shift}", note=note)
        for source, printed, note in (
            ("twitch", "twitch", _TWITCH),
            ("dblp_word", "cora_word", _DBLP),
        )
        for shift in ("concept", "covariate")
    ),
)
LONG_TAIL_COLUMNS = tuple(
    Column(name, None, metric, printed=f"{name}/{metric}")
    for name in published.LONG_TAILS
    for metric in published.METRICS
)


def _rows(specs: Sequence[str], *, block: str = "", search: bool = True) -> tuple[Row, ...]:
    return tuple(
        Row(label(spec), grid(spec) if search else (spec,), spec, block=block) for spec in specs
    )


# Ours, beside the paper's TAR. Steps long enough to move weight, which the paper's are not.
_TAR_PLUS_SHIFT = tuple(
    f"tar:tau={tau}:steps=10:beta={beta}:fill={fill}"
    for tau in (0.01, 0.1, 1.0)
    for beta in (0.1, 1.0)
    for fill in ("mean", "entropy")
)
_TAR_PLUS_LONG_TAIL = (
    *(
        f"tar:tau={tau}:steps=10:beta={beta}:prior=balanced:fill={fill}"
        for tau in (0.01, 0.1)
        for beta in (0.1, 1.0)
        for fill in ("mean", "entropy")
    ),
    *(f"tar:tau={tau}:steps=10:beta=1.0:fill=entropy+balanced_softmax" for tau in (0.01, 0.1)),
    *(f"tar:tau={tau}:steps=10:beta=1.0:prior=balanced:fill=entropy+tam" for tau in (0.01, 0.1)),
)
_EERM = tuple(f"eerm:beta={beta}" for beta in (0.5, 1.0, 3.0))


def sheets() -> dict[str, Sheet]:
    """The paper's tables by name."""
    table1 = Sheet(
        "table1",
        "Node classification under distribution shift.",
        (
            *_rows(["erm", "irm", "vrex", "groupdro", "dann", "deepcoral"]),
            Row("EERM", _EERM, "eerm"),
            *_rows(["srgnn", "tar"]),
            Row("TAR+", _TAR_PLUS_SHIFT),
        ),
        SHIFT_COLUMNS,
        published.TABLE_1,
        "deviation",
    )
    plain = ["erm", "reweight", "cb_loss", "tam", "balanced_softmax", "tar"]
    over = ["graphens", *(f"graphens+{spec}" for spec in plain[1:])]
    table2 = Sheet(
        "table2",
        "Node classification with long-tailed classes.",
        (
            *_rows(plain, block="GAT", search=False),
            Row("TAR+", _TAR_PLUS_LONG_TAIL, block="GAT"),
            *_rows(over, block="GraphENS", search=False),
            Row(
                "GraphENS + TAR+",
                tuple(f"graphens+{spec}" for spec in _TAR_PLUS_LONG_TAIL),
                block="GraphENS",
            ),
        ),
        LONG_TAIL_COLUMNS,
        published.TABLE_2,
        "error",
    )
    reconnect = _rows(["erm", "tar", "tar_n"], search=False)
    return {
        sheet.name: sheet
        for sheet in (
            table1,
            table2,
            Sheet(
                "table-reconnect-ood",
                "The graph as it is (TAR), and labelled nodes joined directly (TAR-N), on shifts.",
                reconnect,
                tuple(column for column in SHIFT_COLUMNS if column.source != "dblp_word"),
                published.RECONNECT_SHIFTS,
                "deviation",
            ),
            Sheet(
                "table-reconnect-lt",
                "The graph as it is (TAR), and labelled nodes joined directly (TAR-N), on long "
                "tails.",
                reconnect,
                LONG_TAIL_COLUMNS,
                published.RECONNECT_LONG_TAILS,
                "error",
            ),
        )
    }


def quick(sheet: Sheet) -> Sheet:
    """The same table in a few minutes: two seeds, a tenth of the epochs, nothing searched."""
    small = ("webkb", "cbas", "cora_lt", "citeseer_lt")
    columns = tuple(
        replace(column, seeds=2, search=False) for column in sheet.columns if column.source in small
    )
    return replace(
        sheet,
        title=f"{sheet.title} QUICK LOOK: 2 seeds, 10 epochs, published settings, small data only.",
        columns=columns,
        settings=(*sheet.settings, ("epochs", 10)),
    )
