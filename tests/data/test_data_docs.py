"""The page on data names what there is."""

from pathlib import Path

from upwind.data import CATALOG
from upwind.data.table_files import SUFFIXES
from upwind.data.tables import Columns

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "data.md").read_text()


def test_every_data_set_option_and_kind_of_file_is_in_it():
    words = [*CATALOG, *Columns.__annotations__, ".npz", ".pt", ".graphml"]
    missing = [word for word in words if f"`{word}`" not in PAGE]
    assert missing == []
    assert all(suffix.removesuffix(".gz") in PAGE for suffix in SUFFIXES if suffix != ".pq")


def test_every_domain_of_a_data_set_is_in_it():
    for entry in CATALOG.values():
        row = next(
            line
            for line in PAGE.splitlines()
            if line.startswith(f"| `{entry.name}`") or f"`{entry.name}`" in line
        )
        assert all(domain in row for domain in entry.domains)
