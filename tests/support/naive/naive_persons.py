"""Slow, obvious twin: persons of classes, their distributions and distances, in fractions."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

Rows = Sequence[tuple[int, int]]  # person, value
Shares = Mapping[int, Fraction]


def person_shares(rows: Rows) -> dict[int, Fraction]:
    """Share of each value where each person weighs one and shares it among her rows."""
    n_rows = Counter(person for person, _ in rows)
    shares: dict[int, Fraction] = defaultdict(Fraction)
    for person, value in rows:
        shares[value] += Fraction(1, n_rows[person] * len(n_rows))
    return shares


def person_distance(of_class: Rows, table: Rows, work: Sequence[Sequence[Fraction]]) -> Fraction:
    """Distance of a class to the table over persons.

    ``work``: of each node the value below it count 1 or 0 times the node's weight; the distance is
    the sum over nodes of the difference between what the class and the table have below.
    """
    mine, theirs = person_shares(of_class), person_shares(table)
    total = Fraction(0)
    for weights in work:
        total += abs(sum((w * (mine[v] - theirs[v]) for v, w in enumerate(weights)), Fraction(0)))
    return total


def ordered_distance(of_class: Shares, table: Shares) -> Fraction:
    """The ordered distance between two distributions over 0, 1, ..., by its definition."""
    n_values, ahead, work = len(table), Fraction(0), Fraction(0)
    for value in range(n_values):
        ahead += of_class.get(value, Fraction(0)) - table[value]
        work += abs(ahead)
    return work / (n_values - 1)


def equal_distance(of_class: Shares, table: Shares) -> Fraction:
    """The equal distance between two distributions: the total variation."""
    differences = (abs(of_class.get(v, Fraction(0)) - share) for v, share in table.items())
    return sum(differences, Fraction(0)) / 2


def count_persons(rows: Rows) -> int:
    """Persons who have some of the rows."""
    return len({person for person, _ in rows})


def ordered_work(n_values: int) -> list[list[Fraction]]:
    """Nodes of the ordered distance: the values up to each."""
    if n_values == 1:
        return []
    weight = Fraction(1, n_values - 1)
    return [[weight * (v <= node) for v in range(n_values)] for node in range(n_values)]
