"""Tables from records that are made up, so that every number is known."""

import csv
import dataclasses
import io
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from upwind import InputError
from upwind.paper import NAMES, figures, make, published, render
from upwind.paper.choice import choose
from upwind.paper.plan import carry_out, plan
from upwind.paper.sheets import Column, Row, Sheet, grid, quick, sheets
from upwind.paper.table import fill
from upwind.runs.ledger import Finished, Ledger
from upwind.train import published_seeds, resolve

COLUMN = Column("cbas", "concept", seeds=4, printed="cbas/concept")
SEEDS = published_seeds("cbas", 4)
NUMBERS = {
    ("erm", "cbas/concept"): published.Printed(50.0, 2.0),
    ("tar", "cbas/concept"): published.Printed(60.0, 1.0),
}


def sheet(*rows, columns=(COLUMN,), **more):
    return Sheet("made", "Made up.", rows, columns, NUMBERS, "deviation", **more)


def made_up(method, seed, test, val=0.5, **asked):
    """A finished run on CBAS with these scores."""
    named = SimpleNamespace(name="cbas", shift="concept")
    config = resolve({"source": "cbas", "method": method, "seed": seed, **asked}, named)
    config = dataclasses.replace(config, source="")
    scores = {"val": {"accuracy": val}, "test": {"accuracy": test, "macro_f1": test / 2}}
    rules = {"ood_val": {"epoch": 1, "scores": scores}}
    data = {"name": "cbas", "shift": "concept", "sha256": "a", "metric": "accuracy"}
    return Finished(f"{method}-{seed}", data, config, rules, None, 7.0, {})


ERM = [0.48, 0.50, 0.52, 0.50]
TAR = [0.60, 0.61, 0.65, 0.62]


@pytest.fixture
def ledger():
    runs = [made_up("erm", seed, score) for seed, score in zip(SEEDS, ERM, strict=True)]
    runs += [made_up("tar", seed, score) for seed, score in zip(SEEDS, TAR, strict=True)]
    return Ledger(runs)


PLAIN = sheet(Row("ERM", ("erm",), "erm"), Row("TAR", ("tar",), "tar"))


def test_a_cell_is_mean_and_spread_of_its_runs(ledger):
    (erm,), (tar,) = fill(PLAIN, ledger).cells
    assert tar.sample.mean == pytest.approx(100 * np.mean(TAR))
    assert tar.sample.deviation == pytest.approx(100 * np.std(TAR, ddof=1))
    assert tar.off == pytest.approx(100 * np.mean(TAR) - 60)
    assert (erm.reproduces(), tar.reproduces(), tar.reproduces(3)) == (True, False, True)


def test_gains_are_paired_by_seed_and_corrected_over_the_whole_table(ledger):
    two = dataclasses.replace(PLAIN, rows=(*PLAIN.rows, Row("TAR again", ("tar",))))
    (erm,), (tar,), (again,) = fill(two, ledger).cells
    expected = stats.ttest_rel(TAR, ERM).pvalue
    assert erm.gain is None
    assert tar.gain.p_value == pytest.approx(expected)
    assert tar.adjusted == pytest.approx(2 * expected)
    assert again.adjusted == pytest.approx(2 * expected)


def test_a_block_is_held_against_its_own_first_row(ledger):
    rows = (Row("ERM", ("erm",), block="a"), Row("TAR", ("tar",), block="b"))
    (_,), (tar,) = fill(sheet(*rows), ledger).cells
    assert tar.gain is None


def test_another_metric_comes_from_the_same_runs(ledger):
    column = dataclasses.replace(COLUMN, metric="macro_f1")
    (erm,), _ = fill(dataclasses.replace(PLAIN, columns=(column,)), ledger).cells
    assert erm.sample.mean == pytest.approx(25.0)


def test_what_is_missing_is_planned_and_nothing_else(ledger):
    assert plan([PLAIN], ledger).work == []
    less = Ledger([run for run in ledger if run.config.seed != SEEDS[2]])
    missing = plan([PLAIN], less)
    assert [(asked["method"], asked["seed"]) for asked in missing.work] == [
        ("erm", SEEDS[2]),
        ("tar", SEEDS[2]),
    ]
    assert missing.seconds == 14.0
    assert plan([PLAIN, PLAIN], less).work == missing.work  # a run that two tables need is one


VREX = ("tar:beta=1.0", "tar:beta=0.1", "tar:beta=0.01", "tar:beta=0.001")


def test_candidates_are_chosen_in_rounds_on_validation_and_never_on_test():
    searched = sheet(Row("TAR", VREX), tuning=((1, 1.0), (3, 0.5)))
    row = searched.rows[0]
    runs = []
    first = choose(searched, row, COLUMN, Ledger(runs))
    assert [(a["method"], a["seed"]) for a in first.missing] == [(s, SEEDS[0]) for s in VREX]
    assert first.later == 2 * 2 + 1
    # The test scores say the opposite of the validation scores.
    val = dict(zip(VREX, [0.1, 0.9, 0.8, 0.2], strict=True))
    runs += [made_up(spec, SEEDS[0], 1 - val[spec], val[spec]) for spec in VREX]
    second = choose(searched, row, COLUMN, Ledger(runs))
    assert {a["method"] for a in second.missing} == {VREX[1], VREX[2]}
    assert {a["seed"] for a in second.missing} == {SEEDS[1], SEEDS[2]}
    for seed in SEEDS[1:3]:
        runs += [made_up(VREX[1], seed, 0.9, 0.5), made_up(VREX[2], seed, 0.1, 0.8)]
    third = choose(searched, row, COLUMN, Ledger(runs))
    assert third.spec == VREX[2]
    assert [a["seed"] for a in third.missing] == [SEEDS[3]]


def test_without_a_search_published_values_stand():
    row = Row("TAR", grid("tar"))
    column = dataclasses.replace(COLUMN, search=False)
    assert choose(sheet(row), row, column, Ledger([])).spec == "tar"


def test_the_best_is_bold_the_second_underlined_and_the_paper_in_brackets(ledger):
    text = render.markdown(fill(PLAIN, ledger))
    assert "**62.00 ± 2.16**" in text
    assert "<u>50.00 ± 1.63</u> [50.00 ± 2.00]" in text
    latex = render.latex(fill(PLAIN, ledger))
    assert r"\textbf{62.00$\pm$2.16}" in latex
    assert r"\underline{50.00$\pm$1.63}" in latex
    assert latex.count(r"\midrule") == 1


def test_a_cell_without_runs_is_a_dash_with_its_reason(ledger):
    rows = (*PLAIN.rows, Row("EERM", ("eerm",), "eerm"))
    text = render.markdown(fill(sheet(*rows), ledger))
    assert "| EERM | – |" in text
    assert "not run: EERM on cbas concept" in text


def test_a_cell_of_fewer_runs_than_planned_says_so(ledger):
    less = Ledger([run for run in ledger if run.config.seed != SEEDS[2]])
    assert "fewer runs: ERM, TAR on cbas concept (3 of 4)." in render.markdown(fill(PLAIN, less))


def test_the_csv_has_every_figure(ledger):
    lines = list(csv.DictReader(io.StringIO(render.csv_text(fill(PLAIN, ledger)))))
    assert [line["method"] for line in lines] == ["ERM", "TAR"]
    assert float(lines[1]["gain"]) == pytest.approx(12.0)
    assert float(lines[1]["p"]) == pytest.approx(stats.ttest_rel(TAR, ERM).pvalue, abs=1e-5)
    assert lines[1]["runs"] == "4"


def test_text_cannot_become_markup(ledger):
    rows = (Row("<script>&_", ("erm",)),)
    page = render.html(fill(sheet(*rows), ledger))
    assert "<script>" not in page
    assert r"\&\_" in render.latex(fill(sheet(*rows), ledger))


def test_every_number_of_the_paper_has_its_cell():
    for made in sheets().values():
        rows = {row.printed for row in made.rows}
        columns = {column.printed for column in made.columns}
        for row, column in made.numbers:
            assert row in rows, made.name
            assert column in columns or column.startswith("cora_word"), made.name


def test_the_papers_printed_numbers_are_read_as_printed():
    assert published.TABLE_1["eerm", "webkb/covariate"] == (26.59, 10.17)
    assert published.TABLE_1["eerm", "twitch/concept"] == (None, None)
    assert published.TABLE_2["graphens+tar", "pubmed_lt/macro_f1"] == (74.40, 0.81)
    assert len(published.TABLE_1) == 72
    assert len(published.TABLE_2) == 90


def test_a_quick_look_says_so_and_shares_no_run_with_the_real_table():
    fast = quick(sheets()["table-reconnect-ood"])
    assert "QUICK LOOK" in render.caption(fill(fast, Ledger([])))
    row, column = fast.rows[0], fast.columns[0]
    assert all(asked["epochs"] == 10 for asked in choose(fast, row, column, Ledger([])).missing)


def test_missing_runs_are_done_and_what_was_done_is_not_done_again(tmp_path):
    settings = {"epochs": 1, "hidden": 4, "layers": 1, "steps_per_epoch": 1, "coverage": 1}
    small = dataclasses.replace(
        PLAIN,
        columns=(dataclasses.replace(COLUMN, seeds=2),),
        settings=tuple(settings.items()),
    )
    titles = []

    def watch(folders, epochs, title):
        titles.append((len(folders), epochs, title))
        return nullcontext()

    for _ in range(2):
        problems = carry_out([small], root=tmp_path, compact=None, data=None, jobs=1, watch=watch)
        assert problems == []
    assert titles == [(4, 4, "4 runs")]
    assert fill(small, Ledger.read(tmp_path)).cells[0][0].sample.count == 2


def test_a_run_that_fails_is_tried_once_and_named(tmp_path, monkeypatch):
    failing = sheet(Row("?", ("erm",)), settings=(("lr", 1e30), ("epochs", 2)))
    failing = dataclasses.replace(failing, columns=(dataclasses.replace(COLUMN, seeds=1),))
    watch = lambda *_: nullcontext()  # noqa: E731
    problems = carry_out([failing], root=tmp_path, compact=None, data=None, jobs=1, watch=watch)
    assert len(problems) == 1
    assert "no longer a number" in problems[0]


def test_a_figure_is_drawn_from_the_same_records(tmp_path):
    values = {1: 0.6, 10: 0.7}
    runs = [made_up("erm", seed, 0.5) for seed in SEEDS]
    runs += [made_up(f"tar:steps={v}", seed, s) for v, s in values.items() for seed in SEEDS]
    drawn = figures.sheet("figure-steps", (1, 10), "steps")
    table = fill(drawn, Ledger(runs))
    assert [line[0].sample.mean for line in table.cells] == pytest.approx([50, 60, 70])
    figures.draw(table, tmp_path / "steps", "steps")
    first = (tmp_path / "steps.png").read_bytes()
    figures.draw(table, tmp_path / "steps", "steps")
    assert (tmp_path / "steps.png").read_bytes() == first
    assert (tmp_path / "steps.pdf").exists()


def test_an_output_is_written_without_a_run(tmp_path):
    out = make("table-reconnect-lt", root=tmp_path, compact=None, out=tmp_path / "out", run=False)
    assert sorted(path.suffix for path in out.files) == [".csv", ".html", ".md", ".tex"]
    assert out.missing.work


def test_the_flow_is_drawn_without_a_run(tmp_path):
    out = make("figure-flow", root=tmp_path, compact=None, out=tmp_path / "out")
    assert [path.suffix for path in out.files] == [".png", ".pdf"]
    assert all(path.stat().st_size > 10_000 for path in out.files)
    assert not out.missing.work


def test_an_unknown_output_is_named_with_those_there_are(tmp_path):
    with pytest.raises(InputError, match="there are table1"):
        make("table9", root=tmp_path)
    assert "all" in NAMES
