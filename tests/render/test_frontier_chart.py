"""The picture and the table of a frontier: well formed, complete, the policy's point marked."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from tclose.assess.frontier import Figures, Frontier, Point
from tclose.model import AttributeResult, ClassSizes
from tclose.render.frontier_chart import MEASURES, draw_frontier
from tclose.render.frontier_tables import describe_frontier, report_frontier

REASON = "partition a<b&'c': is at distance 0.25"


def figures(k: int, t: float) -> Figures:
    attribute = AttributeResult('pay & "bonus"', Fraction(str(t)), t * 0.9, 0)
    return Figures(ClassSizes(100, k, 3 * k, 1.5 * k), 0.001 / t, (attribute,), 0.3 / k)


def frontier(ks=(2, 5), ts=(0.05, 0.1, 0.2), policy=(5, 0.1), infeasible=()) -> Frontier:
    points = tuple(
        Point(k, t, (k, t) == policy, None, REASON)
        if (k, t) in infeasible
        else Point(k, t, (k, t) == policy, figures(k, t or 0.5))
        for k in ks
        for t in ts
    )
    return Frontier("people", 50_000, 20_000, 10_000, 3, points)


def draw(given: Frontier) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(draw_frontier(given)).iter())


def of_class(elements: list[ElementTree.Element], name: str) -> list[ElementTree.Element]:
    return [e for e in elements if e.get("class") == name]


def texts(elements: list[ElementTree.Element]) -> str:
    return "\n".join(e.text or "" for e in elements)


def test_every_point_is_drawn_where_its_figures_are():
    drawn = draw(frontier())
    dots = [e for e in drawn if e.tag.endswith("circle") and e.get("class") is None]
    assert len(dots) == 2 * 6
    left = dots[:3]
    assert [float(e.get("cx")) for e in left] == sorted(float(e.get("cx")) for e in left)
    steps = [float(b.get("cx")) - float(a.get("cx")) for a, b in pairwise(left)]
    assert steps[0] == pytest.approx(steps[1], abs=0.2)  # halving t is the same step everywhere
    heights = [float(e.get("cy")) for e in left]
    assert heights == sorted(heights)  # less loss is lower: y grows downwards
    for e in dots:
        assert 0 < float(e.get("cx")) < 980
        assert 112 <= float(e.get("cy")) <= 392


def test_the_policys_point_is_ringed_in_both_panels():
    drawn = draw(frontier())
    rings = [e for e in of_class(drawn, "policy") if e.get("data-k")]
    assert [(e.get("data-k"), e.get("data-t")) for e in rings] == [("5", "0.1")] * 2
    places = {(e.get("cx"), e.get("cy")) for e in drawn if e.get("class") is None}
    assert {(e.get("cx"), e.get("cy")) for e in rings} <= places
    assert "the policy: k = 5, t = 0.1" in texts(drawn)


def test_says_what_it_shows():
    said = texts(draw(frontier()))
    for measure in MEASURES:
        assert measure.title in said
        assert measure.unit in said
    assert "20,000 of 50,000 records (seed 3)" in said
    assert "usually larger than on the whole table" in said
    assert "t (largest distance of a class to the table)" in said


def test_infeasible_points_are_crosses_and_break_the_line():
    given = frontier(infeasible=[(5, 0.1), (2, 0.05)])
    drawn = draw(given)
    assert len(of_class(drawn, "infeasible")) == 2 * 2 + 1
    assert REASON in texts(drawn)
    assert not [e for e in of_class(drawn, "policy") if e.get("data-k")]
    assert "the policy: k = 5, t = 0.1 (infeasible)" in texts(drawn)
    assert len([e for e in drawn if e.tag.endswith("polyline")]) == 2 * 3


def test_nothing_feasible_is_still_a_picture_and_a_table():
    given = frontier(infeasible=[(k, t) for k in (2, 5) for t in (0.05, 0.1, 0.2)])
    assert len(of_class(draw(given), "infeasible")) == 2 * 6 + 1
    assert report_frontier(given).count(f"infeasible: {REASON}") == 6


@pytest.mark.parametrize("t", [0.1, None])
def test_one_t_gives_its_place_to_k(t):
    drawn = draw(frontier(ks=(2, 5, 10, 20), ts=(t,), policy=(5, t)))
    assert "k (records in a class, at least)" in texts(drawn)
    assert len([e for e in drawn if e.tag.endswith("polyline")]) == 2
    assert len([e for e in of_class(drawn, "policy") if e.get("data-k")]) == 2


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
    assert "larger" not in report_frontier(whole) + draw_frontier(whole)
    described = describe_frontier(whole)
    assert described["whole_table"]
    assert described["caution"] is None


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
