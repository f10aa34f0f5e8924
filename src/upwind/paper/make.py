"""One output of the paper: the runs it needs, then its files."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from upwind.errors import InputError
from upwind.paper import figures, render
from upwind.paper.plan import Plan, Watch, carry_out, plan
from upwind.paper.sheets import Sheet, quick, sheets
from upwind.paper.sizes import sizes
from upwind.paper.table import Table, fill
from upwind.paper.verdict import verdict
from upwind.runs import files
from upwind.runs.ledger import Ledger
from upwind.theory import draw_flow

_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>
<style>:root{{color-scheme:light dark}}body{{font:16px/1.5 system-ui,sans-serif;margin:1rem}}
.wide{{overflow-x:auto}}table{{border-collapse:collapse;font-size:.85rem}}
td,th{{padding:.3rem .6rem;text-align:right;border-bottom:1px solid #8885}}
th:first-child{{text-align:left}}img{{max-width:100%;background:#fff}}</style>
<h1>{title}</h1>{body}</html>
"""

_FIGURES = {
    "figure-steps": ("steps", figures.STEPS, "steps $T_{in}$ of the flow"),
    "figure-beta": ("beta", figures.BETAS, r"entropy $\beta$"),
}
NAMES = (
    *("table1", "table2", "table-reconnect-ood", "table-reconnect-lt", "table-data"),
    *_FIGURES,
    "figure-flow",
    "verdict",
    "all",
)


@dataclass(frozen=True)
class Made:
    """What came of it: the files, what is still missing, and what went wrong."""

    files: list[Path]
    missing: Plan
    problems: list[str]


def make(
    name: str,
    *,
    root: Path = Path("runs"),
    compact: Path | None = Path("results"),
    out: Path = Path("out/paper"),
    data: str | None = None,
    jobs: int = 1,
    cluster: str | None = None,
    look: bool = False,
    run: bool = True,
    watch: Watch = lambda *_: nullcontext(),
    say: Callable[[Plan], None] = lambda _: None,
) -> Made:
    """Run what an output of the paper still needs, and write it.

    Args:
        name: One of `NAMES`.
        root: The folder of runs.
        compact: A folder with compact records of runs done elsewhere.
        out: Where the files go.
        data: A folder of raw files in PyG's layout.
        jobs: Runs at the same time.
        cluster: A scheduler to hand the runs to, as ``dask://host:port``.
        look: A quick look: fewer seeds, epochs and data sets, and the caption says so.
        run: Whether to do missing runs, or to write with what there is.
        watch: Shows the progress of the runs.
        say: Told what is missing before anything is run.
    """
    if name not in NAMES:
        raise InputError(f"the paper has no {name!r}; there are {', '.join(NAMES)}")
    wanted = NAMES[:-1] if name == "all" else (name,)
    chosen = {each: _sheets_of(each, look) for each in wanted}
    plans = list({sheet.name: sheet for each in chosen.values() for sheet in each}.values())
    problems: list[str] = []
    if run:
        problems = carry_out(
            plans,
            root=root,
            compact=compact,
            data=data,
            jobs=jobs,
            cluster=cluster,
            watch=watch,
            say=say,
        )
    ledger = Ledger.read(root, compact)
    written = []
    with files.disk_errors_said(out):
        out.mkdir(parents=True, exist_ok=True)
        for each in wanted:
            if each == "table-data":
                written += _write(out, each, {".md": sizes(data)})
            elif each == "figure-flow":
                written += [out / f"figure-flow{ending}" for ending in (".png", ".pdf")]
                for path in written[-2:]:
                    draw_flow(path)
            elif each == "verdict":
                tables = [fill(sheet, ledger) for sheet in chosen[each]]
                written += _write(out, each, {".md": verdict(tables)})
            else:
                written += _write_table(out, each, fill(chosen[each][0], ledger))
    return Made(written, plan(plans, ledger), problems)


def _sheets_of(name: str, look: bool) -> list[Sheet]:
    """The tables whose runs an output needs."""
    if name in ("table-data", "figure-flow"):
        return []
    if name in _FIGURES:
        option, values, _ = _FIGURES[name]
        found = [figures.sheet(name, values, option)]
    else:
        found = list(sheets().values()) if name == "verdict" else [sheets()[name]]
    return [quick(sheet) for sheet in found] if look else found


def _write_table(out: Path, name: str, table: Table) -> list[Path]:
    body, drawn = render.html(table), []
    if name in _FIGURES:
        figures.draw(table, out / name, _FIGURES[name][2])
        drawn = [out / f"{name}.png", out / f"{name}.pdf"]
        body = f'<img src="{name}.png" alt="{name}">' + body
    texts = {
        ".md": render.markdown(table),
        ".tex": render.latex(table),
        ".csv": render.csv_text(table),
        ".html": _PAGE.format(title=name, body=body),
    }
    return [*_write(out, name, texts), *drawn]


def _write(out: Path, name: str, texts: dict[str, str]) -> list[Path]:
    written = []
    for ending, text in texts.items():
        path = out / f"{name}{ending}"
        files.write(path, text.encode())
        written.append(path)
    return written
