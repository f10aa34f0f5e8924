"""Write the tables that follow from the code into the pages: ``make tables``.

A table stands between ``<!-- table: name -->`` and ``<!-- end of table -->``.
"""

import json
import re
from pathlib import Path

from upwind import methods

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "methods.md")
COSTS = ROOT / "docs" / "methods.json"
GRAPHS = {"twitch": "Twitch", "coauthor_cs": "Coauthor-CS"}


def methods_table() -> str:
    """The registered methods; a dash where nothing is needed, or was not measured."""
    costs = json.loads(COSTS.read_text())["costs"]
    headings = ["method", "in a sentence", "environment labels", "looks at, beside training nodes"]
    headings += [f"step over ERM's, {title}" for title in GRAPHS.values()]
    rows = [headings, ["---"] * len(headings)]
    for name in methods.names():
        kind = methods.get(name)
        first_line = (kind.__doc__ or "").splitlines()[0]
        needs = "needed" if "environments" in kind.needs else "-"
        uses = ", ".join(sorted(kind.uses)) or "-"
        measured = [costs.get(name, {}).get(source) for source in GRAPHS]
        steps = [
            "-" if m is None else f"{m['ratio']:.2f} x, {m['peak_mib'] / 1024:.1f} GiB"
            for m in measured
        ]
        rows.append([f"`{name}`", first_line.removesuffix("."), needs, uses, *steps])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def filled(page: str) -> str:
    """The page with its tables as they should be."""
    tables = {"methods": methods_table}
    return re.sub(
        r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)",
        lambda found: f"{found[1]}\n{tables[found[2]]()}\n\n{found[3]}",
        page,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(filled(path.read_text()))
