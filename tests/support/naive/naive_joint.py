"""Slow, obvious twins of joint closeness: combinations are tuples, and each is a value like any.

Domingo-Ferrer and Soria-Comas 2015: *From t-closeness to differential privacy*.
"""

from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from itertools import product

from support.naive import naive_taxonomy

Row = tuple[Hashable, ...]


def joint_emd(members: Iterable[Row], table: Iterable[Row]) -> Fraction:
    """The attributes as a single one; one combination as far as any other.

    Domingo-Ferrer and Soria-Comas 2015, section 4, (i).
    """
    return naive_taxonomy.equal_emd(_named(members), _named(table))


def transport(members: Iterable[Row], table: Iterable[Row]) -> float:
    """The same as least work, by linear programming."""
    return naive_taxonomy.transport(_named(members), _named(table), lambda a, b: Fraction(a != b))


def _named(rows: Iterable[Row]) -> list[str]:
    return [repr(tuple(row)) for row in rows]


def number_combinations(rows: Sequence[Sequence[int]]) -> dict[tuple[int, ...], int]:
    """Place of each combination that there is, in the order of the first part, then the second."""
    return {row: place for place, row in enumerate(sorted({tuple(row) for row in rows}))}


def nearest_class(counts: Sequence[int], size: int) -> Fraction:
    """Smallest equal distance that a class of ``size`` of a table's records can have: all tried."""
    total = sum(counts)
    found = [
        sum(
            (
                abs(Fraction(c, size) - Fraction(n, total))
                for c, n in zip(taken, counts, strict=True)
            ),
            Fraction(0),
        )
        for taken in product(*(range(min(n, size) + 1) for n in counts))
        if sum(taken) == size
    ]
    return min(found) / 2
