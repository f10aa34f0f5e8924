"""A filled table as Markdown, LaTeX, CSV and HTML."""

import csv
import io
from collections.abc import Iterator
from html import escape
from itertools import groupby

from upwind.paper.published import Printed
from upwind.paper.sheets import Column
from upwind.paper.table import Cell, Table

_METRICS = {"accuracy": "Acc", "balanced_accuracy": "bAcc", "macro_f1": "F1"}
_CSV_COLUMNS = (
    *("block", "method", "data", "shift", "metric", "runs", "mean", "deviation", "error"),
    *("options", "paper", "paper_spread", "gain", "p", "p_corrected"),
)
_SPREADS = {"deviation": "standard deviation", "error": "standard error of the mean"}


def caption(table: Table) -> str:
    """What the numbers are, in sentences."""
    sheet = table.sheet
    return (
        f"{sheet.title} Test score in percent, mean ± {_SPREADS[sheet.spread]} over the runs, at "
        "the epoch with the best validation score (OOD validation where the test set is shifted); "
        "options were chosen on the same validation nodes. In brackets the paper's number. Bold: "
        "best of the block, underlined: second. * and **: better than the block's first row with "
        "p < 0.05 and p < 0.01, paired by seed and corrected for all comparisons of the table "
        "(Holm)."
    )


def markdown(table: Table) -> str:
    """GitHub's Markdown, with the caption above and the notes below."""
    columns = table.sheet.columns
    lines = [caption(table), "", "| | " + " | ".join(_titles(columns)) + " |"]
    lines.append("| --- |" + " ---: |" * len(columns))
    for block, rows in _blocks(table):
        if block:
            lines.append(f"| *{block}* |" + " |" * len(columns))
        for line in rows:
            cells = [_markdown_cell(table, cell, place) for place, cell in enumerate(line)]
            lines.append(f"| {line[0].row.label} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *(f"{note}  " for note in notes(table))]) + "\n"


def latex(table: Table) -> str:
    """A booktabs table, best in bold and second underlined, as in the paper."""
    columns = table.sheet.columns
    groups = [(name, len(list(group))) for name, group in groupby(columns, _group)]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_tex(caption(table))}}}",
        r"\begin{tabular}{l" + "c" * len(columns) + "}",
        r"\toprule",
        "".join(rf" & \multicolumn{{{n}}}{{c}}{{{_tex(name)}}}" for name, n in groups) + r" \\",
        "".join(f" & {_tex(_part(column))}" for column in columns) + r" \\",
    ]
    for _, rows in _blocks(table):
        lines.append(r"\midrule")
        for line in rows:
            cells = [_latex_cell(table, cell, place) for place, cell in enumerate(line)]
            lines.append(_tex(line[0].row.label) + "".join(f" & {cell}" for cell in cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"


def csv_text(table: Table) -> str:
    """One line per cell, with everything that is known of it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV_COLUMNS)
    for line in table.cells:
        for cell in line:
            sample, gain = cell.sample, cell.gain
            printed = cell.printed or Printed(None, None)
            writer.writerow(
                [
                    cell.row.block,
                    cell.row.label,
                    cell.column.source,
                    cell.column.data_shift,
                    cell.column.metric or "",
                    sample.count if sample else 0,
                    _number(sample.mean if sample else None),
                    _number(sample.deviation if sample else None),
                    _number(sample.error if sample else None),
                    cell.spec or "",
                    _number(printed.mean),
                    _number(printed.spread),
                    _number(gain.mean if gain else None),
                    _number(gain.p_value if gain else None, 6),
                    _number(cell.adjusted, 6),
                ]
            )
    return text.getvalue()


def html(table: Table) -> str:
    """A page of its own that needs nothing else."""
    head = "".join(f"<th>{escape(title)}</th>" for title in _titles(table.sheet.columns))
    body = ""
    for block, rows in _blocks(table):
        if block:
            body += f'<tr><th colspan="{len(table.sheet.columns) + 1}">{escape(block)}</th></tr>'
        for line in rows:
            cells = "".join(
                f"<td>{_html_cell(table, cell, place)}</td>" for place, cell in enumerate(line)
            )
            body += f"<tr><th>{escape(line[0].row.label)}</th>{cells}</tr>"
    remarks = "".join(f"<li>{escape(note)}</li>" for note in notes(table))
    return (
        f"<p>{escape(caption(table))}</p>"
        f'<div class="wide"><table><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div><ul>{remarks}</ul>"
    )


def notes(table: Table) -> list[str]:
    """What a reader must know of single columns and cells."""
    found = []
    for note, group in groupby(table.sheet.columns, lambda column: column.note):
        if note:
            found.append(f"{', '.join(dict.fromkeys(map(_group, group)))}: {note}")
    states: dict[str, dict[tuple[str, ...], list[str]]] = {"not run": {}, "fewer runs": {}}
    for line in table.cells:
        gone = tuple(dict.fromkeys(_where(cell.column) for cell in line if cell.sample is None))
        short = tuple(
            dict.fromkeys(
                f"{_where(cell.column)} ({cell.sample.count} of {cell.wanted})"
                for cell in line
                if cell.sample and cell.sample.count < cell.wanted
            )
        )
        for state, where in (("not run", gone), ("fewer runs", short)):
            if where:
                states[state].setdefault(where, []).append(line[0].row.label)
    for state, places in states.items():
        said = [f"{', '.join(rows)} on {', '.join(where)}" for where, rows in places.items()]
        if said:
            found.append(f"{'– : ' if state == 'not run' else ''}{state}: {'; '.join(said)}.")
    return found


def _blocks(table: Table) -> Iterator[tuple[str, list[tuple[Cell, ...]]]]:
    for block, lines in groupby(table.cells, lambda line: line[0].row.block):
        yield block, list(lines)


def _where(column: Column) -> str:
    """A column's data, whatever is measured on it."""
    return f"{column.source} {column.shift}" if column.shift else column.source


def _group(column: Column) -> str:
    return column.source


def _part(column: Column) -> str:
    return column.shift or _METRICS.get(column.metric or "", column.metric or "")


def title(column: Column) -> str:
    """A column in a few words."""
    return f"{_group(column)} {_part(column)}"


def _titles(columns: tuple[Column, ...]) -> list[str]:
    return [title(column) for column in columns]


def _spread(table: Table, cell: Cell) -> float | None:
    sample = cell.sample
    if sample is None:
        return None
    return sample.deviation if table.sheet.spread == "deviation" else sample.error


def _place(table: Table, cell: Cell, column: int) -> int | None:
    """0 for the best of its block, 1 for the second."""
    if cell.sample is None:
        return None
    mean = round(cell.sample.mean, 2)
    return next((p for p in (0, 1) if table.best(column, cell.row.block, p) == mean), None)


def _stars(cell: Cell) -> str:
    if cell.adjusted is None or cell.gain is None or cell.gain.mean <= 0:
        return ""
    return "**" if cell.adjusted < 0.01 else "*" if cell.adjusted < 0.05 else ""


def _ours(table: Table, cell: Cell, between: str) -> str:
    if cell.sample is None:
        return "–"
    spread = _spread(table, cell)
    after = "" if spread is None else f"{between}{spread:.2f}"
    return f"{cell.sample.mean:.2f}{after}"


def _theirs(cell: Cell) -> str:
    if cell.printed is None:
        return ""
    if cell.printed.mean is None:
        return "out of memory"
    return f"{cell.printed.mean:.2f} ± {cell.printed.spread:.2f}"


def _markdown_cell(table: Table, cell: Cell, column: int) -> str:
    text = _ours(table, cell, " ± ")
    place = _place(table, cell, column)
    text = f"**{text}**" if place == 0 else f"<u>{text}</u>" if place == 1 else text
    stars = _stars(cell).replace("*", r"\*")
    theirs = _theirs(cell)
    return f"{text}{stars}" + (f" [{theirs}]" if theirs else "")


def _latex_cell(table: Table, cell: Cell, column: int) -> str:
    if cell.sample is None:
        return "--"
    text = _ours(table, cell, r"$\pm$")
    place = _place(table, cell, column)
    text = rf"\textbf{{{text}}}" if place == 0 else rf"\underline{{{text}}}" if place == 1 else text
    return text + (f"$^{{{_stars(cell)}}}$" if _stars(cell) else "")


def _html_cell(table: Table, cell: Cell, column: int) -> str:
    text = escape(_ours(table, cell, " ± "))
    place = _place(table, cell, column)
    text = f"<b>{text}</b>" if place == 0 else f"<u>{text}</u>" if place == 1 else text
    theirs = _theirs(cell)
    options = f' title="{escape(cell.spec)}"' if cell.spec else ""
    return f"<span{options}>{text}{_stars(cell)}</span>" + (
        f"<br><small>{escape(theirs)}</small>" if theirs else ""
    )


def _number(value: float | None, digits: int = 4) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _tex(text: str) -> str:
    """Characters that TeX reads as commands, made plain."""
    for plain, safe in (("\\", ""), ("&", r"\&"), ("%", r"\%"), ("_", r"\_"), ("#", r"\#")):
        text = text.replace(plain, safe)
    return text.replace("±", r"$\pm$").replace("<", "$<$").replace(">", "$>$").replace("–", "--")
