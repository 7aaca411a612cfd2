"""The internal report's section on records that few quasi-identifiers tell from all others."""

from collections.abc import Iterable
from itertools import pairwise

from tclose.model.counted_words import count_words
from tclose.releases.manifest.figure_sections import Shares
from tclose.releases.manifest.inside_sections import SpecialUniquesSection
from tclose.releases.manifest.internal_manifest import Analysis
from tclose.releases.report.html_parts import data_table, element, paragraph, section
from tclose.releases.report.svg_charts import draw_bars, percent


def show_uniques(analysis: Analysis | None) -> Iterable[str]:
    """Show special uniques before and after; nothing of a release that was made without them."""
    uniques = None if analysis is None else analysis.special_uniques
    if uniques is None:
        return
    yield section(
        "uniques",
        "Special uniques before and after",
        _say_what(uniques),
        _draw_sizes(uniques),
        _list_sizes(uniques),
        _say_intrusion(uniques),
        _list_scores(uniques),
        _list_columns(uniques),
        element("h3", "In the release"),
        _say_after(uniques),
    )


def _say_what(uniques: SpecialUniquesSection) -> str:
    among = (
        f"all {uniques.of:,} records."
        if uniques.records == uniques.of
        else f"{uniques.records:,} of {uniques.of:,} records, drawn at random; of a part more are "
        "alone than of the table."
    )
    columns = (
        f"all {uniques.columns:,} quasi-identifiers"
        if uniques.columns == uniques.of_columns
        else f"the {uniques.columns:,} of {uniques.of_columns:,} quasi-identifiers with most values"
    )
    return paragraph(
        "Original records that few quasi-identifiers tell from all others (SUDA; Elliot, Manning "
        "and Ford 2002). A minimal sample unique is a set of columns whose values one record alone "
        "has, as it does of no part of the set: who knows these few things of a person finds the "
        "record.",
        f"Looked for in {columns}, in sets of up to {_columns(len(uniques.by_size))}, among "
        f"{among}",
        f"{count_words(uniques.unique, 'record')} ({_share(uniques.unique, uniques)}) "
        f"{'is' if uniques.unique == 1 else 'are'} alone by all of them.",
    )


def _draw_sizes(uniques: SpecialUniquesSection) -> str:
    counts = [(_columns(one.size), one.records) for one in uniques.by_size]
    n_found = sum(n for _, n in counts)
    n_alike = uniques.records - uniques.unique
    counts += [("more columns", uniques.unique - n_found), ("never alone", n_alike)]
    shares = Shares(
        labels=[label for label, _ in counts],
        shares=[float(f"{n / max(1, uniques.records):.3g}") for _, n in counts],
    )
    caption = "Original records by the fewest columns that tell them"
    return draw_bars("uniques-sizes", caption, shares, "records", "columns")


def _list_sizes(uniques: SpecialUniquesSection) -> str:
    rows = [
        (_columns(one.size), f"{one.sets:,}", f"{one.records:,}", _share(one.records, uniques))
        for one in uniques.by_size
    ]
    head = ("set of", "minimal sample uniques", "records told by no fewer", "of those looked at")
    return data_table("Minimal sample uniques of the original records, by size", head, rows)


def _say_intrusion(uniques: SpecialUniquesSection) -> str:
    if uniques.intrusion is None:
        return paragraph("No original record is alone, so none has a score.")
    taken = (
        "The records are taken for the whole population, because no input.sampling_fraction is "
        "given: who is alone in them is alone."
        if uniques.fraction == 1
        else f"The records looked at are taken for {percent(uniques.fraction)} of the population: "
        "the share that was drawn, times input.sampling_fraction where it is given."
    )
    return paragraph(
        taken,
        "Who finds a record of theirs that is alone and is like a known person is right with "
        f"an estimated probability of {uniques.intrusion:.3g} (DIS; Skinner and Elliot 2002). "
        "DIS-SUDA spreads this over the records, as sdcMicro does: most for those that the fewest "
        "columns tell, in most ways.",
    )


def _list_scores(uniques: SpecialUniquesSection) -> str:
    ends = [i / (len(uniques.scores) - 1) for i in range(len(uniques.scores))]
    labels = ["0", *(f"above {a:g}, up to {b:g}" for a, b in pairwise(ends))]
    rows = [
        (label, f"{n:,}", _share(n, uniques))
        for label, n in zip(labels, uniques.scores, strict=True)
        if n
    ]
    head = ("score", "records", "of those looked at")
    return data_table("Original records by their DIS-SUDA score", head, rows)


def _list_columns(uniques: SpecialUniquesSection) -> str:
    if not any(uniques.contributions.values()):
        return ""
    pairs = sorted(uniques.contributions.items(), key=lambda pair: -pair[1])
    intro = paragraph(
        "Columns that take part in most of the scores are those to make coarser, if original "
        "records are too easy to tell; a set has several columns, so the shares add up to more "
        "than all."
    )
    rows = [(name, percent(share)) for name, share in pairs]
    head = ("quasi-identifier", "share of all SUDA scores")
    return intro + data_table("Columns by their part in the scores", head, rows)


def _say_after(uniques: SpecialUniquesSection) -> str:
    after = uniques.after
    searched = (
        f"The same search in {after.rows:,} released rows found {after.sets:,}."
        if after.rows
        else "The first class is larger than the search reads, so it found none by its size alone."
    )
    return paragraph(
        f"No released row is alone by any quasi-identifiers: {after.smallest_class:,} rows at "
        "least share all of them, as every class was counted, and so any part of them.",
        searched,
    )


def _columns(n_columns: int) -> str:
    return "1 column" if n_columns == 1 else f"{n_columns} columns"


def _share(n_records: int, uniques: SpecialUniquesSection) -> str:
    return percent(n_records / uniques.records) if uniques.records else "-"
