"""Curves side by side, as one SVG picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tclose.render.charts import (
    LEFT,
    Axis,
    Layout,
    draw_axes,
    draw_key,
    draw_line,
    draw_picture,
    log_ticks,
    style_lines,
)

GAP, BELOW = 96, 100  # beside panels and below them
LAYOUT = Layout(top=104, width=290, height=280, padding=16)
_LETTER, _KEY, _ROW = 6, 48, 20  # of a legend's entry: places per letter, beside them, and down


@dataclass(frozen=True)
class Curve:
    """A line: what it is called, and its points (x, y), y above 0."""

    label: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Chart:
    """A panel of curves; x as it is, y by its logarithm."""

    title: str
    x_name: str
    y_name: str
    curves: tuple[Curve, ...]


def draw_charts(title: str, basis: str, charts: Sequence[Chart], *, like: bool = False) -> str:
    """The picture as SVG text; the first chart's curves are the legend's.

    Parameters
    ----------
    basis : from what data
    like : the charts have the same y axis
    """
    step, bottom = LAYOUT.width + GAP, LAYOUT.top + LAYOUT.height + BELOW
    width = LEFT + len(charts) * step - GAP + 30
    legend = _place_legend(charts[0].curves, width)
    parts: list[str] = []
    for i, chart in enumerate(charts):
        parts += _draw_chart(chart, charts if like else [chart], LEFT + i * step)
    for (x, y), (curve, colour, thick) in zip(legend, _style(charts[0].curves), strict=True):
        parts += draw_key(x, bottom - 24 + y, curve.label, colour, thick)
    return draw_picture(width, bottom + max(y for _, y in legend), title, [basis], parts)


def _draw_chart(chart: Chart, scaled: Sequence[Chart], left: int) -> list[str]:
    """A panel; ``scaled``: the charts that its y axis has to hold."""
    points = [point for one in scaled for curve in one.curves for point in curve.points]
    xs = sorted({x for curve in chart.curves for x, _ in curve.points})
    ticks = log_ticks(min(y for _, y in points), max(y for _, y in points))
    across, up = Axis(chart.x_name, xs), Axis(chart.y_name, ticks, is_log=True)
    panel = LAYOUT.panel(left, across, up)
    parts = [*draw_axes(panel, chart.title, across, up)]
    for curve, colour, thick in _style(chart.curves):
        said = [(x, y, f"{curve.label}: {y:.4g} at {x:g}") for x, y in curve.points]
        parts += draw_line(panel, said, colour, thick)
    return parts


def _style(curves: Sequence[Curve]) -> list[tuple[Curve, str, float]]:
    """Each curve, its colour and its width."""
    styles = style_lines(len(curves), thinnest=1.5, step=1.0, steps=4)
    return [(curve, *style) for curve, style in zip(curves, styles, strict=True)]


def _place_legend(curves: Sequence[Curve], width: int) -> list[tuple[int, int]]:
    """Where each entry of the legend is, in rows as long as the picture is wide."""
    places, x, y = [], LEFT, 0
    for curve in curves:
        took = _KEY + _LETTER * len(curve.label)
        if x + took > width and x > LEFT:
            x, y = LEFT, y + _ROW
        places.append((x, y))
        x += took
    return places


def write_picture(folder: Path, name: str, picture: str) -> None:
    """Write a picture to a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.svg").write_text(picture, encoding="utf-8")
