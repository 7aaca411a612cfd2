"""The releases of a series in an output folder: which there are, and what their registers hold.

A release is of the series that its internal manifest names, whatever its own name is. Numbers count
the releases of a series in the order in which they were published: what was handed out stays handed
out, so a release that another one replaced, or that CURRENT does not name, counts as well.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tclose.data.places.locations import INTERNAL, Location, show_name
from tclose.data.places.untrusted_files import MalformedError
from tclose.errors import OutputError
from tclose.releases.composition.noise_draws import find_releases
from tclose.releases.manifest.inside_sections import SeriesEntry
from tclose.releases.repository.contents import (
    MANIFEST,
    find_broken_seals,
    open_store,
    read_origin,
)
from tclose.releases.repository.name_folders import is_closed
from tclose.releases.repository.repository import ReleaseRepository


@dataclass(frozen=True)
class SeriesRelease:
    """A release of a series: its place, and what its internal manifest says of the series."""

    place: Location
    entry: SeriesEntry

    @property
    def name(self) -> str:
        """Its name and id."""
        return f"{self.place.parent.name}/{self.place.name}"


@dataclass(frozen=True)
class SeriesWindow:
    """The earlier releases that a new one is held to, oldest first, and the number of the new one.

    ``series``: the name; ``releases``: names and ids; ``registers``: digests of their registers.
    """

    series: str
    number: int
    releases: tuple[str, ...]
    registers: tuple[str, ...]


def list_series(output: Location, series: str) -> tuple[SeriesRelease, ...]:
    """The releases of a series by their numbers.

    Raises
    ------
    OutputError
        An internal manifest is damaged or was changed, or a folder closed to this user, so that it
        cannot be told which releases are of the series; or two of them have one number.
    """
    by_number: dict[int, SeriesRelease] = {}
    for place in _find_published(output):
        try:
            entry = _tell_entry(place, series)
        except OutputError:
            if not open_store(place.parent).has(place.name):
                continue  # it was removed meanwhile
            raise
        if entry is None:
            continue
        if entry.number in by_number:
            raise _same_number(SeriesRelease(place, entry), by_number[entry.number])
        by_number[entry.number] = SeriesRelease(place, entry)
    return tuple(by_number[number] for number in sorted(by_number))


def _tell_entry(place: Location, series: str) -> SeriesEntry | None:
    """The place of a release in this series; None where it is of another one, or of none.

    Raises
    ------
    OutputError
        That cannot be told.
    """
    try:
        origin = read_origin(place)
    except MalformedError as error:
        raise OutputError(
            f"release {place}: internal/manifest.json {error}, so it cannot be told whether it "
            f"is of series {series!r}; put it back as it was"
        ) from None
    if origin is None and (is_closed(place) or (place / MANIFEST).is_file()):
        raise OutputError(
            f"release {place}: internal/manifest.json is missing or cannot be read, so it "
            f"cannot be told whether it is of series {series!r}; put it back, or take the "
            "release out of the output folder"
        )
    entry = None if origin is None else origin.over_time
    if entry is not None and entry.series == series:
        return entry
    _check_seal(place, series)
    return None


def _check_seal(place: Location, series: str) -> None:
    """See that a release that says it is not of a series said so when it was published."""
    if broken := find_broken_seals(place, (f"{INTERNAL}/{MANIFEST}",)):
        raise OutputError(
            f"release {place}: is not as it was published ({broken[0]}), so it cannot be told "
            f"whether it is of series {series!r}; put it back as it was"
        )


def check_number(place: Location) -> None:
    """See that no other release has the number that a published one has in its series.

    Others that are damaged are left to whoever adds a release.

    Raises
    ------
    OutputError
        One has it.
    """
    own = _read_entry(place)
    if own is None:
        return
    for other in _find_published(place.parent.parent):
        entry = None if other == place else _read_entry(other)
        if entry is not None and (entry.series, entry.number) == (own.series, own.number):
            raise _same_number(SeriesRelease(place, own), SeriesRelease(other, entry))


def _read_entry(place: Location) -> SeriesEntry | None:
    """The place of a release in its series; None where it is of none, or damaged."""
    with contextlib.suppress(MalformedError):
        origin = read_origin(place)
        return None if origin is None else origin.over_time
    return None


def _same_number(one: SeriesRelease, other: SeriesRelease) -> OutputError:
    """Return the error of two releases of one number: a copy, or neither is held to the other."""
    remedy = (
        "take the copy out of the output folder"
        if one.place.name == other.place.name
        else "neither was made with regard to the other: take the one that was not handed "
        "out, whole, out of the output folder; if both were, begin a new series"
    )
    return OutputError(
        f"release {one.place}: has the same number {one.entry.number} in series "
        f"{one.entry.series!r} as {other.name}; {remedy}"
    )


def _find_published(output: Location) -> Iterator[Location]:
    """Yield the releases of all names; in a bucket a run that was killed may leave parts of one.

    Its internal manifest is put there before the public one, with which it becomes a release.

    Raises
    ------
    OutputError
        A link is where a release would be: it may lead elsewhere tomorrow, or nowhere.
    """
    for place in find_releases(output, is_each_needed=True):
        if open_store(place.parent).has(place.name):
            yield place
        elif isinstance(place, Path) and place.is_symlink():
            raise OutputError(
                f"release {show_name(str(place))}: is a link; put what it leads to there itself, "
                "or take it out of the output folder"
            )


def find_window(
    output: Location, series: str, window: int, *, own: Location | None = None
) -> tuple[SeriesWindow, tuple[SeriesRelease, ...]]:
    """The earlier releases that a new one of the series is held to.

    Parameters
    ----------
    window : releases, the new one among them
    own : the place of the new one

    Raises
    ------
    OutputError
        One of them is missing, or the new one is there already, and damaged.
    """
    there = list_series(output, series)
    if any(one.place == own for one in there):
        raise OutputError(
            f"release {own}: was published in series {series!r} and is damaged; put it back as it "
            "was: later releases were made with regard to it"
        )
    number = max((one.entry.number for one in there), default=0) + 1
    held = [one for one in there if one.entry.number > number - window]
    first = max(1, number - window + 1)
    missing = set(range(first, number)) - {one.entry.number for one in held}
    if missing:
        raise OutputError(
            f"series {series!r}: release number {describe_missing(max(missing), held)}, and "
            "who was in which of its classes is in its register alone; put it back, or take "
            f"privacy.over_time.window: {max(2, number - max(missing))}"
        )
    registers = tuple(one.entry.register_sha256 for one in held)
    return SeriesWindow(series, number, tuple(one.name for one in held), registers), tuple(held)


def describe_missing(number: int, there: Sequence[SeriesRelease]) -> str:
    """Say that a release of a number is missing, and its name where a later one has it."""
    named = (
        one.entry.releases[number - one.entry.number]
        for one in there
        if -len(one.entry.releases) <= number - one.entry.number < 0
    )
    name = next(named, None)
    return f"{number} is not in the output folder" + ("" if name is None else f" ({name})")


def find_held(repository: ReleaseRepository) -> dict[str, str]:
    """The releases of a name that others of their series are held to: the series of each.

    The next one is held to them but one, which the newest was held to: it is audited by all.

    Raises
    ------
    OutputError
        It cannot be told.
    """
    own = [repository.release(release_id) for release_id in repository.store.ids()]
    named: dict[str, None] = {}
    for place in own:
        with contextlib.suppress(MalformedError):
            origin = read_origin(place)
            if origin is not None and origin.over_time is not None:
                named[origin.over_time.series] = None
    held = {}
    for series in named:
        releases = list_series(repository.output, series)
        newest = releases[-1].entry
        for one in releases:
            if one.place in own and one.entry.number > newest.number - newest.window:
                held[one.place.name] = series
    return held
