"""What a shift says when it would leave a part of the split without a node."""

import numpy as np
from numpy.typing import ArrayLike

from upwind.data.split import Ids
from upwind.errors import InputError

BALANCE = "balance=True (on the command line --balance)"


def refuse_empty(sizes: dict[str, int], what: str, advice: str) -> None:
    """Raise an error that names the empty parts: `what` "leave test without a node"; `advice`."""
    empty = [part for part, size in sizes.items() if size == 0]
    if empty:
        raise InputError(f"{what} leave {' and '.join(empty)} without a node; {advice}.")


def called(domain: str | ArrayLike) -> str:
    """What a message calls this domain."""
    return domain if isinstance(domain, str) else "the given vector"


def count_domains(ids: Ids) -> str:
    """How finely the nodes are divided."""
    sizes = np.bincount(ids)
    sizes = sizes[sizes > 0]
    return f"{len(sizes)} domains, the largest with {sizes.max(initial=0)} nodes"
