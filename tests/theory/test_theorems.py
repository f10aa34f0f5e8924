from types import SimpleNamespace

import pytest
import torch

from tests.flow.graphs import dense
from upwind import Reach
from upwind.data import load
from upwind.theory import draw_flow
from upwind.theory.cases import cases
from upwind.theory.check import steps_that_break
from upwind.theory.guard import Setting, guard
from upwind.theory.theorems import decay, flow_on, theorem_1, theorem_2

PATH, RING = cases(seed=0, sizes=(6,))


@pytest.mark.parametrize("tau", [0.01, 1.0])
def test_theorem_1_the_proximal_step_is_the_worst_case_in_the_ball_that_it_reaches(tau):
    found = theorem_1(RING, 0.3, tau)
    assert found.apart < 1e-5
    assert found.proximal == pytest.approx(found.ball, abs=1e-7)


def test_theorem_1_as_printed_is_false_by_the_penalty():
    found = theorem_1(RING, 0.3, 0.1)
    penalty = found.radius**2 / 0.2
    assert penalty > 0.01
    assert found.ball - found.penalized == pytest.approx(penalty, abs=1e-7)


@pytest.mark.parametrize("case", [PATH, RING], ids=["path", "ring"])
def test_theorem_2_holds_in_time(case):
    rate = decay(case, 1.0).least
    rows = list(theorem_2(case, 1.0, rate, [0.01 / rate, 0.3 / rate, 2 / rate], steps=4))
    assert all(row.promised < row.ratio <= 1 + 1e-3 for row in rows)


def test_theorem_2_fails_when_the_number_of_steps_stands_for_time():
    """At a fixed time the ratio is below one, and 1 - exp(-C T_in) tends to one as tau falls."""
    rate = decay(PATH, 1.0).least
    (row,) = theorem_2(PATH, 1.0, rate, [0.3 / rate], steps=4)
    assert row.ratio < 0.999
    assert steps_that_break(row, rate) < 100


@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_near_the_limit_the_gap_closes_as_fast_as_the_spectral_gap_says(beta):
    for case in (PATH, RING):
        found = decay(case, beta)
        assert 0.97 * found.low <= found.rate <= 1.03 * found.high


def test_the_reach_grows_from_one_flow_to_a_training():
    cbas = load("cbas", shift="concept")
    found = guard(cbas, Setting("cbas", "concept", 1e-2, 10, 0.1, epochs=2), seed=0)
    assert 0 < found.one_flow.mass < found.whole_training.mass < 1
    assert found.one_flow.edges <= found.whole_training.edges
    assert isinstance(found.one_flow, Reach)


def test_with_one_labelled_node_every_loss_is_the_mean_and_nothing_moves():
    edges = torch.tensor([[0, 1], [1, 0]])
    data = SimpleNamespace(
        edge_index=edges,
        num_nodes=2,
        num_classes=2,
        train_mask=torch.tensor([True, False]),
        y=torch.tensor([0, 1]),
    )
    found = guard(data, Setting("two", "none", 1e-2, 10, 0.1, epochs=1), seed=0)
    assert found.whole_training.mass == 0


@pytest.mark.slow
def test_the_figure_of_the_flow_is_drawn(tmp_path):
    draw_flow(tmp_path / "new" / "flow.png")
    assert (tmp_path / "new" / "flow.png").stat().st_size > 20_000


def test_the_constant_that_the_documentation_proves_is_a_lower_bound():
    for case in (PATH, RING):
        for beta in (0.5, 2.0):
            n = len(case.losses)
            weight = torch.from_numpy(dense(case.graph))
            gap = torch.linalg.eigvalsh(weight.sum(1).diag() - weight)[1]
            mu = torch.exp(-(case.losses.max() - case.losses.min()) / beta) / n
            assert 0 < float(beta * mu * gap / (2 * n**0.5)) <= decay(case, beta).least


def test_the_least_ratio_of_density_and_limit_never_falls():
    beta, q = 0.5, PATH.start
    least = [(q / PATH.limit(beta)).min()]
    for _ in range(10):
        q = flow_on(PATH, q, beta, 0.3)
        least.append((q / PATH.limit(beta)).min())
    assert (torch.stack(least).diff() >= -1e-9).all()
