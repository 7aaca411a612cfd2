"""Curves side by side, as one SVG picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.charts import (
    COLOURS,
    Panel,
    Scale,
    draw_grid,
    draw_key,
    draw_line,
    draw_names,
    draw_text,
    log_ticks,
    open_picture,
)

LEFT, TOP, GAP, BELOW = 80, 104, 96, 100
PANEL_WIDTH, PANEL_HEIGHT, PADDING = 290, 280, 16
LINE_WIDTH, WIDER = 1.5, 1.0
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
    width = LEFT + len(charts) * (PANEL_WIDTH + GAP) - GAP + 30
    legend = _place_legend(charts[0].curves, width)
    height = TOP + PANEL_HEIGHT + BELOW + max(y for _, y in legend)
    parts = open_picture(width, height, title, basis)
    parts += [draw_text(LEFT, 32, title, size=18, weight="bold"), draw_text(LEFT, 54, basis)]
    for i, chart in enumerate(charts):
        parts += _draw_chart(chart, charts if like else [chart], LEFT + i * (PANEL_WIDTH + GAP))
    for (x, y), (curve, colour, thick) in zip(legend, _style(charts[0].curves), strict=True):
        parts += draw_key(x, TOP + PANEL_HEIGHT + BELOW - 24 + y, curve.label, colour, thick)
    return "\n".join((*parts, "</svg>", ""))


def _draw_chart(chart: Chart, scaled: Sequence[Chart], left: int) -> list[str]:
    """A panel; ``scaled``: the charts that its y axis has to hold."""
    points = [point for one in scaled for curve in one.curves for point in curve.points]
    xs = sorted({x for curve in chart.curves for x, _ in curve.points})
    ticks = log_ticks(min(y for _, y in points), max(y for _, y in points))
    x = Scale(xs[0], xs[-1], left + PADDING, left + PANEL_WIDTH - PADDING)
    y = Scale(ticks[0], ticks[-1], TOP + PANEL_HEIGHT, TOP, is_log=True)
    panel = Panel(left, TOP, PANEL_WIDTH, PANEL_HEIGHT, x, y)
    parts = [*draw_names(panel, chart.title, chart.x_name, chart.y_name)]
    parts += draw_grid(panel, xs, ticks)
    for curve, colour, thick in _style(chart.curves):
        said = [(x, y, f"{curve.label}: {y:.4g} at {x:g}") for x, y in curve.points]
        parts += draw_line(panel, said, colour, thick)
    return parts


def _style(curves: Sequence[Curve]) -> list[tuple[Curve, str, float]]:
    """Each curve, its colour and its width: one that lies on another lets it be seen."""
    n_above = [min(len(curves) - 1 - i, 4) for i in range(len(curves))]
    widths = [LINE_WIDTH + WIDER * n for n in n_above]
    return list(zip(curves, COLOURS, widths, strict=False))


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
