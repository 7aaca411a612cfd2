"""Noise in releases of an output folder: draws of the same records can be averaged."""

import contextlib
import re
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

from tclose.data.places.bucket_paths import BucketPath
from tclose.data.places.locations import INTERNAL, Location, show_name
from tclose.data.places.untrusted_files import MalformedError
from tclose.errors import OutputError
from tclose.releases.manifest.internal_manifest import EarlierDraw, Origin
from tclose.releases.repository.contents import (
    MANIFEST,
    find_broken_seals,
    open_store,
    read_origin,
)
from tclose.releases.repository.name_folders import (
    is_closed,
    list_broken_links,
    list_folders,
    reading_place,
)

_ID = re.compile(r"[0-9a-f]{20}")
READ_AT_ONCE = 16


@dataclass(frozen=True)
class Neighbours:
    """Releases in an output folder, by name and id: what they are made of, and which do not say.

    One whose internal manifest is not at hand cannot be told, nor one that was removed. ``closed``:
    folders of names that this user may not look into, and links to what is not there.
    """

    origins: dict[str, Origin]
    untold: tuple[str, ...]
    closed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Draw:
    """A release with noise: ``release``, its name and id; ``epsilons``: of its columns."""

    release: str
    epsilons: dict[str, Fraction]


def read_neighbours(output: Location, own_id: str | None = None) -> Neighbours:
    """Read what the releases below an output folder are made of, but for one's own."""
    places = [place for place in find_releases(output) if place.name != own_id]
    with ThreadPoolExecutor(READ_AT_ONCE) as pool:
        origins = list(pool.map(_read_origin, places))
    named = [(_name_release(place), origin) for place, origin in zip(places, origins, strict=True)]
    return Neighbours(
        {name: origin for name, origin in named if isinstance(origin, Origin)},
        tuple(name for name, origin in named if isinstance(origin, MalformedError)),
        (
            *(show_name(folder.name) for folder in _list_names(output) if is_closed(folder)),
            *(f"{show_name(link.name)} (a broken link)" for link in list_broken_links(output)),
        ),
    )


def _read_origin(release: Location) -> Origin | MalformedError | None:
    if isinstance(release, BucketPath) and not open_store(release.parent).has(release.name):
        return None  # parts that a run was killed over, or that are being removed
    try:
        return read_origin(release)
    except MalformedError as error:
        return error


def find_changed(output: Location, own_id: str | None = None) -> tuple[str, ...]:
    """Releases whose internal manifest is not the one that was published, but for one's own.

    They count as what they say, which may be less than what was handed out. Where the release key
    is not at hand, or is none, nothing is found.
    """
    places = [place for place in find_releases(output) if place.name != own_id]
    with ThreadPoolExecutor(READ_AT_ONCE) as pool:
        is_changed = list(pool.map(_is_changed, places))
    return tuple(
        _name_release(place) for place, is_so in zip(places, is_changed, strict=True) if is_so
    )


def _is_changed(release: Location) -> bool:
    if isinstance(_read_origin(release), Origin):
        with contextlib.suppress(OutputError):
            return bool(find_broken_seals(release, (f"{INTERNAL}/{MANIFEST}",)))
    return False


def _name_release(place: Location) -> str:
    return show_name(f"{place.parent.name}/{place.name}")


def find_draws(
    neighbours: Neighbours, digests: Collection[str], columns: Collection[str]
) -> tuple[Draw, ...]:
    """Releases that hold noise on some of these columns of the same records.

    Records are the same where a file of the input is, by its digest.

    Parameters
    ----------
    digests : SHA-256 of the files of the input
    columns : names
    """
    return tuple(
        Draw(name, epsilons)
        for name, origin in neighbours.origins.items()
        if shares_input(origin, digests) and (epsilons := _find_epsilons(origin, columns))
    )


def find_releases(output: Location, *, is_each_needed: bool = False) -> Iterator[Location]:
    """Yield every entry that is where a release of any name would be, by name and id.

    Parameters
    ----------
    is_each_needed : whether a folder of releases that is closed to this user is refused, and a link
        that leads to none; otherwise none of its releases can be told

    Raises
    ------
    OutputError
        A folder cannot be read.
    """
    if is_each_needed and (links := list_broken_links(output)):
        raise OutputError(
            f"{show_name(str(links[0]))}: is a link to what is not there, so it cannot be told "
            "which releases there are; bring that back, or remove the link"
        )
    for folder in _list_names(output):
        if is_each_needed or not is_closed(folder):
            yield from sorted(_list_ids(folder), key=str)


def _list_names(output: Location) -> list[Location]:
    """The folders of names; none where the output folder is still to be made."""
    return list_folders(output) if output.is_dir() else []


def _list_ids(folder: Location) -> list[Location]:
    """The entries of a name's folder that have the name of a release."""
    try:
        with reading_place(folder):
            return [place for place in folder.iterdir() if _ID.fullmatch(place.name)]
    except FileNotFoundError:  # a run that is refused takes the folder it made away again
        return []


def shares_input(origin: Origin, digests: Collection[str]) -> bool:
    """Return whether a release was made of one of these files."""
    return not {file.sha256 for file in origin.inputs}.isdisjoint(digests)


def _find_epsilons(origin: Origin, columns: Collection[str]) -> dict[str, Fraction]:
    return {
        name: Fraction(str(noise.epsilon))
        for name, noise in origin.noise.items()
        if name in columns
    }


def add_up(draws: Collection[Draw], own: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Epsilon of each column over these draws and one's own together (sequential composition)."""
    earlier = [draw.epsilons for draw in draws]
    return {
        name: epsilon + sum((drawn.get(name, Fraction(0)) for drawn in earlier), Fraction(0))
        for name, epsilon in own.items()
    }


def describe_draws(draws: Collection[Draw]) -> list[EarlierDraw]:
    """Describe the draws for an internal manifest."""
    return [
        EarlierDraw(release=draw.release, epsilon={n: float(e) for n, e in draw.epsilons.items()})
        for draw in draws
    ]
