"""Finding a class by the name it gives itself: a subclass is registered by being one."""

import difflib
from collections.abc import Iterator
from inspect import isabstract
from typing import Any

from upwind.errors import InputError


def members(base: Any) -> dict[str, Any]:
    """Every concrete subclass that has a name, by it."""

    def descend(kind: Any) -> Iterator[Any]:
        for child in kind.__subclasses__():
            yield child
            yield from descend(child)

    return {
        kind.name: kind for kind in descend(base) if hasattr(kind, "name") and not isabstract(kind)
    }


def find(base: Any, name: str, what: str) -> Any:
    """The subclass of this name; an unknown name is answered with the nearest there are."""
    known = members(base)
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=3) or sorted(known)
    raise InputError(f"there is no {what} {name!r}; did you mean {' or '.join(near)}?")
