"""The picture and the table of a frontier: complete, the policy's point marked."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from tclose.assess.frontier import ComputedFrontier, Figures, Point
from tclose.model.verification import AttributeResult, ClassSizes
from tclose.render.charts import chart_style
from tclose.render.frontier_chart import choose_measures, draw_frontier, make_frontier_figure
from tclose.render.frontier_tables import describe_frontier, report_frontier

REASON = "partition a<b&'c': is at distance 0.25"


def figures(k: int, t: float) -> Figures:
    attribute = AttributeResult('pay & "bonus"', Fraction(str(t)), t * 0.9, 0)
    return Figures(ClassSizes(100, k, 3 * k, 1.5 * k), 0.001 / t, (attribute,), 0.3 / k)


def frontier(ks=(2, 5), ts=(0.05, 0.1, 0.2), policy=(5, 0.1), infeasible=()) -> ComputedFrontier:
    points = tuple(
        Point(k, t, (k, t) == policy, None, REASON)
        if (k, t) in infeasible
        else Point(k, t, (k, t) == policy, figures(k, t or 0.5))
        for k in ks
        for t in ts
    )
    return ComputedFrontier("people", 50_000, 20_000, 10_000, 3, points)


def draw(given: ComputedFrontier) -> Any:
    pytest.importorskip("matplotlib")
    with chart_style():
        return make_frontier_figure(given)


def lines_of(axes: Any) -> list[Any]:
    """The lines of k, without rings and crosses."""
    return [line for line in axes.get_lines() if line.get_label().startswith(("k", "t"))]


def marked(axes: Any, what: str) -> list[tuple[float, float]]:
    """Points that are ringed or crossed."""
    found = [line.get_xydata().tolist() for line in axes.get_lines() if line.get_gid() == what]
    return [tuple(point) for points in found for point in points]


def said(figure: Any) -> str:
    texts = [*figure.texts, *figure.legends[0].texts]
    for axes in figure.axes:
        texts += [axes.title, axes.xaxis.label, axes.yaxis.label]
    # titles to the left are kept apart by matplotlib
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    return "\n".join([*(text.get_text() for text in texts), *titles])


def in_shares() -> ComputedFrontier:
    """The frontier of searches that lower shares of what one class loses."""
    points = tuple(
        replace(point, figures=replace(point.figures, of_one_class=0.3 / point.k))
        for point in frontier().points
        if point.figures is not None
    )
    return replace(frontier(), points=points)


@pytest.mark.parametrize("given", [frontier(), in_shares()], ids=["squares", "shares"])
def test_every_point_is_drawn_where_its_figures_are(given):
    for axes, measure in zip(draw(given).axes, choose_measures(given), strict=True):
        assert axes.get_xscale() == "log"  # halving t is the same step everywhere
        assert axes.get_ylim()[0] == 0
        drawn = [tuple(xy) for line in lines_of(axes) for xy in line.get_xydata().tolist()]
        assert drawn == [(p.t, measure.read(p.figures)) for p in given.points if p.figures]


def test_the_policys_point_is_ringed_in_both_panels():
    figure = draw(frontier())
    wanted = figures(5, 0.1)
    for axes, measure in zip(figure.axes, choose_measures(frontier()), strict=True):
        assert marked(axes, "policy") == [(0.1, measure.read(wanted))]
    assert "the policy: k = 5, t = 0.1" in said(figure)


def test_says_what_it_shows():
    text = said(draw(frontier()))
    for measure in choose_measures(frontier()):
        assert measure.title in text
        assert measure.unit in text
    assert "20,000 of 50,000 records (seed 3)" in text
    assert "usually larger than on the whole table" in text
    assert "t (largest distance of a class to the table)" in text


def test_the_loss_is_the_one_that_searches_lower():
    drawn = draw(in_shares())
    first = lines_of(drawn.axes[0])[0]
    assert first.get_ydata() == pytest.approx([15.0] * 3)  # of k = 2, in per cent
    assert "what is lost of what one class loses, in %" in said(drawn)
    assert "normalised SSE" not in said(drawn)


def test_infeasible_points_are_crosses_and_break_the_line():
    figure = draw(frontier(infeasible=[(5, 0.1), (2, 0.05)]))
    for axes in figure.axes:
        assert [x for x, _ in marked(axes, "infeasible")] == [0.05, 0.1]
        assert marked(axes, "policy") == []
        missing = [math.isnan(y) for line in lines_of(axes) for y in line.get_ydata()]
        assert missing == [True, False, False, False, True, False]
    assert "the policy: k = 5, t = 0.1 (infeasible)" in said(figure)
    assert "infeasible: no release of these records meets k and t" in said(figure)


def test_nothing_feasible_is_still_a_picture_and_a_table():
    given = frontier(infeasible=[(k, t) for k in (2, 5) for t in (0.05, 0.1, 0.2)])
    assert report_frontier(given).count(f"infeasible: {REASON}") == 6
    assert [len(marked(axes, "infeasible")) for axes in draw(given).axes] == [6, 6]
    assert draw_frontier(given).startswith("<svg ")


@pytest.mark.parametrize("t", [0.1, None])
def test_one_t_gives_its_place_to_k(t):
    figure = draw(frontier(ks=(2, 5, 10, 20), ts=(t,), policy=(5, t)))
    assert "k (records in a class, at least)" in said(figure)
    for axes in figure.axes:
        [line] = lines_of(axes)
        assert line.get_xdata().tolist() == [2, 5, 10, 20]
        assert len(marked(axes, "policy")) == 1


def test_the_table_has_a_line_for_each_point():
    given = frontier(infeasible=[(2, 0.05)])
    lines = report_frontier(given).splitlines()
    [marked] = [line for line in lines if line.startswith("  *  ")]
    assert marked.split() == ["*", "5", "0.1", "100", "7.50", "5", "15", "0.0900", "0.01", "6.000%"]
    assert [line.split("infeasible: ")[1] for line in lines if "infeasible: " in line] == [REASON]
    assert "random sample: 20,000 of 50,000 records (seed 3)" in report_frontier(given)
    assert "10,000 records, drawn at random," in report_frontier(given)
    heads = next(line for line in lines if "mean size" in line)
    figures_lines = [line for line in lines if line.endswith("%")]
    assert len(figures_lines) == 5
    assert {len(line) for line in (heads, *figures_lines)} == {len(heads)}


def test_the_whole_table_is_said_to_be_it():
    whole = replace(frontier(), n_records=50_000, n_attackers=50_000)
    assert "the whole table: 50,000 records" in report_frontier(whole)
    assert "larger" not in report_frontier(whole)
    described = describe_frontier(whole)
    assert described["whole_table"]
    assert described["caution"] is None


def test_the_picture_of_a_whole_table_cautions_nobody():
    whole = replace(frontier(), n_records=50_000, n_attackers=50_000)
    assert "larger" not in said(draw(whole))


def test_programs_read_the_same():
    described = describe_frontier(frontier(infeasible=[(2, 0.05)]))
    [point] = [p for p in described["points"] if p["is_policy"]]
    assert point["feasible"]
    assert point["classes"] == {"n_classes": 100, "smallest": 5, "largest": 15, "mean": 7.5}
    assert point["largest_emd"] == {'pay & "bonus"': pytest.approx(0.09)}
    assert (point["information_loss"], point["record_linkage_risk"]) == (0.01, 0.06)
    assert described["points"][0] == {
        "k": 2, "t": 0.05, "is_policy": False, "feasible": False, "reason": REASON,
    }  # fmt: skip
