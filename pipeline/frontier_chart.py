"""A frontier as a picture: information loss and record-linkage risk against t, a line for each k.

Plain SVG. Distances on the t axis are ratios: what halving t costs is the same step everywhere.
Where the grid has one t only, k takes its place.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby
from math import ceil, floor, log, log10

from pipeline.execution.frontier import Figures, Frontier, Point
from pipeline.frontier_report import SAMPLED, describe_basis, describe_t

WIDTH, HEIGHT = 980, 530
PANEL_WIDTH, PANEL_HEIGHT = 390, 280
PANEL_LEFTS, PANEL_TOP = (80, 570), 112
PADDING = 24  # between the frame and the first point
LEAST_LABEL_GAP = 34
# Okabe and Ito: told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_FONT = "font-family='Helvetica, Arial, sans-serif'"
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


@dataclass(frozen=True)
class _Line:
    """Points of one k, or of all k where there is one t; how it is called and drawn."""

    label: str
    points: tuple[tuple[float, Point], ...]
    colour: str
    width: float


@dataclass(frozen=True)
class _Axes:
    """From values to places in a panel; below it is a ``strip`` for what is infeasible."""

    left: int
    xs: tuple[float, ...]
    top_value: float
    strip: int

    def x(self, value: float) -> float:
        """Place across, by the logarithm."""
        low, high = log(self.xs[0]), log(self.xs[-1])
        share = (log(value) - low) / (high - low) if high > low else 0.5
        return self.left + PADDING + share * (PANEL_WIDTH - 2 * PADDING)

    def y(self, value: float) -> float:
        """Place down."""
        return PANEL_TOP + PANEL_HEIGHT * (1 - value / self.top_value)


def draw_frontier(frontier: Frontier) -> str:
    """The picture as SVG text."""
    lines, x_label = _make_lines(frontier)
    title = f"{frontier.name}: what k and t cost, and what they give"
    basis = f"computed on {describe_basis(frontier)}"
    strip = _STRIP_STEP * len(lines) if any(p.figures is None for p in frontier.points) else 0
    height = HEIGHT + strip
    size = f"viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' height='{height}'"
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='img' {_FONT} fill='#222'>",
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(basis)}</desc>",
        f"<rect width='{WIDTH}' height='{height}' fill='white'/>",
        _text(80, 32, title, size=18, weight="bold"),
        _text(80, 54, basis),
        *([] if frontier.is_whole else [_text(80, 71, SAMPLED)]),
    ]
    for left, measure in zip(PANEL_LEFTS, MEASURES, strict=True):
        parts += _draw_panel(left, strip, measure, lines, x_label)
    parts += _draw_legend(frontier, lines, height - 65)
    return "\n".join((*parts, "</svg>", ""))


def _make_lines(frontier: Frontier) -> tuple[tuple[_Line, ...], str]:
    """The lines, and what their x is."""
    if len({point.t for point in frontier.points}) == 1:
        of_k = tuple((float(point.k), point) for point in frontier.points)
        t = frontier.points[0].t
        label = "k-anonymity alone" if t is None else f"t = {describe_t(t)}"
        return (_Line(label, of_k, COLOURS[0], 2.0),), "k (records in a class, at least)"
    by_k = [(k, tuple(points)) for k, points in groupby(frontier.points, lambda p: p.k)]
    lines = []
    for i, (k, points) in enumerate(by_k):
        of_t = tuple((point.t, point) for point in points if point.t is not None)
        width = 2 + 2.0 * min(len(by_k) - 1 - i, 3)  # one that lies on another lets it be seen
        lines.append(_Line(f"k = {k}", of_t, COLOURS[i % len(COLOURS)], width))
    return tuple(lines), "t (largest distance of a class to the table)"


def _draw_panel(
    left: int, strip: int, measure: _Measure, lines: tuple[_Line, ...], x_label: str
) -> Iterator[str]:
    values = [measure.read(p.figures) for line in lines for _, p in line.points if p.figures]
    ticks = _ticks(max(values, default=0.0))
    xs = tuple(sorted({x for line in lines for x, _ in line.points}))
    axes = _Axes(left, xs, ticks[-1], strip)
    middle, bottom = left + PANEL_WIDTH / 2, PANEL_TOP + PANEL_HEIGHT + strip
    yield f"<g><title>{escape(measure.title)}</title>"
    yield _text(left, PANEL_TOP - 14, measure.title, size=14, weight="bold")
    yield from _draw_grid(axes, ticks)
    yield _text(middle, bottom + 40, x_label, anchor="middle")
    yield (
        f"<text transform='translate({left - 58},{PANEL_TOP + PANEL_HEIGHT / 2}) rotate(-90)' "
        f"font-size='12' text-anchor='middle'>{escape(measure.unit)}</text>"
    )
    for line in lines:
        yield from _draw_line(axes, measure, line)
    for place, line in enumerate(lines):
        yield from _draw_crosses(axes, line, bottom - strip + 10 + _STRIP_STEP * place)
    yield from _mark_policy(axes, measure, lines)
    yield "</g>"


def _draw_grid(axes: _Axes, ticks: list[float]) -> Iterator[str]:
    left, right, bottom = axes.left, axes.left + PANEL_WIDTH, PANEL_TOP + PANEL_HEIGHT
    for tick in ticks:
        y = axes.y(tick)
        yield f"<path d='M{left} {y:.1f}H{right}' stroke='#ddd'/>"
        yield _text(left - 8, y + 4, f"{tick:g}", anchor="end")
    last = float("-inf")
    for value in axes.xs:
        x = axes.x(value)
        yield f"<path d='M{x:.1f} {bottom}v5' stroke='#222'/>"
        if x - last >= LEAST_LABEL_GAP:
            yield _text(x, bottom + axes.strip + 20, f"{value:g}", anchor="middle")
            last = x
    yield f"<path d='M{left} {PANEL_TOP}V{bottom}H{right}' fill='none' stroke='#222'/>"


def _draw_line(axes: _Axes, measure: _Measure, line: _Line) -> Iterator[str]:
    """The line through neighbouring points, broken where one is infeasible."""
    for _, points in groupby(line.points, lambda pair: pair[1].figures is not None):
        drawn = [(x, p, p.figures) for x, p in points if p.figures is not None]
        if not drawn:
            continue
        places = [(axes.x(x), axes.y(measure.read(figures))) for x, _, figures in drawn]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield (
            f"<polyline points='{path}' fill='none' stroke='{line.colour}' "
            f"stroke-width='{line.width}' stroke-linejoin='round'/>"
        )
        for (x, y), (_, point, figures) in zip(places, drawn, strict=True):
            yield (
                f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{2 + line.width / 2:.1f}' "
                f"fill='{line.colour}'><title>{escape(_say(point, figures))}</title></circle>"
            )


def _draw_crosses(axes: _Axes, line: _Line, y: float) -> Iterator[str]:
    """What is infeasible: crosses below the axis, each line's at a height of its own."""
    for value, point in line.points:
        if point.figures is None:
            yield _cross(axes.x(value), y, line.colour, point.reason)


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


def _mark_policy(axes: _Axes, measure: _Measure, lines: tuple[_Line, ...]) -> Iterator[str]:
    """A ring around the policy's point, above all lines."""
    for line in lines:
        for value, point in line.points:
            if not point.is_policy or point.figures is None:
                continue
            x, y = axes.x(value), axes.y(measure.read(point.figures))
            down = y < PANEL_TOP + 40
            yield _ring(x, y, f"data-k='{point.k}' data-t='{describe_t(point.t)}'")
            label = _text(x, y + (27 if down else -17), "policy", anchor="middle", weight="bold")
            yield f"<g {_HALO}>{label}</g>"


def _ring(x: float, y: float, data: str = "") -> str:
    shape = "fill='none' stroke='#222' stroke-width='2.5'"
    return f"<circle class='policy' cx='{x:.1f}' cy='{y:.1f}' r='10' {shape} {data}/>"


def _draw_legend(frontier: Frontier, lines: tuple[_Line, ...], y: int) -> Iterator[str]:
    """Below the panels: the lines, the ring, and the cross where there is one."""
    x = 80
    for line in lines:
        yield f"<path d='M{x} {y}h24' stroke='{line.colour}' stroke-width='{line.width}'/>"
        yield _text(x + 30, y + 4, line.label)
        x += 110
    for policy in (point for point in frontier.points if point.is_policy):
        label = f"the policy: {_name(policy)}" + ("" if policy.figures else " (infeasible)")
        yield _ring(92, y + 32)
        yield _text(110, y + 36, label)
    if any(point.figures is None for point in frontier.points):
        yield _cross(424, y + 32, "#222", "no release of these records meets k and t")
        yield _text(436, y + 36, "infeasible")


def _ticks(largest: float) -> list[float]:
    """Round numbers from 0 to above the largest value, about five."""
    if largest <= 0:
        return [0.0, 1.0]
    rough = largest / 4
    size = 10.0 ** floor(log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if rough <= size * factor * 1.001)
    return [round(step * i, 12) for i in range(ceil(1.04 * largest / step) + 1)]


def _text(
    x: float, y: float, text: str, *, size: int = 12, anchor: str = "start", weight: str = "normal"
) -> str:
    style = f"font-size='{size}' text-anchor='{anchor}' font-weight='{weight}'"
    return f"<text x='{x:.1f}' y='{y:.1f}' {style}>{escape(text)}</text>"
