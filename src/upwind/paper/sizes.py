"""The paper's tables of the data: the size of every part, and the long tails' labels."""

from upwind.data import PARTS, load
from upwind.errors import InputError
from upwind.paper import published
from upwind.paper.sheets import SHIFT_COLUMNS


def sizes(root: str | None = None) -> str:
    """Both tables in Markdown, ours beside the paper's; data that is not there is said to be so."""
    titles = ["train", "ID validation", "ID test", "OOD validation", "OOD test"]
    lines = [
        "Nodes in each part of the split, ours; in brackets the paper's where it differs.",
        "",
        "| | " + " | ".join(titles) + " |",
        "| --- |" + " ---: |" * len(PARTS),
    ]
    for column in SHIFT_COLUMNS:
        try:
            data = load(column.source, shift=column.shift, root=root)
        except InputError as error:
            lines.append(f"| {column.source} {column.shift} | {error} |" + " |" * (len(PARTS) - 1))
            continue
        cells = []
        printed = published.SIZES[column.printed]
        for part, theirs in zip(PARTS, printed, strict=True):
            ours = int(data[f"{part}_mask"].sum())
            cells.append(f"{ours:,}" + ("" if ours == theirs else f" [{theirs:,}]"))
        lines.append(f"| {column.source} {column.shift} | " + " | ".join(cells) + " |")
    lines += ["", *(f"{note}  " for note in dict.fromkeys(c.note for c in SHIFT_COLUMNS) if note)]
    return "\n".join([*lines, "", *_labels(root)]) + "\n"


def _labels(root: str | None) -> list[str]:
    widest = max(map(len, published.LABELS.values()))
    lines = [
        "Labels of the long-tailed training sets in percent, frequent first; in brackets the "
        "paper's where it differs.",
        "",
        "| | " + " | ".join(f"L{rank}" for rank in range(widest)) + " |",
        "| --- |" + " ---: |" * widest,
    ]
    for name, printed in published.LABELS.items():
        try:
            data = load(name, root=root)
        except InputError as error:
            lines.append(f"| {name} | {error} |" + " |" * (widest - 1))
            continue
        counts = data.y[data.train_mask].bincount().sort(descending=True).values
        shares = (100 * counts / counts.sum()).tolist()
        cells = [
            f"{ours:.2f}" + ("" if f"{ours:.2f}" == f"{theirs:.2f}" else f" [{theirs:.2f}]")
            for ours, theirs in zip(shares, printed, strict=True)
        ]
        lines.append(f"| {name} | " + " | ".join(cells + [""] * (widest - len(cells))) + " |")
    return lines
