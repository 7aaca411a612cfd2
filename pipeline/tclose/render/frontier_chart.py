"""A frontier as a picture: information loss and record-linkage risk against t, a line for each k.

Distances on the t axis are ratios: what halving t costs is the same step everywhere. Where the grid
has one t only, k takes its place.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tclose.assess.frontier import ComputedFrontier, Figures, Point
from tclose.render.charts import INK, chart_style, line_styles, make_figure, to_svg
from tclose.render.frontier_tables import SAMPLED, describe_basis, describe_t, has_shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STRIP = 10  # points below the axis that the crosses of each line have
_RING: dict[str, Any] = {
    "marker": "o", "markersize": 15, "markerfacecolor": "none", "markeredgecolor": INK,
    "markeredgewidth": 2, "linestyle": "none",
}  # fmt: skip
_CROSS: dict[str, Any] = {
    "marker": "x", "markersize": 7, "markeredgewidth": 2, "linestyle": "none",
}  # fmt: skip
_BEHIND: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}


@dataclass(frozen=True)
class _Measure:
    """The measure that a panel shows."""

    title: str
    unit: str
    read: Callable[[Figures], float]


_SQUARES = _Measure(
    "Information loss",
    "normalised SSE per record and quasi-identifier",
    lambda figures: figures.loss,
)
_SHARES = _Measure(
    "Information loss",
    "what is lost of what one class loses, in %",
    lambda figures: 100 * (figures.of_one_class or 0.0),
)
_RISK = _Measure(
    "Record-linkage risk", "records linked to their own, in %", lambda figures: 100 * figures.risk
)


def choose_measures(frontier: ComputedFrontier) -> tuple[_Measure, ...]:
    """The measures that panels show: the loss is the one that searches lower."""
    return _SHARES if has_shares(frontier) else _SQUARES, _RISK


@dataclass(frozen=True)
class _Line:
    """Points (x, point) of one k, or of all k where there is one t; how it is called and drawn."""

    label: str
    points: tuple[tuple[float, Point], ...]
    style: dict[str, Any]


def draw_frontier(frontier: ComputedFrontier) -> str:
    """The picture as SVG text.

    Raises
    ------
    UsageError
        matplotlib is not installed.
    """
    with chart_style():
        return to_svg(make_frontier_figure(frontier), _title(frontier))


def _title(frontier: ComputedFrontier) -> str:
    return f"{frontier.name}: what k and t cost, and what they give"


def make_frontier_figure(frontier: ComputedFrontier) -> "Figure":
    """The picture as matplotlib has it: a panel for each measure, one legend below them."""
    lines, x_label = _make_lines(frontier)
    basis = [f"computed on {describe_basis(frontier)}", *([] if frontier.is_whole else [SAMPLED])]
    figure = make_figure(10.5, 5.6, _title(frontier), basis)
    measures = choose_measures(frontier)
    for axes, measure in zip(figure.subplots(1, len(measures)), measures, strict=True):
        _draw_panel(axes, measure, lines)
        axes.set_xlabel(x_label)
    _draw_legend(figure, frontier)
    return figure


def _make_lines(frontier: ComputedFrontier) -> tuple[list[_Line], str]:
    """The lines, and what their x is."""
    if len({point.t for point in frontier.points}) == 1:
        t = frontier.points[0].t
        label = "k-anonymity alone" if t is None else f"t = {describe_t(t)}"
        lines = [(label, tuple((float(point.k), point) for point in frontier.points))]
        x_label = "k (records in a class, at least)"
    else:
        by_k = groupby(frontier.points, lambda p: p.k)
        lines = [(f"k = {k}", tuple((p.t, p) for p in ps if p.t is not None)) for k, ps in by_k]
        x_label = "t (largest distance of a class to the table)"
    styles = line_styles(len(lines), thinnest=1.5, step=1.5)
    return [_Line(*line, style) for line, style in zip(lines, styles, strict=True)], x_label


def _draw_panel(axes: "Axes", measure: _Measure, lines: Sequence[_Line]) -> None:
    xs = sorted({x for line in lines for x, _ in line.points})
    axes.set_title(measure.title)
    axes.set_ylabel(measure.unit)
    axes.set_xscale("log")
    axes.set_xticks(xs, [f"{x:g}" for x in xs])
    axes.minorticks_off()
    axes.set_xlim(xs[0] / 1.15, xs[-1] * 1.15)
    for line in lines:
        y = [measure.read(p.figures) if p.figures else float("nan") for _, p in line.points]
        axes.plot([x for x, _ in line.points], y, marker="o", label=line.label, **line.style)
    axes.margins(y=0.15)
    axes.set_ylim(bottom=0)
    _draw_crosses(axes, lines)
    for x, figures in _policy_points(lines):
        axes.plot([x], [measure.read(figures)], gid="policy", zorder=5, **_RING)
        axes.annotate("policy", (x, measure.read(figures)), (0, 12), textcoords="offset points",
                      ha="center", weight="bold", zorder=6, bbox=_BEHIND)  # fmt: skip


def _policy_points(lines: Sequence[_Line]) -> Iterator[tuple[float, Figures]]:
    for line in lines:
        for x, point in line.points:
            if point.is_policy and point.figures is not None:
                yield x, point.figures


def _draw_crosses(axes: "Axes", lines: Sequence[_Line]) -> None:
    """Draw infeasible cells: crosses below the axis, each line's at a height of its own."""
    from matplotlib.transforms import ScaledTranslation

    if not any(point.figures is None for line in lines for _, point in line.points):
        return
    axes.tick_params(axis="x", pad=_STRIP * (len(lines) + 1))
    for i, line in enumerate(lines):
        if xs := [x for x, point in line.points if point.figures is None]:
            down = ScaledTranslation(0, -_STRIP * (i + 1) / 72, axes.figure.dpi_scale_trans)
            axes.plot(
                xs, [0] * len(xs), gid="infeasible", color=line.style["color"], clip_on=False,
                transform=axes.get_xaxis_transform() + down, **_CROSS,
            )  # fmt: skip


def _name(point: Point) -> str:
    return f"k = {point.k}" if point.t is None else f"k = {point.k}, t = {point.t:g}"


def _draw_legend(figure: "Figure", frontier: ComputedFrontier) -> None:
    """Below the panels: the lines, the ring, and the cross where there is one."""
    from matplotlib.lines import Line2D

    handles, labels = figure.axes[0].get_legend_handles_labels()
    for policy in (point for point in frontier.points if point.is_policy):
        handles.append(Line2D([], [], **_RING | {"markersize": 10}))
        labels.append(f"the policy: {_name(policy)}" + ("" if policy.figures else " (infeasible)"))
    if any(point.figures is None for point in frontier.points):
        handles.append(Line2D([], [], color=INK, **_CROSS))
        labels.append("infeasible: no release of these records meets k and t")
    figure.legend(handles, labels, loc="outside lower left", ncols=min(len(labels), 6))
