"""Number of persons that two releases share, estimated from sketches of their persons.

A sketch has the smallest keyed hashes of a release's persons. Of two sketches with the same key the
smallest hashes of both together are a random sample of all persons, and the share of it that is in
both is that of all (Beyer, Haas, Reinwald, Sismanis, Gemulla, *On synopses for distinct-value
estimation under multiset operations*, SIGMOD 2007).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tclose.releases.manifest.internal_manifest import Origin, PersonSketch

SKETCH_SIZE = 1_024  # hashes; a share of a half is told to about 2 %


@dataclass(frozen=True)
class SharedPersons:
    """A release, by its name and id, and about how many persons it has in common with another.

    ``of``: persons that it has in all; ``series``: that it is of, or None.
    """

    release: str
    persons: int
    of: int
    series: str | None = None


def estimate_shared(first: PersonSketch, second: PersonSketch) -> int:
    """About how many persons are in both; exact where each has SKETCH_SIZE at most."""
    ends = [one.hashes[-1] for one in (first, second) if len(one.hashes) < one.persons]
    known = [{h for h in one.hashes if not ends or h <= min(ends)} for one in (first, second)]
    n_all = len(known[0] | known[1])
    share = len(known[0] & known[1]) / n_all if n_all else 0.0
    return round(share * (first.persons + second.persons) / (1 + share))


def find_shared(own: PersonSketch, origins: Mapping[str, Origin]) -> tuple[SharedPersons, ...]:
    """The releases that have persons in common with this one, those with the most first."""
    estimates = [
        SharedPersons(
            name,
            estimate_shared(own, origin.person_sketch),
            origin.person_sketch.persons,
            None if origin.over_time is None else origin.over_time.series,
        )
        for name, origin in origins.items()
        if origin.person_sketch is not None
    ]
    return tuple(sorted((one for one in estimates if one.persons), key=lambda one: -one.persons))
