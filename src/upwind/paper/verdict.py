"""What the tables say of the paper, cell by cell, in sentences that the numbers carry."""

from collections.abc import Sequence

from upwind.paper.render import title
from upwind.paper.table import Cell, Table


def verdict(tables: Sequence[Table]) -> str:
    """For each table: how many cells reproduce, every cell, and each gain over the baseline."""
    return "\n".join(_of(table) for table in tables)


def _of(table: Table) -> str:
    cells = [cell for line in table.cells for cell in line]
    lines = [f"### {table.sheet.name}: {table.sheet.title}", "", _count(cells), ""]
    lines += ["| method | data | paper | ours | difference | within one spread |"]
    lines += ["| --- | --- | ---: | ---: | ---: | --- |"]
    lines += [_compared(cell) for cell in cells if cell.sample and cell.printed]
    gains = [cell for cell in cells if cell.gain is not None]
    if gains:
        first = table.sheet.rows[0].label
        lines += ["", f"Against {first} of the same block, paired by seed:", ""]
        lines += [
            "| method | data | gain | p | p corrected |",
            "| --- | --- | ---: | ---: | ---: |",
        ]
        lines += [_gain(cell) for cell in gains]
    return "\n".join(lines) + "\n"


def _count(cells: Sequence[Cell]) -> str:
    compared = [cell for cell in cells if cell.reproduces() is not None]
    one = sum(bool(cell.reproduces()) for cell in compared)
    two = sum(bool(cell.reproduces(2)) for cell in compared)
    missing = sum(cell.sample is None for cell in cells)
    gains = [cell for cell in cells if cell.gain and cell.adjusted is not None]
    better = sum(cell.gain.mean > 0 and (cell.adjusted or 0) < 0.05 for cell in gains if cell.gain)
    worse = sum(cell.gain.mean < 0 and (cell.adjusted or 0) < 0.05 for cell in gains if cell.gain)
    return (
        f"Of {len(compared)} cells that can be compared with the paper's, {one} lie within one of "
        f"its printed spreads and {two} within two; {missing} of {len(cells)} cells have not been "
        f"run. Of {len(gains)} paired differences to the baseline, {better} are gains and {worse} "
        "are losses with a corrected p below 0.05."
    )


def _compared(cell: Cell) -> str:
    assert cell.sample is not None
    assert cell.printed is not None
    printed = "out of memory" if cell.printed.mean is None else f"{cell.printed.mean:.2f}"
    spread = "" if cell.printed.spread is None else f" ± {cell.printed.spread:.2f}"
    off = "" if cell.off is None else f"{cell.off:+.2f}"
    reproduces = cell.reproduces()
    word = "not comparable" if reproduces is None else "yes" if reproduces else "no"
    return (
        f"| {cell.row.label} | {title(cell.column)} | {printed}{spread} | "
        f"{cell.sample.mean:.2f} | {off} | {word} |"
    )


def _gain(cell: Cell) -> str:
    assert cell.gain is not None
    p = "" if cell.gain.p_value is None else f"{cell.gain.p_value:.3f}"
    adjusted = "" if cell.adjusted is None else f"{cell.adjusted:.3f}"
    where = f"{cell.row.label} | {title(cell.column)}"
    return f"| {where} | {cell.gain.mean:+.2f} | {p} | {adjusted} |"
