"""The internal report's section on records that were left out, and on values that were prepared."""

from collections.abc import Iterator

from tclose.model.preparation import OF_CLASS
from tclose.releases.manifest.inside_sections import SeriesSection
from tclose.releases.manifest.internal_manifest import InternalManifest
from tclose.releases.report.html_parts import (
    bullets,
    data_table,
    element,
    format_share,
    paragraph,
    section,
)


def show_left_out(manifest: InternalManifest) -> str:
    """Show how many records were left out and why, and what was done to values before."""
    n_read = count_read(manifest)
    rows = [
        (name, f"{n:,}", format_share(n, n_read), became)
        for name, n, became in _list_gaps(manifest)
    ]
    head = ("column", "records without a value", "of those read", "what became of them")
    table = data_table("Records that lack a value, by column", head, rows) if rows else ""
    prepared = [f"{c.name}: {c.treatment}." for c in manifest.columns if c.prepared is not None]
    treatments = element("h3", "Prepared columns") + bullets(prepared) if prepared else ""
    intro = paragraph(" ".join(_say_why(manifest, n_read)))
    return section("dropped", "Records left out, values prepared", intro, table, treatments)


def count_read(manifest: InternalManifest) -> int:
    """Records that were read, with those left out for another reason than a missing value."""
    held_back = 0 if manifest.over_time is None else manifest.over_time.left_out
    return (manifest.records_read or 0) + held_back + (manifest.records_suppressed or 0)


def _say_why(manifest: InternalManifest, n_read: int) -> Iterator[str]:
    dropped, isolated = manifest.records_dropped or 0, manifest.records_suppressed or 0
    yield (
        f"{n_read:,} records were read, {_count(dropped, n_read, 'of them')} left out for a "
        "missing value. A record can lack several."
    )
    held = manifest.over_time
    if held is not None:
        yield from _say_held_back(held, n_read)
    if held is not None and held.stale:
        yield (
            f"Beside these, {held.stale:,} of persons who left {_were(held.stale)} held as the "
            "release before had them."
        )
    if isolated:
        yield (
            f"{_count(isolated, n_read, 'more')} {_were(isolated)} left out, as no others are near "
            "them by "
            "their quasi-identifiers (suppress)."
        )


def _say_held_back(held: SeriesSection, n_read: int) -> Iterator[str]:
    """Say what was left out for the releases of the series together, and for whoever asked."""
    n_for_cells = held.left_out - held.forgotten
    if n_for_cells:
        too_few = ", or as too few left these, who would be found"
        yield (
            f"{_count(n_for_cells, n_read, 'more')} {_were(n_for_cells)} left out, as too few of "
            "those who shared their earlier classes are still there, or as these are above a t"
            f"{too_few if held.departures in ('drop', 'hold') else ''}."
        )
    if held.forgotten:
        yield (
            f"{_count(held.forgotten, n_read, 'more')} {_were(held.forgotten)} left out, of "
            "persons who were forgotten on request."
        )


def _were(n_records: int) -> str:
    return "was" if n_records == 1 else "were"


def _count(n_records: int, n_read: int, which: str) -> str:
    return f"{n_records:,} {which} ({format_share(n_records, n_read)})"


def _list_gaps(manifest: InternalManifest) -> list[tuple[str, int, str]]:
    """Columns in which values are missing, most first: of how many records, and what was done."""
    prepared = {c.name: c.prepared for c in manifest.columns if c.prepared is not None}
    gaps = [(name, n, "left out") for name, n in manifest.values_missing.items()]
    own = "have a category of their own"
    gaps += [(name, n, own) for name, n in manifest.values_in_category.items() if n]
    for name, n in manifest.values_imputed.items():
        centre = prepared[name].missing if name in prepared else None
        of = "aggregate of the others of their class"
        gaps.append(
            (name, n, f"have the {of if centre == OF_CLASS else f'{centre} of the others'}")
        )
    return sorted(gaps, key=lambda gap: (-gap[1], gap[0]))
