"""Data sets, shifts and files: everything that ends in a graph with features, labels and masks."""

from upwind.data.catalog import CATALOG, SHIFTS, DataSet
from upwind.data.concept import concept_shift
from upwind.data.covariate import covariate_shift
from upwind.data.load import load
from upwind.data.longtail import long_tail
from upwind.data.split import PARTS, mask_of, part_sizes, random_split

__all__ = [
    "CATALOG",
    "PARTS",
    "SHIFTS",
    "DataSet",
    "concept_shift",
    "covariate_shift",
    "load",
    "long_tail",
    "mask_of",
    "part_sizes",
    "random_split",
]
