"""Empirical risk minimisation."""

from typing import ClassVar, final

from upwind.methods._base import NoOptions
from upwind.methods._sum import Summand


@final
class ERM(Summand):
    """Every training node counts the same.

    sum_i s_i l_i over the training nodes of the batch, s_i the sampler's node norm.
    """

    name: ClassVar[str] = "erm"
    Options: ClassVar[type] = NoOptions
