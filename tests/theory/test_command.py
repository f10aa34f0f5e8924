import json

import pytest

from upwind.theory import listing, show_theory
from upwind.theory.check import Findings
from upwind.theory.guard import PAPER, Guard
from upwind.theory.picture import draw_findings
from upwind.theory.theorems import Decay, EulerStep, Theorem1, Theorem2


@pytest.fixture
def found():
    from upwind import Reach

    return Findings(
        euler=[EulerStep("path", tau, tau**2) for tau in (0.1, 0.05)],
        order={"path": 2.0},
        theorem_1=[Theorem1("path", 0.1, 0.06, 1.45, 1.48, 1.48, 1e-8)],
        decay=[Decay("path", 6, beta, beta, beta, beta / 2, beta * 2) for beta in (0.5, 1.0, 2.0)],
        theorem_2=[Theorem2("path", 6, 0.5, t, 0.98, t / 2) for t in (0.1, 1.0)],
        guard=[Guard(PAPER[0], Reach(0.0099, 1.2, 1.1), Reach(0.4, 1.6, 1.5))],
        absent=["cbas covariate: not there"],
    )


def test_it_prints_a_table_for_each_claim(found, monkeypatch, capsys):
    monkeypatch.setattr(listing, "check_theory", lambda *_: found)
    show_theory(seed=0, data=None, figure=None, figure_flow=None, as_json=False)
    out, err = capsys.readouterr()
    for words in ("Euler step", "Theorem 1", "Theorem 2", "Reach", "0.99% of the mass moves by"):
        assert words in out
    assert "left out cbas covariate" in err


def test_as_json_it_prints_one_document(found, monkeypatch, capsys):
    monkeypatch.setattr(listing, "check_theory", lambda *_: found)
    show_theory(seed=3, data=None, figure=None, figure_flow=None, as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert document["seed"] == 3
    assert document["theorem_1"][0]["ball"] == 1.48
    assert "0.99% of the mass" in document["guard"][0]["sentence"]


def test_what_was_measured_is_drawn(found, tmp_path):
    draw_findings(found, tmp_path / "theory.png")
    assert (tmp_path / "theory.png").stat().st_size > 10_000


@pytest.mark.slow
def test_every_check_runs(capsys, tmp_path):
    show_theory(seed=1, data=tmp_path, figure=None, figure_flow=None, as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert all(abs(order - 2) < 0.2 for order in document["order"].values())
    assert all(row["ratio"] > row["promised"] for row in document["theorem_2"])
