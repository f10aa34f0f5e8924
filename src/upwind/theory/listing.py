"""What the command ``upwind theory`` prints."""

import sys
from pathlib import Path

from upwind import _terminal as terminal
from upwind.flow import Reach
from upwind.theory.check import Findings, check_theory, steps_that_break
from upwind.theory.picture import draw_findings, draw_flow


def show_theory(
    *,
    seed: int,
    data: Path | None,
    figure: Path | None,
    figure_flow: Path | None,
    as_json: bool,
) -> None:
    """Check the theorems and say what was found; draw it where asked."""
    found = check_theory(seed, data, _progress)
    _progress("")
    drawn = []
    if figure is not None:
        draw_findings(found, figure)
        drawn.append(figure)
    if figure_flow is not None:
        _progress("figure of the flow")
        draw_flow(figure_flow)
        _progress("")
        drawn.append(figure_flow)
    if as_json:
        terminal.say_json({"seed": seed, **found.as_dict(), "figures": drawn})
        return
    _say(found)
    for path in drawn:
        print(path)


def _progress(what: str) -> None:
    """One line that is written over; nothing where nobody looks."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what}", end="", file=sys.stderr, flush=True)


def _say(found: Findings) -> None:
    taus = sorted({row.tau for row in found.euler}, reverse=True)
    rows = [
        [
            case,
            *(f"{row.error:.1e}" for row in found.euler if row.case == case),
            f"{order:.2f}",
        ]
        for case, order in found.order.items()
    ]
    title = "One Euler step against the exact proximal step (L1); theory: error ~ tau^2"
    terminal.say_table(title, ["graph", *(f"tau {tau:g}" for tau in taus), "power"], rows)

    rows = [
        [
            row.case,
            f"{row.tau:g}",
            f"{row.radius:.4f}",
            f"{row.proximal:.6f}",
            f"{row.ball:.6f}",
            f"{row.apart:.0e}",
            f"{row.penalized:.4f}",
        ]
        for row in found.theorem_1
    ]
    columns = ["graph", "tau", "radius", "L, proximal", "L, ball", "apart", "L - penalty"]
    terminal.say_table(
        "\nTheorem 1: both sides have the same maximiser; the printed left side is L - penalty",
        columns,
        rows,
    )

    rows = [
        [
            row.case,
            f"{row.beta:g}",
            f"{row.rate:.3g}",
            f"{row.least:.3g}",
            f"{row.low:.3g} to {row.high:.3g}",
        ]
        for row in found.decay
    ]
    terminal.say_table(
        "\nTheorem 2: C, in L(inf) - L(q(t)) ~ exp(-C t)",
        ["graph", "beta", "C, tail", "C, all t", "2 beta x gap"],
        rows,
    )

    least = {(row.case, row.beta): row.least for row in found.decay}
    rows = [
        [
            row.case,
            f"{row.beta:g}",
            f"{row.time:.3g}",
            f"{row.ratio:.5f}",
            f"{row.promised:.5f}",
            "yes" if row.ratio > row.promised else "NO",
            f"{steps_that_break(row, least[row.case, row.beta]):.0f}",
        ]
        for row in found.theorem_2
    ]
    terminal.say_table(
        "\nTheorem 2: the ratio against 1 - exp(-C t); with T_in for t it fails from `steps` on",
        ["graph", "beta", "t", "ratio", "1 - exp(-C t)", "holds", "steps"],
        rows,
    )

    def way(reach: Reach) -> str:
        return f"{reach.mass:.2%} by {reach.edges_at_least:.1f} to {reach.edges:.1f}"

    rows = [
        [
            f"{row.setting.data} {row.setting.shift}",
            f"{row.setting.tau:g}",
            str(row.setting.steps),
            f"{row.setting.beta:g}",
            way(row.one_flow),
            way(row.whole_training),
        ]
        for row in found.guard
    ]
    if rows:
        columns = ["data", "tau", "T_in", "beta", "one flow", "a training, never restarted"]
        terminal.say_table("\nReach with the paper's settings: mass, edges", columns, rows)
    for row in found.guard:
        print(f"{row.setting.data} {row.setting.shift}, one flow: {row.one_flow}")
    for sentence in found.absent:
        print(f"upwind: left out {sentence}", file=sys.stderr)
