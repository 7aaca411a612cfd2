"""The internal report's sections on what an audit measured beside the originals."""

from collections.abc import Iterable

from tclose.model.counted_words import count_words
from tclose.releases.manifest.originals_section import (
    FrontierPoint,
    FrontierSection,
    OriginalsResult,
    PopulationResult,
)
from tclose.releases.report.html_parts import data_table, element, paragraph, section
from tclose.releases.report.svg_charts import percent


def show_linkage(originals: OriginalsResult | None) -> Iterable[str]:
    """Show how many records are linked to their own row; nothing where nobody tried."""
    if originals is None:
        return
    intro = paragraph(
        "An intruder who has the original quasi-identifiers of a record takes the nearest released "
        "row, and one of them at random where several are as near (Domingo-Ferrer and Torra 2001). "
        f"Of {originals.attackers:,} records {percent(originals.linkage)} are linked to their own "
        f"so. The classes lose {originals.sse:.3g} per record and quasi-identifier."
    )
    yield section("linkage", "Record linkage", intro, *_show_population(originals.population))


def _show_population(population: PopulationResult | None) -> Iterable[str]:
    if population is None:
        return
    looked_at = (
        "all"
        if population.classes == population.of_classes
        else f"{population.classes:,} drawn of the"
    )
    yield element("h3", "Among the population (k-map)")
    yield paragraph(
        f"A journalist has {population.persons:,} persons of the population and does not know who "
        "is in the data. Who is as near to a class as its own records could be in it: in "
        f"{looked_at} {population.of_classes:,} classes {population.smallest:,} persons at least "
        "(El Emam and Dankar 2008).",
        f"{count_words(population.left_out, 'more person lacks', 'more persons lack')} a value, or "
        f"{'has' if population.left_out == 1 else 'have'} a category that no record has."
        if population.left_out
        else "",
        f"In {count_words(population.below_k, 'class', 'classes')} they are fewer than k: the file "
        "lacks persons of the "
        "data, and its figures are no bound."
        if population.below_k
        else "",
    )
    rows = [
        ("journalist", f"{population.journalist:.3g}, at most"),
        ("marketer", f"{population.marketer:.3g}, on average"),
    ]
    head = ("intruder", "probability that a record is taken for the right person's")
    yield data_table("Risks of identification among the population", head, rows)


def show_frontier_section(frontier: FrontierSection | None) -> Iterable[str]:
    """Show what other k and t would cost; nothing where nobody computed it."""
    if frontier is None:
        return
    caution = f"{frontier.caution[0].upper()}{frontier.caution[1:]}." if frontier.caution else ""
    intro = paragraph(
        f"Releases with other k and t, none of them published; computed on {frontier.basis}.",
        caution,
    )
    head = ("k and t", "classes", "mean size", "loss", "linked to their own")
    table = data_table("Frontier", head, [_describe(point) for point in frontier.points])
    yield section("frontier", "What other k and t would cost", intro, table)


def _describe(point: FrontierPoint) -> tuple[str, ...]:
    t = "" if point.t is None else f", {point.t:g}"
    name = f"{point.k}{t}{' (this release)' if point.is_policy else ''}"
    if point.classes is None or point.information_loss is None or point.record_linkage_risk is None:
        return name, f"infeasible: {point.reason or 'unknown'}", "-", "-", "-"
    return (
        name,
        f"{point.classes.n_classes:,}",
        f"{point.classes.mean:,.2f}",
        f"{point.information_loss:.3g}",
        percent(point.record_linkage_risk),
    )
