"""A frontier as a picture: information loss and record-linkage risk against t, a line for each k.

Plain SVG. Distances on the t axis are ratios: what halving t costs is the same step everywhere.
Where the grid has one t only, k takes its place.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from tclose.assess.frontier import Figures, Frontier, Point
from tclose.render.charts import (
    LEFT,
    Axis,
    Layout,
    Panel,
    draw_axes,
    draw_key,
    draw_line,
    draw_picture,
    draw_text,
    round_ticks,
    style_lines,
)
from tclose.render.frontier_tables import SAMPLED, describe_basis, describe_t

WIDTH, HEIGHT = 980, 530
PANEL_LEFTS, PANEL_TOP = (LEFT, 570), 112
_STRIP_STEP = 12
_HALO = "stroke='white' stroke-width='4' paint-order='stroke' stroke-linejoin='round'"


@dataclass(frozen=True)
class _Measure:
    """What a panel shows."""

    title: str
    unit: str
    read: Callable[[Figures], float]


MEASURES = (
    _Measure("Information loss", "normalised SSE per record and quasi-identifier",
             lambda figures: figures.loss),
    _Measure("Record-linkage risk", "records linked to their own, in %",
             lambda figures: 100 * figures.risk),
)  # fmt: skip


_Points = tuple[tuple[float, Point], ...]


@dataclass(frozen=True)
class _Line:
    """Points of one k, or of all k where there is one t; how it is called and drawn."""

    label: str
    points: _Points
    colour: str
    width: float


def draw_frontier(frontier: Frontier) -> str:
    """The picture as SVG text."""
    lines, x_label = _make_lines(frontier)
    title = f"{frontier.name}: what k and t cost, and what they give"
    basis = [f"computed on {describe_basis(frontier)}", *([] if frontier.is_whole else [SAMPLED])]
    strip = _STRIP_STEP * len(lines) if any(p.figures is None for p in frontier.points) else 0
    layout = Layout(PANEL_TOP, width=390, height=280, padding=24, strip=strip)
    parts: list[str] = []
    for left, measure in zip(PANEL_LEFTS, MEASURES, strict=True):
        parts += _draw_panel(layout, left, measure, lines, x_label)
    parts += _draw_legend(frontier, lines, HEIGHT + strip - 65)
    return draw_picture(WIDTH, HEIGHT + strip, title, basis, parts)


def _make_lines(frontier: Frontier) -> tuple[tuple[_Line, ...], str]:
    """The lines, and what their x is."""
    if len({point.t for point in frontier.points}) == 1:
        of_k = tuple((float(point.k), point) for point in frontier.points)
        t = frontier.points[0].t
        label = "k-anonymity alone" if t is None else f"t = {describe_t(t)}"
        return _style([(label, of_k)]), "k (records in a class, at least)"
    by_k = groupby(frontier.points, lambda p: p.k)
    of_t = [(f"k = {k}", tuple((p.t, p) for p in points if p.t is not None)) for k, points in by_k]
    return _style(of_t), "t (largest distance of a class to the table)"


def _style(lines: Sequence[tuple[str, _Points]]) -> tuple[_Line, ...]:
    styles = style_lines(len(lines), thinnest=2.0, step=2.0, steps=3)
    return tuple(_Line(*line, *style) for line, style in zip(lines, styles, strict=True))


def _draw_panel(
    layout: Layout, left: int, measure: _Measure, lines: tuple[_Line, ...], x_label: str
) -> Iterator[str]:
    values = [measure.read(p.figures) for line in lines for _, p in line.points if p.figures]
    x = Axis(x_label, sorted({x for line in lines for x, _ in line.points}), is_log=True)
    y = Axis(measure.unit, round_ticks(max(values, default=0.0)))
    panel = layout.panel(left, x, y)
    yield f"<g><title>{escape(measure.title)}</title>"
    yield from draw_axes(panel, measure.title, x, y)
    for line in lines:
        yield from _draw_line(panel, measure, line)
    for place, line in enumerate(lines):
        yield from _draw_crosses(panel, line, panel.bottom + 10 + _STRIP_STEP * place)
    yield from _mark_policy(panel, measure, lines)
    yield "</g>"


def _draw_line(panel: Panel, measure: _Measure, line: _Line) -> Iterator[str]:
    """The line through neighbouring points, broken where one is infeasible."""
    for _, points in groupby(line.points, lambda pair: pair[1].figures is not None):
        drawn = [(x, measure.read(p.figures), _say(p, p.figures)) for x, p in points if p.figures]
        if drawn:
            yield from draw_line(panel, drawn, line.colour, line.width)


def _draw_crosses(panel: Panel, line: _Line, y: float) -> Iterator[str]:
    """What is infeasible: crosses below the axis, each line's at a height of its own."""
    for value, point in line.points:
        if point.figures is None:
            yield _cross(panel.x.place(value), y, line.colour, point.reason)


def _cross(x: float, y: float, colour: str, reason: str) -> str:
    arms = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
    return (
        f"<path class='infeasible' d='{arms}' stroke='{colour}' stroke-width='2'>"
        f"<title>{escape(f'infeasible: {reason}')}</title></path>"
    )


def _say(point: Point, figures: Figures) -> str:
    loss, risk = f"loss {figures.loss:.3g}", f"linked {figures.risk:.3%}"
    return f"{_name(point)}: mean class size {figures.classes.mean:.2f}, {loss}, {risk}"


def _name(point: Point) -> str:
    return f"k = {point.k}" if point.t is None else f"k = {point.k}, t = {point.t:g}"


def _mark_policy(panel: Panel, measure: _Measure, lines: tuple[_Line, ...]) -> Iterator[str]:
    """A ring around the policy's point, above all lines."""
    for line in lines:
        for value, point in line.points:
            if not point.is_policy or point.figures is None:
                continue
            x, y = panel.x.place(value), panel.y.place(measure.read(point.figures))
            down = y < PANEL_TOP + 40
            yield _ring(x, y, f"data-k='{point.k}' data-t='{describe_t(point.t)}'")
            label = draw_text(
                x, y + (27 if down else -17), "policy", anchor="middle", weight="bold"
            )
            yield f"<g {_HALO}>{label}</g>"


def _ring(x: float, y: float, data: str = "") -> str:
    shape = "fill='none' stroke='#222' stroke-width='2.5'"
    return f"<circle class='policy' cx='{x:.1f}' cy='{y:.1f}' r='10' {shape} {data}/>"


def _draw_legend(frontier: Frontier, lines: tuple[_Line, ...], y: int) -> Iterator[str]:
    """Below the panels: the lines, the ring, and the cross where there is one."""
    x = LEFT
    for line in lines:
        yield from draw_key(x, y, line.label, line.colour, line.width)
        x += 110
    for policy in (point for point in frontier.points if point.is_policy):
        label = f"the policy: {_name(policy)}" + ("" if policy.figures else " (infeasible)")
        yield _ring(92, y + 32)
        yield draw_text(110, y + 36, label)
    if any(point.figures is None for point in frontier.points):
        yield _cross(424, y + 32, "#222", "no release of these records meets k and t")
        yield draw_text(436, y + 36, "infeasible")
