"""Earlier releases of the same persons, for the internal manifest, by what their own ones say."""

import contextlib
from collections.abc import Sequence

from tclose.data.places.locations import Location
from tclose.data.places.untrusted_files import MalformedError
from tclose.errors import OutputError
from tclose.releases.composition.noise_draws import read_neighbours
from tclose.releases.composition.shared_persons import estimate_shared
from tclose.releases.manifest.inside_sections import EarlierRelease, ExposureSection, SeriesSection
from tclose.releases.manifest.internal_manifest import (
    InternalManifest,
    Origin,
    PersonSketch,
)
from tclose.releases.repository.repository import read_internal
from tclose.runtime.run import Run

MOST_LISTED = 24  # of the newest ones


def describe_exposure(
    run: Run, sketches: Sequence[PersonSketch], over_time: SeriesSection | None
) -> ExposureSection | None:
    """Describe the releases in the output folder that have persons of this one.

    Parameters
    ----------
    sketches : of this release's persons; none where there is no column of them
    """
    if not sketches:
        return None
    own, output = sketches[0], run.repository.output
    window = () if over_time is None else tuple(over_time.releases)
    releases = []
    for name, origin in read_neighbours(output, run.release_id).origins.items():
        shared = _estimate(own, origin)
        if name in window or shared:
            releases.append(_describe(output / name, name, shared, is_held=name in window))
    releases.sort(key=lambda one: (one.published_at or "", one.release))
    apart = [one.shared for one in releases if not one.is_held and one.shared is not None]
    share = min(1.0, float(f"{max(apart) / own.persons:.3g}")) if apart else None
    listed = releases[-MOST_LISTED:]
    return ExposureSection(
        persons=own.persons, earlier=listed, more=len(releases) - len(listed), largest_share=share
    )


def _estimate(own: PersonSketch, origin: Origin) -> int | None:
    sketch = origin.person_sketch
    return (
        None if sketch is None else min(own.persons, sketch.persons, estimate_shared(own, sketch))
    )


def _describe(place: Location, name: str, shared: int | None, *, is_held: bool) -> EarlierRelease:
    """Describe an earlier release, with less where its internal manifest cannot be read."""
    full: InternalManifest | None = None
    with contextlib.suppress(MalformedError, OutputError):
        full = read_internal(place)
    if full is None:
        return EarlierRelease(release=name, shared=shared, is_held=is_held)
    series = full.over_time if is_held else None
    figures = {} if series is None else _repeat(series)
    return EarlierRelease(
        release=name,
        published_at=full.published_at,
        records=full.records,
        shared=shared,
        is_held=is_held,
        **figures,
    )


def _repeat(series: SeriesSection) -> dict[str, int]:
    names = ("number", "cells", "smallest_cell", "left_out", "stale", "newcomers", "leavers",
             "leavers_exposed")  # fmt: skip
    return {name: getattr(series, name) for name in names}
