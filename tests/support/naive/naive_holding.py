"""Releases of a series by their definition: cells, distances, and who has to be held."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

# Of each person in a release, the class and the confidential value.
Rows = Mapping[Any, tuple[Any, Any]]


def distance(values: Sequence[Any], table: Sequence[Any]) -> Fraction:
    """The ordered earth mover's distance, by its definition (Li et al. 2007, section 5.1)."""
    kinds, mine, theirs = sorted(set(table)), Counter(values), Counter(table)
    work, carried = 0, 0  # in parts of 1 / (values x records of the table)
    for kind in kinds[:-1]:
        carried += mine[kind] * len(table) - theirs[kind] * len(values)
        work += abs(carried)
    return Fraction(work, len(values) * len(table) * max(1, len(kinds) - 1))


def find_cells(releases: Sequence[Rows]) -> dict[tuple[Any, ...], set[Any]]:
    """The persons of each tuple of classes, None where they are absent."""
    cells: dict[tuple[Any, ...], set[Any]] = {}
    for person in set().union(*releases):
        classes = tuple(one[person][0] if person in one else None for one in releases)
        cells.setdefault(classes, set()).add(person)
    return cells


def holds(persons: set[Any], releases: Sequence[Rows], k: int, t: Fraction) -> bool:
    """Return whether persons who are in the same releases are k, and within t in each of them."""
    if len(persons) < k:
        return False
    for one in releases:
        values = [one[person][1] for person in persons if person in one]
        if values and distance(values, [value for _, value in one.values()]) > t:
            return False
    return True


def bound_parts(values: Sequence[Any], n_part: int, table: Sequence[Any]) -> Fraction:
    """The sum of the largest differences to the table that a part of some values has anywhere."""
    kinds = sorted(set(table))
    parts = {tuple(sorted(part)) for part in combinations(values, n_part)}
    work = Fraction(0)
    for kind in kinds[:-1]:
        share = Fraction(sum(value <= kind for value in table), len(table))
        shares = [Fraction(sum(value <= kind for value in part), n_part) for part in parts]
        work += max(abs(one - share) for one in shares)
    return work / max(1, len(kinds) - 1)


def may_part(cell: set[Any], n_left: int, releases: Sequence[Rows], k: int, t: Fraction) -> bool:
    """Return whether any persons of a cell may leave, so many, and any others may stay."""
    parts = (n_left, len(cell) - n_left)
    if min(parts) < k:
        return False
    for one in releases:
        values = [one[person][1] for person in cell if person in one]
        table = [value for _, value in one.values()]
        if values and any(bound_parts(values, part, table) > t for part in parts):
            return False
    return True


def choose_held(releases: Sequence[Rows], now: Mapping[Any, Any], k: int, t: Fraction) -> set[Any]:
    """Who is held of those who left the last release: the values of all others are as they were.

    Parameters
    ----------
    now : the value of each person who has a record
    """
    held, last = set(), releases[-1]
    for cell in find_cells(releases).values():
        left = {person for person in cell if person in last and person not in now}
        moved = any(now[p] != last[p][1] for p in cell if p in now and p in last)
        goes = left == cell and holds(cell, releases, k, t)
        if left and not moved and not (goes or may_part(cell, len(left), releases, k, t)):
            held |= left
    return held
