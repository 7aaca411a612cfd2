"""Slow, obvious twins of the privacy models and attacks: their definitions over lists of values."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import inf, prod

Members = Sequence[int]


def n_distinct(members: Members) -> int:
    return len(set(members))


def has_entropy(members: Members, limit: Fraction) -> bool:
    """Entropy(E) >= log l, with both sides raised: prod p^p <= 1/l, and then to the power n."""
    size = len(members)
    shares = [Fraction(count, size) for count in Counter(members).values()]
    return prod(share ** int(share * size) for share in shares) <= 1 / limit**size


def is_recursive(members: Members, factor: Fraction, rank: int) -> bool:
    """r_1 < c (r_l + r_{l+1} + ... + r_m): Li et al. 2007, section 2."""
    r = sorted(Counter(members).values(), reverse=True)
    return r[0] < factor * sum(r[rank - 1 :])


def ratio_distance(members: Members, table: Members) -> Fraction | float:
    """Largest quotient of probabilities, either way.

    Domingo-Ferrer and Soria-Comas 2015, equation (4).
    """
    largest: Fraction | float = Fraction(0)
    for value in set(table) | set(members):
        p, q = (Fraction(list(v).count(value), len(v)) for v in (members, table))
        largest = max(largest, p / q if q else inf, q / p if p else inf)
    return largest


def raising_factor(members: Members, table: Members) -> Fraction:
    """Most by which a class raises the probability of one of its values."""
    return max(
        Fraction(list(members).count(v) * len(table), len(members) * list(table).count(v))
        for v in members
    )


def superset_distance(
    classes: Sequence[Members], i: int, supersets: list[set[int]], least: int
) -> Fraction | float:
    """Least ordered distance of class i to a superset of ``least`` records; places of the table."""
    table = [value for members in classes for value in members]
    place = {value: j for j, value in enumerate(sorted(set(table)))}
    closest: Fraction | float = inf
    for superset in [{i}, set(range(len(classes))), *supersets]:
        members = [value for j in superset for value in classes[j]]
        if i in superset and len(members) >= least:
            closest = min(closest, emd_over_places(classes[i], members, place))
    return closest


def emd_over_places(members: Members, other: Members, place: dict[int, int]) -> Fraction:
    """Over the distinct values of the table whether ``other`` has them or not.

    Li et al. 2007, section 5.1.
    """
    if len(place) == 1:
        return Fraction(0)
    work = Fraction(0)
    for value in place:
        up_to = [Fraction(sum(v <= value for v in vs), len(vs)) for vs in (members, other)]
        work += abs(up_to[0] - up_to[1])
    return work / (len(place) - 1)
