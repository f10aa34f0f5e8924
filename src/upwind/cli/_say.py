"""What the commands about runs say."""

import sys
from pathlib import Path
from typing import Any


def summary(record: Any) -> dict[str, Any]:
    """A run in one line."""
    config, data = record.config, record.data
    result = record.result if record.is_done else None
    return {
        "run": record.folder,
        "data": data["name"],
        "shift": data["shift"],
        "method": config.method,
        "seed": config.seed,
        "done": record.is_done,
        "epochs": sum(1 for _ in record.epochs()),
        "test": result and result["scores"].get("test", {}).get(result["metric"]),
    }


def run(record: Any) -> None:
    """How a run ended: every part's scores at the kept epoch."""
    from upwind import _terminal as terminal

    config, data, result = record.config, record.data, record.result
    metric = result["metric"]
    titles = {metric: metric, "balanced_accuracy": "balanced", "macro_f1": "macro F1", "ece": "ECE"}
    rows = [
        [part, str(data["parts"][part]), *(terminal.percent(scores[name]) for name in titles)]
        for part, scores in result["scores"].items()
    ]
    outcome = result["rules"][config.select]
    chosen = "none, for none has a score" if outcome is None else outcome["epoch"]
    title = f"{config.method} on {data['name']} ({data['shift']})"
    terminal.say_table(
        f"{title}, epoch {chosen} by {config.select}", ["part", "nodes", *titles.values()], rows
    )
    print(f"{terminal.duration(sum(result['seconds'].values()))} of training; {record.folder}")


def comparison(compared: Any, problems: list[str], json: bool, report: Path | None = None) -> None:
    """The table with what went wrong, or all of it as one JSON document."""
    from upwind import _terminal as terminal

    table = compared.table()
    if json:
        terminal.say_json(
            {
                "comparison": compared.path,
                **vars(compared),
                "table": table,
                "problems": problems,
                "report": report,
            }
        )
        return
    shown = {"id_test": "ID test", "ece": "ECE"}
    if all(row.id_test is None for row in table):  # long tails have none; they are read by these
        shown = {"balanced": "balanced", "macro_f1": "macro F1", "ece": "ECE"}
    rows = [
        [
            row.method,
            str(row.test.count),
            terminal.spread(row.test),
            "" if row.difference is None else f"{100 * row.difference.mean:+.2f}",
            ""
            if not row.difference or row.difference.p_value is None
            else f"{row.difference.p_value:.3f}",
            *(terminal.spread(getattr(row, name)) for name in shown),
            terminal.duration(row.seconds),
        ]
        for row in table
    ]
    baseline = compared.methods[0]
    columns = ["method", "runs", "OOD test", f"- {baseline}", "p", *shown.values(), "time a run"]
    terminal.say_table(f"{compared.metric}, mean ± deviation", columns, rows)
    for problem in problems:
        print(f"upwind: {problem}", file=sys.stderr)
    print(compared.path)
    if report:
        print(report)
