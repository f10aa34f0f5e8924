"""Data sets, shifts and files: everything that ends in a graph with features, labels and masks."""

from upwind.data.arrays import save
from upwind.data.catalog import CATALOG, SHIFTS, DataSet
from upwind.data.check import check
from upwind.data.concept import concept_shift
from upwind.data.covariate import covariate_shift
from upwind.data.defects import Defect
from upwind.data.importing import import_graph
from upwind.data.listing import list_data_sets, show_data_set
from upwind.data.load import load
from upwind.data.longtail import long_tail
from upwind.data.split import PARTS, mask_of, part_sizes, random_split
from upwind.data.strength import Group, Strength, shift_strength

__all__ = [
    "CATALOG",
    "PARTS",
    "SHIFTS",
    "DataSet",
    "Defect",
    "Group",
    "Strength",
    "check",
    "concept_shift",
    "covariate_shift",
    "import_graph",
    "list_data_sets",
    "load",
    "long_tail",
    "mask_of",
    "part_sizes",
    "random_split",
    "save",
    "shift_strength",
    "show_data_set",
]
