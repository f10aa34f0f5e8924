"""The tables in the pages say what the code says."""

import importlib.util
import json
from pathlib import Path

import pytest

from upwind import methods

ROOT = Path(__file__).resolve().parents[1]

spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
tables = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tables)


@pytest.mark.parametrize("page", tables.PAGES, ids=lambda page: page.name)
def test_the_tables_have_not_drifted_from_the_code(page):
    text = page.read_text()
    assert "<!-- table: " in text
    assert tables.filled(text) == text, "run make tables"


def test_every_method_has_its_row_and_what_it_costs_where_that_was_measured():
    rows = {line.split("`")[1]: line for line in tables.methods_table().splitlines()[2:]}
    assert list(rows) == methods.names()
    assert "| needed |" in rows["irm"]
    assert "| unlabelled inputs |" in rows["tar"]
    assert "| - | - |" in rows["erm"]


def test_a_table_that_is_out_of_date_is_replaced_and_the_rest_left_alone():
    page = "before\n<!-- table: methods -->\nold\n<!-- end of table -->\nafter\n"
    new = tables.filled(page)
    assert new.startswith("before\n")
    assert new.endswith("\nafter\n")
    assert "old" not in new
    assert tables.methods_table() in new


def test_the_scores_on_the_pages_are_those_of_the_records():
    lines = (ROOT / "results" / "cbas_concept.jsonl").read_text().splitlines()
    scores = [
        run["rules"]["ood_val"]["scores"]["test"]["accuracy"]
        for run in map(json.loads, lines)
        if run["options"] == [["erm", {}]] and "device" not in run["settings"]
    ]
    assert len(scores) == 10
    said = f"| cbas concept | `erm` | 10 | {10 * sum(scores):.2f} ± "
    assert said in (ROOT / "docs" / "training.md").read_text()
