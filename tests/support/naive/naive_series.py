"""Slow, obvious twins of the attack on several releases: all worlds that would publish the same."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product

ABSENT = -1

Choices = Sequence[Sequence[int]]  # of a release: the classes in which each person can be
World = tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]  # classes by release; values by person


def publish(classes: Sequence[int], values: Sequence[int]) -> dict[int, Counter[int]]:
    """What a release says: the values of each class."""
    shown: dict[int, Counter[int]] = {}
    for where, value in zip(classes, values, strict=True):
        if where != ABSENT:
            shown.setdefault(where, Counter())[value] += 1
    return shown


def find_worlds(
    releases: Sequence[Choices], shown: Sequence[dict[int, Counter[int]]]
) -> list[World]:
    """Everybody's classes and lasting value, in all ways that publish the same releases."""
    n_persons = len(releases[0])
    values = sorted({value for release in shown for counts in release.values() for value in counts})
    memberships = [list(product(*choices)) for choices in releases]
    return [
        (classes, held)
        for classes in product(*memberships)
        for held in product(values, repeat=n_persons)
        if [publish(one, held) for one in classes] == list(shown)
    ]


def naive_candidates_of_persons(releases: Sequence[Choices]) -> list[int]:
    """For each person the pairs of another person and a possible cell of both, and herself."""
    possible = [
        set(product(*(release[p] for release in releases))) for p in range(len(releases[0]))
    ]
    return [
        1 + sum(len(mine & theirs) for q, theirs in enumerate(possible) if q != p)
        for p, mine in enumerate(possible)
    ]


def naive_values(
    releases: Sequence[Choices], shown: Sequence[dict[int, Counter[int]]]
) -> list[set[int]]:
    """The values that each person has in some world."""
    worlds = find_worlds(releases, shown)
    return [{held[p] for _, held in worlds} for p in range(len(releases[0]))]


def cells_of(releases: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """The persons of each cell, where everybody's class is known."""
    signatures: dict[tuple[int, ...], list[int]] = {}
    for person, signature in enumerate(zip(*releases, strict=True)):
        signatures.setdefault(signature, []).append(person)
    yield from signatures.values()
