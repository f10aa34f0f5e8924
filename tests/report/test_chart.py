import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from upwind.report.chart import HEIGHT, WIDTH, Frame, around, number, style, ticks

finite = st.floats(-1e6, 1e6)


@given(finite, st.floats(1e-6, 1e6))
def test_ticks_are_a_few_round_numbers_inside_the_range(low, width):
    found = ticks((low, low + width))
    assert 2 <= len(found) <= 8
    slack = 1e-6 * (abs(low) + width)
    assert all(low - slack <= tick <= low + width + slack for tick in found)
    assert np.allclose(np.diff(found), found[1] - found[0], rtol=1e-2)


@given(st.lists(finite, min_size=1), st.floats(0, 10))
def test_a_range_around_values_holds_them_all(values, least):
    low, high = around([values], at_least=least)
    assert low < min(values)
    assert high > max(values)
    assert high - low >= least * (1 - 1e-6)


def test_a_frame_maps_its_corners_inside_the_picture():
    frame = Frame((0, 10), (-1, 1))
    left, right = frame.across([0, 10])
    bottom, top = frame.down([-1, 1])
    assert 0 < left < right < WIDTH
    assert 0 < top < bottom < HEIGHT
    assert frame.down(0) == pytest.approx((top + bottom) / 2)


def test_a_band_goes_along_the_top_and_back_along_the_bottom():
    frame = Frame((0, 1), (0, 1))
    path = frame.band([0, 1], [0, 0], [1, 1], 0)
    points = [tuple(map(float, pair)) for pair in re.findall(r"([\d.]+) ([\d.]+)(?=[LZ])", path)]
    assert points == [
        (round(float(frame.across(x)), 1), float(frame.down(y)))
        for x, y in ((0, 1), (1, 1), (1, 0), (0, 0))
    ]
    assert path.endswith('Z"/>')


def test_long_lines_are_thinned_to_what_can_be_seen():
    frame = Frame((0, 10_000), (0, 1))
    assert frame.line(np.arange(10_000), np.zeros(10_000), 0).count("L") < 260


def test_titles_are_escaped():
    chart = Frame((0, 1), (0, 1)).draw([], x_title="<x>", y_title="y", label='"><script>')
    assert "<x>" not in chart
    assert "<script>" not in chart


def test_methods_beyond_the_colours_have_other_dashes():
    assert len({style(slot) for slot in range(28)}) == 28


@pytest.mark.parametrize(
    ("tick", "among", "text"),
    [(0.5, [0.5, 1], "0.5"), (20, [0, 20], "20"), (1, [1, 1.005], "1.000")],
)
def test_ticks_have_the_decimals_that_they_need(tick, among, text):
    assert number(tick, among) == text
