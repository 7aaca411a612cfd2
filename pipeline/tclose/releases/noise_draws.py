"""Noise that stands in an output folder already: draws of the same records can be averaged."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from tclose.data.places.locations import Location
from tclose.releases.manifest.internal_manifest import EarlierDraw
from tclose.releases.repository import read_internal

_ID = re.compile(r"[0-9a-f]{20}")


@dataclass(frozen=True)
class Draw:
    """A release with noise: ``release``, its name and id; ``epsilons``: of its columns."""

    release: str
    epsilons: dict[str, Fraction]


def find_draws(
    output: Location, digests: Collection[str], columns: Collection[str]
) -> tuple[Draw, ...]:
    """Releases below an output folder that hold noise on some of these columns of the same records.

    Records are the same where a file of the input is, by its digest. A release whose internal
    manifest is not at hand cannot be told, nor one that was removed.

    Parameters
    ----------
    digests : SHA-256 of the files of the input
    columns : names
    """
    return tuple(
        Draw(f"{place.parent.name}/{place.name}", epsilons)
        for place in find_releases(output)
        if not digests_of(place).isdisjoint(digests)
        and (epsilons := dict(_find_epsilons(place, columns)))
    )


def find_releases(output: Location) -> Iterator[Location]:
    """Whatever stands where a release of any name would, by name and id."""
    if not output.is_dir():
        return
    for repository in sorted((place for place in output.iterdir() if place.is_dir()), key=str):
        yield from sorted((p for p in repository.iterdir() if _ID.fullmatch(p.name)), key=str)


def digests_of(release: Location) -> set[str]:
    """SHA-256 of the input's files, by the internal manifest; none where that cannot be read."""
    internal = read_internal(release)
    return set() if internal is None else {file.sha256 for file in internal.inputs}


def _find_epsilons(release: Location, columns: Collection[str]) -> Iterator[tuple[str, Fraction]]:
    internal = read_internal(release)
    for name, noise in internal.noise.items() if internal is not None else ():
        if name in columns:
            yield name, Fraction(str(noise.epsilon))


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
