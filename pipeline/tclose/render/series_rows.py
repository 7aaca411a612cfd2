"""Rows of tables on a release together with the earlier ones of its series: internal figures."""

from tclose.model.counted_words import count_words
from tclose.releases.manifest.inside_sections import (
    SeriesSection,
    describe_found,
    explain_left_out,
)


def series_rows(series: SeriesSection | None) -> list[tuple[str, str]]:
    """Tabulate what a release and those before it hold together; none of one that stands alone."""
    if series is None:
        return []
    cells = f"{series.cells:,}, the smallest of {series.smallest_cell:,} persons (asked {series.k})"
    left = (
        f"{count_words(series.leavers, 'person')} of the release before, "
        f"{series.leavers_exposed:,} of them "
        f"{describe_found(series.departures)} ({series.departures})"
    )
    place = f"release {series.number:,} of {series.series}, window {series.window:,}"
    before = f", after {series.releases[-1]}" if series.releases else ""
    rows = [
        ("over time", place + before),
        ("  cells", cells),
        *(
            (f"  t of {name}", f"asked {t:g}, largest EMD of a cell {series.largest_emd[name]:.6f}")
            for name, t in series.t.items()
        ),
        ("  left out", explain_left_out(series)),
        *([("  left", left)] if series.releases else []),
    ]
    if series.departures == "unite" and series.smallest_leaver_group:
        groups = f"{count_words(series.leaver_groups_below_k or 0, 'group')} below {series.k:,}"
        smallest = f"the smallest of {count_words(series.smallest_leaver_group or 0, 'person')}"
        rows.append(("  by subtraction", f"{groups}, {smallest}"))
    if series.stale:
        most = count_words(series.stalest, "release")
        held = f"{count_words(series.stale, 'record')} of others who left, for up to {most}"
        rows.append(("  held", held))
    return rows
