"""A table filled from records: each cell with its statistics and the paper's number beside it."""

from dataclasses import dataclass, replace

from upwind.paper.choice import choose
from upwind.paper.published import Printed
from upwind.paper.sheets import Column, Row, Sheet
from upwind.runs.ledger import Ledger
from upwind.runs.statistics import Difference, Sample, describe, difference, holm


@dataclass(frozen=True)
class Cell:
    """One number, in percent, and what it can be held against.

    Attributes:
        row: Its row.
        column: Its column.
        sample: Mean and spread of our runs; none while there is no run.
        wanted: How many runs it should be the mean of.
        spec: The method with the options that were run.
        printed: The paper's number; none where the paper has none.
        gain: Against the first row of the block, paired by seed.
        adjusted: The p-value of the gain, corrected for all gains of the table (Holm).
    """

    row: Row
    column: Column
    sample: Sample | None
    wanted: int
    spec: str | None
    printed: Printed | None
    gain: Difference | None
    adjusted: float | None = None

    @property
    def off(self) -> float | None:
        """Ours less the paper's."""
        if self.sample is None or self.printed is None or self.printed.mean is None:
            return None
        return self.sample.mean - self.printed.mean

    def reproduces(self, spreads: float = 1.0) -> bool | None:
        """Whether ours is within so many of the paper's printed spreads; none if not comparable."""
        if self.off is None or self.column.note or self.printed is None:
            return None
        return abs(self.off) <= spreads * (self.printed.spread or 0.0)


@dataclass(frozen=True)
class Table:
    """A sheet with its cells, row by row."""

    sheet: Sheet
    cells: tuple[tuple[Cell, ...], ...]

    def best(self, column: int, block: str, place: int) -> float | None:
        """The best (0) or second best (1) mean of a column within a block."""
        means = sorted(
            {
                round(line[column].sample.mean, 2)  # type: ignore[union-attr] # filtered below
                for line in self.cells
                if line[column].row.block == block and line[column].sample
            },
            reverse=True,
        )
        return means[place] if place < len(means) else None


def fill(sheet: Sheet, ledger: Ledger) -> Table:
    """The table as far as its runs are done."""
    lines = []
    scores: dict[tuple[str, Column], dict[int, float]] = {}
    for row in sheet.rows:
        line = []
        for column in sheet.columns:
            found = choose(sheet, row, column, ledger)
            values = {
                seed: 100 * score
                for seed, run in found.runs.items()
                if (score := run.score("test", column.metric)) is not None
            }
            baseline = scores.setdefault((row.block, column), values)
            line.append(
                Cell(
                    row,
                    column,
                    describe(list(values.values())) if values else None,
                    column.seeds,
                    found.spec,
                    sheet.numbers.get((row.printed, column.printed)),
                    difference(values, baseline) if baseline is not values else None,
                )
            )
        lines.append(line)
    return Table(sheet, _adjusted(lines))


def _adjusted(lines: list[list[Cell]]) -> tuple[tuple[Cell, ...], ...]:
    """The same cells with p-values corrected over the whole table."""
    tested = [
        cell for line in lines for cell in line if cell.gain and cell.gain.p_value is not None
    ]
    adjusted = holm([cell.gain.p_value or 0.0 for cell in tested if cell.gain])
    by_cell = {id(cell): p for cell, p in zip(tested, adjusted, strict=True)}
    return tuple(
        tuple(replace(cell, adjusted=by_cell.get(id(cell))) for cell in line) for line in lines
    )
