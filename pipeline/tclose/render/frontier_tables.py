"""A frontier as a person reads it in a terminal, and as a program reads it."""

from dataclasses import asdict
from typing import Any

from tclose.assess.frontier import ComputedFrontier, Figures, Point
from tclose.render.text_tables import align_rows, render_table

SAMPLED = (
    "loss and linkage are usually larger than on the whole table: "
    "in a sample neighbours are farther away"
)


def describe_basis(frontier: ComputedFrontier) -> str:
    """Describe the records that the figures were computed on."""
    if frontier.is_whole:
        return f"the whole table: {frontier.n_table:,} records"
    drawn = f"{frontier.n_records:,} of {frontier.n_table:,} records"
    return f"a random sample: {drawn} (seed {frontier.seed})"


def describe_frontier(frontier: ComputedFrontier) -> dict[str, Any]:
    """All of it, for `json.dumps`."""
    return {
        "name": frontier.name,
        "basis": describe_basis(frontier),
        "caution": None if frontier.is_whole else SAMPLED,
        "whole_table": frontier.is_whole,
        "table_records": frontier.n_table,
        "records": frontier.n_records,
        "attacking_records": frontier.n_attackers,
        "seed": frontier.seed,
        "points": [_describe_point(point) for point in frontier.points],
    }


def _describe_point(point: Point) -> dict[str, Any]:
    described = {"k": point.k, "t": point.t, "is_policy": point.is_policy}
    if point.figures is None:
        return described | {"feasible": False, "reason": point.reason}
    return described | {
        "feasible": True,
        "classes": asdict(point.figures.classes),
        "information_loss": point.figures.loss,
        "of_one_class": point.figures.of_one_class,
        "largest_emd": {a.name: a.largest_emd for a in point.figures.attributes},
        "record_linkage_risk": point.figures.risk,
    }


def report_frontier(frontier: ComputedFrontier) -> str:
    """A line for each point, the policy's marked, below it what the figures are."""
    rows = [("computed on", describe_basis(frontier))]
    if not frontier.is_whole:
        rows.append(("", SAMPLED))
    rows.append(("loss", "normalised SSE per record and quasi-identifier"))
    if has_shares(frontier):
        rows.append(("of one class", "what is lost of what one class loses, which searches lower"))
    rows.append(("linked", _explain_risk(frontier)))
    if any(point.figures is None for point in frontier.points) and not frontier.is_whole:
        rows.append(("infeasible", "on this sample; the whole table may allow more"))
    return "\n\n".join((render_table(rows), _render_points(frontier)))


def has_shares(frontier: ComputedFrontier) -> bool:
    """Return whether searches lower what is lost of what one class loses, rather than squares."""
    return any(
        p.figures is not None and p.figures.of_one_class is not None for p in frontier.points
    )


def _explain_risk(frontier: ComputedFrontier) -> str:
    who = "records"
    if frontier.n_attackers < frontier.n_records:
        who = f"{frontier.n_attackers:,} records, drawn at random,"
    return f"{who} whose nearest released record is their own; ties are broken by lot"


def _render_points(frontier: ComputedFrontier) -> str:
    shown = [p.figures for p in frontier.points if p.figures is not None]
    names = [attribute.name for attribute in shown[0].attributes] if shown else []
    heads = ["", "k", "t", "classes", "mean size", "smallest", "largest"]
    of_one = ["of one class"] if has_shares(frontier) else []
    heads += [*(f"EMD of {name}" for name in names), "loss", *of_one, "linked"]
    lines = align_rows([heads, *(_cells(point) for point in frontier.points)], to_right=True)
    return "\n".join((*(f"  {line}" for line in lines), "", "  * the policy's point"))


def _cells(point: Point) -> list[str]:
    first = ["*" if point.is_policy else "", str(point.k), describe_t(point.t)]
    if point.figures is None:
        return [*first, f"infeasible: {point.reason}"]
    return first + _figure_cells(point.figures)


def _figure_cells(figures: Figures) -> list[str]:
    classes = figures.classes
    return [
        f"{classes.n_classes:,}",
        f"{classes.mean:,.2f}",
        f"{classes.smallest:,}",
        f"{classes.largest:,}",
        *(f"{attribute.largest_emd:.4f}" for attribute in figures.attributes),
        f"{figures.loss:.3g}",
        *([] if figures.of_one_class is None else [f"{figures.of_one_class:.2%}"]),
        f"{figures.risk:.3%}",
    ]


def describe_t(t: float | None) -> str:
    """A t as tables and charts show it."""
    return "-" if t is None else f"{t:g}"
