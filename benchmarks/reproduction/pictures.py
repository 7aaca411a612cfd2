"""Curves side by side, as one SVG picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tclose.render.charts import chart_style, line_styles, make_figure, to_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_WIDTH, _HEIGHT = 4.4, 5.0  # inches


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
    with chart_style():
        return to_svg(make_charts_figure(title, basis, charts, like=like), title)


def make_charts_figure(
    title: str, basis: str, charts: Sequence[Chart], *, like: bool = False
) -> "Figure":
    """The picture as matplotlib has it."""
    figure = make_figure(_PANEL_WIDTH * len(charts), _HEIGHT, title, [basis])
    panels = figure.subplots(1, len(charts), squeeze=False, sharey=like)[0]
    for axes, chart in zip(panels, charts, strict=True):
        _draw_chart(axes, chart)
        if like:
            axes.label_outer()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=2 * len(charts))
    return figure


def _draw_chart(axes: "Axes", chart: Chart) -> None:
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    axes.set_title(chart.title)
    axes.set_xlabel(chart.x_name)
    axes.set_ylabel(chart.y_name)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.minorticks_off()
    for curve, style in zip(
        chart.curves, line_styles(len(chart.curves), thinnest=1.0, step=0.8), strict=True
    ):
        x, y = zip(*curve.points, strict=True)
        axes.plot(x, y, marker="o", label=curve.label, **style)


def write_picture(folder: Path, name: str, picture: str) -> None:
    """Write a picture to a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.svg").write_text(picture, encoding="utf-8")
