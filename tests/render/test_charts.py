"""Scales and ticks of pictures: values where they belong, ticks around all of them."""

from itertools import pairwise
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables import repeatable
from tclose.render.charts import (
    COLOURS,
    Panel,
    Scale,
    draw_grid,
    draw_line,
    log_ticks,
    round_ticks,
    style_lines,
)

values = st.floats(1e-9, 1e9)


def test_a_scale_puts_values_in_proportion():
    scale = Scale(0.0, 4.0, 300.0, 100.0)
    assert [scale.place(v) for v in (0, 1, 4)] == [300, 250, 100]


def test_a_scale_by_logarithm_puts_ratios_in_proportion():
    scale = Scale(0.01, 100.0, 0.0, 400.0, is_log=True)
    assert [scale.place(v) for v in (0.01, 0.1, 1, 100)] == pytest.approx([0, 100, 200, 400])
    assert scale.place(3) == pytest.approx(200 + 100 * log(3) / log(10))


def test_one_value_is_in_the_middle():
    assert Scale(5.0, 5.0, 10.0, 30.0).place(5.0) == 20


@repeatable
@given(values, values)
def test_logarithmic_ticks_are_just_around_all_values(a, b):
    ticks = log_ticks(min(a, b), max(a, b))
    assert 2 <= len(ticks) <= 22
    assert ticks[0] <= min(a, b) < ticks[0] * 10.0001
    assert ticks[-1] >= max(a, b) > ticks[-1] / 10.0001 or len(ticks) == 2
    assert all(1.9 < y / x < 10.1 for x, y in pairwise(ticks))


def test_logarithmic_ticks_are_finer_where_there_is_room():
    assert log_ticks(0.011, 0.04) == [0.01, 0.02, 0.05]
    assert log_ticks(0.011, 40) == [0.01, 0.1, 1, 10, 100]
    assert log_ticks(1, 1) == [1, 2]


@repeatable
@given(values)
def test_round_ticks_reach_beyond_the_largest_value(largest):
    ticks = round_ticks(largest)
    assert ticks[0] == 0
    assert ticks[-2] <= 1.04 * largest <= ticks[-1] * 1.000001
    assert 4 <= len(ticks) <= 7


def test_labels_that_would_run_into_one_another_are_left_out():
    x = Scale(0.0, 100.0, 0.0, 100.0)
    panel = Panel(0, 0, 100, 100, x, Scale(0.0, 1.0, 100.0, 0.0))
    drawn = "\n".join(draw_grid(panel, [0, 10, 40, 80], [0, 1]))
    assert [f">{tick}<" in drawn for tick in (0, 10, 40, 80)] == [True, False, True, True]
    assert drawn.count("v5'") == 4


def test_points_say_what_they_are_and_are_escaped():
    x = Scale(0.0, 1.0, 0.0, 100.0)
    panel = Panel(0, 0, 100, 100, x, x)
    drawn = list(draw_line(panel, [(0, 0, "a < b"), (1, 0.5, "c")], "#000", 2.0))
    assert "points='0.0,0.0 100.0,50.0'" in drawn[0]
    assert "a &lt; b" in drawn[1]


def test_lines_below_others_are_wider_and_colours_begin_again():
    styles = style_lines(len(COLOURS) + 2, thinnest=1.5, step=1.0, steps=3)
    assert [colour for colour, _ in styles] == [*COLOURS, *COLOURS[:2]]
    assert [width for _, width in styles] == [4.5] * 6 + [3.5, 2.5, 1.5]
