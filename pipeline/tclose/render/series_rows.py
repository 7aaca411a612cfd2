"""Rows of tables on a release together with the earlier ones of its series: internal figures."""

from tclose.releases.manifest.inside_sections import SeriesSection, describe_found


def series_rows(series: SeriesSection | None) -> list[tuple[str, str]]:
    """Tabulate what a release and those before it hold together; none of one that stands alone."""
    if series is None:
        return []
    cells = f"{series.cells:,}, the smallest of {series.smallest_cell:,} persons (asked {series.k})"
    left = (
        f"{series.leavers:,} persons of the release before, {series.leavers_exposed:,} of them "
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
        ("  left out", f"{series.left_out:,} records, so that cells hold"),
        *([("  left", left)] if series.releases else []),
    ]
    if series.departures == "unite":
        groups = f"{series.leaver_groups_below_k or 0:,} groups below {series.k:,}"
        smallest = f"the smallest of {series.smallest_leaver_group or 0:,} persons"
        rows.append(("  by subtraction", f"{groups}, {smallest}"))
    if series.stale:
        most = f"{series.stalest:,} release{'' if series.stalest == 1 else 's'}"
        rows.append(("  held", f"{series.stale:,} records of others who left, for up to {most}"))
    return rows
