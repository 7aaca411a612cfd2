"""The section of the internal report on exposure over time: other releases of the same persons."""

from collections.abc import Iterable

from tclose.model.counted_words import count_words
from tclose.releases.composition.shared_persons import SKETCH_SIZE
from tclose.releases.manifest.inside_sections import (
    EarlierRelease,
    SeriesSection,
    explain_left_out,
)
from tclose.releases.manifest.internal_manifest import InternalManifest
from tclose.releases.report.html_parts import data_table, paragraph, section

_HEAD = (
    "release",
    "records",
    "persons of this one",
    "cells",
    "persons of the smallest",
    "left out",
    "held for persons who left",
    "who left",
    "of these found",
)
_NOT_HERE = "of the release before is not", "of the release before are not"
_HELD = "record of a person who left is held", "records of persons who left are held"


def show_exposure(manifest: InternalManifest) -> str:
    """Show what releases give away together, by internal manifests of this one and earlier ones."""
    parts = [
        *_show_series(manifest.over_time),
        *_show_others(manifest),
        *_show_table(manifest),
    ]
    if manifest.privacy.counted != "persons":
        parts = [
            paragraph(
                "Not known: the policy has no column with role person, so nobody can say whether "
                "earlier releases are of the same persons."
            )
        ]
    return section("exposure", "Exposure over time", *parts)


def _show_series(series: SeriesSection | None) -> Iterable[str]:
    if series is None:
        return
    limits = ", ".join(f"{t:g} in {name}" for name, t in series.t.items())
    yield paragraph(
        f"This is release {series.number:,} of the series {series.series}, held together with the "
        f"{len(series.releases):,} before it in a window of {series.window:,}. A cell is the "
        "persons who are in the same classes of all of these releases in which they are. Its "
        f"{series.cells:,} cells have {series.k:,} persons or more each (the smallest "
        f"{series.smallest_cell:,}) and are within {limits} of every table: with all of these "
        "releases side by side, persons who are still there are among as many."
    )
    yield paragraph(
        f"{count_words(series.newcomers, 'person is', 'persons are')} new, "
        f"{count_words(series.leavers, *_NOT_HERE)} in this one. {_tell_exposed(series)} "
        f"Left out: {explain_left_out(series)}.",
        f"{count_words(series.stale, *_HELD)} as the release before had them, "
        f"for up to {count_words(series.stalest, 'release')}."
        if series.stale
        else "No record of a person who left is held.",
    )  # fmt: skip


def _tell_exposed(series: SeriesSection) -> str:
    if series.departures == "unite":
        return (
            f"Subtracting the one from the other finds no group of fewer than k; "
            f"{series.leavers_exposed:,} of those who left are told by a value that lasts, if "
            "nobody else of their class had it."
        )
    return (
        f"Subtracting the one from the other finds {series.leavers_exposed:,} of those who left in "
        "a group of fewer than k persons or above a t."
    )


def _show_others(manifest: InternalManifest) -> Iterable[str]:
    """Releases that this one is not held together with."""
    exposure, k = manifest.exposure, manifest.privacy.k.asked
    if exposure is None:
        return
    apart = [one for one in exposure.earlier if not one.is_held]
    if not apart and exposure.largest_share is None:
        yield paragraph(
            f"No other release in the output folder has persons of this one's {exposure.persons:,}."
        )
        return
    n_apart, more = max(1, len(apart)), "At least " if exposure.more else ""
    is_one = n_apart == 1 and not more
    share = "" if exposure.largest_share is None else (
        f" {'It' if is_one else 'One of them'} has {100 * exposure.largest_share:.3g} % of them, "
        "by estimate from sketches."
    )  # fmt: skip
    past = (
        ""
        if manifest.over_time is None
        else f", but for those of series {manifest.over_time.series}, which its window has left"
    )
    yield paragraph(
        f"{more}{count_words(n_apart, 'earlier release')} in the output folder "
        f"{'is' if is_one else 'are'} about some of this one's {exposure.persons:,} persons and "
        f"{'is' if is_one else 'are'} not held together with it.{share} Their classes were made "
        f"without regard to each other{past}, so that whoever has two can find "
        f"persons among fewer than k = {k:,}; tclose attack measures how many."
    )


def _show_table(manifest: InternalManifest) -> Iterable[str]:
    exposure = manifest.exposure
    if exposure is None or not exposure.earlier:
        return
    rows = [_tabulate(one, exposure.persons) for one in exposure.earlier]
    own = manifest.over_time
    name = f"this one, {manifest.published_at[:10]}"
    now = [name, f"{manifest.records:,}", f"{exposure.persons:,}"]
    figures = (
        [None] * 6
        if own is None
        else [own.cells, own.smallest_cell, own.left_out, own.stale, own.leavers,
              own.leavers_exposed]
    )  # fmt: skip
    rows.append((*now, *map(_count, figures)))
    width = len(_HEAD) if any(one.is_held for one in exposure.earlier) else 3
    more = f"; {exposure.more:,} older ones are not listed" if exposure.more else ""
    caption = f"Releases of the same persons, oldest first{more}"
    yield data_table(caption, _HEAD[:width], [row[:width] for row in rows])


def _tabulate(one: EarlierRelease, n_persons: int) -> tuple[str, ...]:
    when = "" if one.published_at is None else f", {one.published_at[:10]}"
    # sketches of as many persons as they hold are exact
    is_exact = one.shared is None or max(n_persons, one.records or 0) <= SKETCH_SIZE
    shared = _count(one.shared) if is_exact else f"about {_count(one.shared)}"
    figures = (
        one.cells, one.smallest_cell, one.left_out, one.stale, one.leavers, one.leavers_exposed
    )  # fmt: skip
    return (f"{one.release}{when}", _count(one.records), shared, *map(_count, figures))


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"
