import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import upwind.report
from tests.report.conftest import HOSTILE
from upwind import InputError
from upwind.report import open_records
from upwind.report.page import part_titles, render, write

CSS = (Path(upwind.report.__file__).parent / "page.css").read_text()
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
    for block in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
)


class Elements(HTMLParser):
    """Every start tag of a page, with its attributes, and all of its text."""

    def __init__(self, page):
        super().__init__()
        self.found, self._parts = [], []
        self.feed(page)
        self.text = " ".join("".join(self._parts).split())

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self._parts.append(data)


def test_the_page_fetches_nothing_and_is_small(page):
    text = page.read_text()
    for tag, attributes in Elements(text).found:
        assert tag not in ("link", "img", "iframe", "object", "base")
        assert not {"src", "href", "onclick", "onload", "onerror"} & set(attributes), tag
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest", text)
    assert page.stat().st_size < 500_000


def test_only_the_program_of_the_page_may_run(page):
    elements = Elements(page.read_text()).found
    (policy,) = [a["content"] for tag, a in elements if a.get("http-equiv")]
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[\w+/=]{44}'$", policy)
    programs = [a for tag, a in elements if tag == "script" and a.get("type") is None]
    assert len(programs) == 1


def test_names_from_data_are_text(hostile):
    page = Elements(hostile.read_text())
    assert not any(tag in ("img", "b") for tag, _ in page.found)
    for name in [*HOSTILE, "<b>small</b>"]:
        assert name in page.text
    programs = [a for tag, a in page.found if tag == "script" and a.get("type") is None]
    assert len(programs) == 1


def test_the_page_names_what_is_missing_and_how_to_do_it_again(page, comparison):
    text = Elements(page.read_text()).text
    assert "tar_n: seed 2" in text
    assert "upwind compare cbas --shift covariate" in text
    assert comparison.members()[0].data["sha256"] in text
    assert "best accuracy on the OOD validation nodes" in text


def test_the_table_of_the_page_is_that_of_the_comparison(page, comparison):
    cells = re.findall(r'data-label="OOD test" data-value="([\d.]+)"', page.read_text())
    assert [float(cell) for cell in cells] == [row.test.mean for row in comparison.table()]


def test_a_run_alone_has_a_report(comparison, tmp_path):
    run = comparison.members()[2]
    write(open_records(run.folder), tmp_path / "new" / "run.html")
    text = Elements((tmp_path / "new" / "run.html").read_text()).text
    assert "upwind train cbas" in text
    assert "standard deviation to either side" not in text
    assert "NaN" not in text


def test_a_report_without_its_data_says_so_and_has_the_rest(copied):
    copied.asked["source"] = "gone.npz"
    try:
        text = Elements(render(copied)).text
    finally:
        copied.asked["source"] = "cbas"
    assert "The graph is not drawn" in text
    assert "Calibration" in text


def test_epochs_chosen_on_test_nodes_are_called_an_analysis(copied):
    for run in copied.members():
        if run.is_done:
            path = run.folder / "config.json"
            path.write_text(path.read_text().replace('"ood_val"', '"oracle"'))
    assert "never a result" in render(copied)


def test_scores_that_are_no_numbers_leave_gaps(copied):
    for run in copied.members()[2:4]:
        result = json.loads((run.folder / "result.json").read_text())
        result["rules"]["ood_val"] = None
        result["scores"]["test"]["accuracy"] = math.nan
        (run.folder / "result.json").write_text(json.dumps(result))
        lines = (run.folder / "epochs.jsonl").read_text().splitlines()
        epochs = [json.loads(line) for line in lines]
        for epoch in epochs:
            epoch["scores"]["test"]["accuracy"] = math.nan
        text = "".join(json.dumps(epoch) + "\n" for epoch in epochs)
        (run.folder / "epochs.jsonl").write_text(text)
    page = Elements(render(copied))
    assert "a run has no score on the OOD test nodes" in page.text
    assert not any("nan" in (a.get("d") or "").lower() for _, a in page.found)


def test_a_folder_that_cannot_be_written_is_said(comparison, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises((InputError, RuntimeError), match="cannot be used"):
        write(comparison, tmp_path / "file" / "page.html")


def test_parts_are_called_out_of_distribution_only_under_a_shift():
    parts = {"train": 3, "val": 1, "test": 1, "id_val": 0, "id_test": 2}
    assert part_titles({"shift": "concept", "parts": parts})["test"] == "OOD test"
    assert part_titles({"shift": "long_tail", "parts": parts})["test"] == "test"
    assert "id_val" not in part_titles({"shift": "concept", "parts": parts})


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_lines_stand_out_from_the_page(colours):
    for ground in ("page", "panel"):
        for name in ("text", "soft", "link"):
            assert contrast(colours[name], colours[ground]) >= 4.5, name
        for name in ["edge", "rim", *(f"c{k}" for k in range(7))]:
            assert contrast(colours[name], colours[ground]) >= 3, name


# Machado, Oliveira and Fernandes (IEEE TVCG 15, 2009), full severity, on linear RGB.
BLINDNESS = {
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
}


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("kind", BLINDNESS)
def test_the_first_colours_and_the_ends_of_the_scale_differ_for_the_colour_blind(colours, kind):
    def lab(name):
        seen = np.clip(np.array(BLINDNESS[kind]) @ linear(colours[name]), 0, 1)
        return to_lab(seen)

    pairs = [("low", "high"), ("low", "middle"), ("middle", "high")]
    pairs += [(f"c{a}", f"c{b}") for a in range(4) for b in range(a)]
    for a, b in pairs:
        assert np.linalg.norm(lab(a) - lab(b)) > 9, (a, b)


def linear(colour):
    rgb = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """Of the web's accessibility guidelines."""
    light, dark = sorted((linear(c) @ [0.2126, 0.7152, 0.0722] for c in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def to_lab(rgb):
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.array(to_xyz) @ rgb / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])
