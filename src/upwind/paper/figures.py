"""The paper's figures of T_in and beta, drawn from filled tables."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from upwind.paper.sheets import SHIFT_COLUMNS, Row, Sheet
from upwind.paper.table import Table

STEPS = (1, 3, 5, 10, 30, 100)
BETAS = (1.0, 0.1, 0.01, 0.001, 0.0)
# Okabe and Ito's palette: told apart by colour-blind readers, and by lightness in grey.
_LINE, _REFERENCE = "#0072B2", "#555555"


def sheet(name: str, values: tuple[float, ...], option: str) -> Sheet:
    """The runs of a figure: TAR over one option, all else as published; ERM as the yardstick."""
    columns = tuple(
        replace(column, search=False)
        for source in ("cbas", "twitch", "webkb")
        for column in SHIFT_COLUMNS
        if (column.source, column.shift) == (source, "concept")
    )
    rows = (
        Row("ERM", ("erm",)),
        *(Row(f"{value:g}", (f"tar:{option}={value}",)) for value in values),
    )
    return Sheet(name, f"TAR over {option} under concept shift.", rows, columns, {}, "deviation")


def draw(table: Table, path: Path, axis: str) -> None:
    """A panel per data set: mean over seeds, band of one standard error, ERM dashed."""
    from matplotlib.figure import Figure

    columns = table.sheet.columns
    figure = Figure(figsize=(3.1 * len(columns), 2.9), layout="constrained")
    panels = figure.subplots(1, len(columns), squeeze=False)[0]
    for place, (panel, column) in enumerate(zip(panels, columns, strict=True)):
        _panel(panel, table, place)
        panel.set_title(column.source + (" *" if column.note else ""), fontsize=10)
        panel.set_xlabel(axis, fontsize=9)
    panels[0].set_ylabel("OOD test score [%]", fontsize=9)
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8
    )
    for ending in (".png", ".pdf"):
        # No date in the file: the same records give the same bytes.
        plain = {"CreationDate": None} if ending == ".pdf" else {"Software": None}
        figure.savefig(path.with_suffix(ending), dpi=200, metadata=plain)


def _panel(panel: Any, table: Table, place: int) -> None:
    erm, *rest = (line[place] for line in table.cells)
    drawn = [(at, cell.row.label, cell.sample) for at, cell in enumerate(rest) if cell.sample]
    if drawn:
        at = [point for point, _, _ in drawn]
        mean = [sample.mean for _, _, sample in drawn]
        error = [sample.error or 0.0 for _, _, sample in drawn]
        panel.plot(at, mean, color=_LINE, marker="o", markersize=4, label="TAR, mean over seeds")
        panel.fill_between(
            at,
            [m - e for m, e in zip(mean, error, strict=True)],
            [m + e for m, e in zip(mean, error, strict=True)],
            color=_LINE,
            alpha=0.2,
            linewidth=0,
            label="± one standard error",
        )
    if erm.sample:
        panel.axhline(erm.sample.mean, color=_REFERENCE, linestyle="--", label="ERM, mean")
    panel.set_xticks(range(len(rest)), [cell.row.label for cell in rest], fontsize=8)
    panel.tick_params(axis="y", labelsize=8)
    panel.spines[["top", "right"]].set_visible(False)
    if not drawn:
        panel.text(0.5, 0.5, "not run", transform=panel.transAxes, ha="center", color=_REFERENCE)
