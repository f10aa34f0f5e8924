"""What can be wrong with what a person hands us, each said in one sentence."""


class InputError(ValueError):
    """The input cannot be used; the message names the first offender and what to do about it."""


class InputWarning(UserWarning):
    """The input can be used, but not quite as given; the message says what was done instead."""


class RunError(RuntimeError):
    """A run could not go on; the message says why and what is left of it."""
