"""Options as dataclass fields: the default, what it means, and where to search, in one place."""

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar, get_type_hints

from upwind.errors import InputError

T = TypeVar("T")


def option(default: T, help: str, *, grid: Sequence[T] = ()) -> T:
    """A field with its explanation, and the published search space where there is one."""
    made: T = dataclasses.field(default=default, metadata={"help": help, "grid": tuple(grid)})
    return made


def parse(kind: type, texts: dict[str, str], owner: str) -> dict[str, Any]:
    """The values that these texts stand for, by the types of the dataclass's fields.

    >>> @dataclasses.dataclass
    ... class Options:
    ...     tau: float = option(0.1, "step size")
    >>> parse(Options, {"tau": "1e-3"}, "tar")
    {'tau': 0.001}
    """
    types = get_type_hints(kind)
    values = {}
    for name, text in texts.items():
        if name not in types:
            there = ", ".join(types) or "none"
            raise InputError(f"{owner} has no option {name!r}; it has: {there}")
        values[name] = _read(text, types[name], f"{owner}:{name}")
    return values


def _read(text: str, kind: Any, where: str) -> Any:
    for choice in getattr(kind, "__args__", (kind,)):
        if choice is type(None) and text.lower() == "none":
            return None
        if choice is bool and text.lower() in ("true", "false"):
            return text.lower() == "true"
        if choice is str or (isinstance(choice, str) and choice == text):
            return text
        if choice in (int, float):
            try:
                return choice(text)
            except ValueError:
                continue
    choices = [part for part in getattr(kind, "__args__", ()) if isinstance(part, str)]
    if choices:
        raise InputError(f"{where}={text} must be {' or '.join(choices)}")
    wanted = kind.__name__ if isinstance(kind, type) else str(kind)
    raise InputError(f"{where}={text} cannot be read as {wanted}")
