"""What can be wrong with what a person hands us, each said in one sentence."""

import operator
from typing import Any


class InputError(ValueError):
    """The input cannot be used; the message names the first offender and what to do about it."""


class InputWarning(UserWarning):
    """The input can be used, but not quite as given; the message says what was done instead."""


class RunError(RuntimeError):
    """A run could not go on; the message says why and what is left of it."""


def whole_number(value: Any, name: str, least: int = 0) -> int:
    """Return ``value`` as an int, or say what ``name`` must be.

    >>> whole_number(3, "steps")
    3
    """
    try:
        number = operator.index(value)
        if number >= least and not isinstance(value, bool):
            return number
    except TypeError:
        pass
    raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}.")
