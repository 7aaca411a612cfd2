"""Slow, obvious twin: who is alone by her classes, and whose value is left."""

from collections import Counter
from collections.abc import Sequence

Row = tuple[int, int, int]  # person, class, value


def trace(rows: Sequence[Row], k: int) -> tuple[int, int, int, int]:
    """Persons in several classes, alone, among fewer than k, and with one value left."""
    classes: dict[int, Counter[int]] = {}
    held: dict[int, Counter[int]] = {}
    for person, of_class, value in rows:
        classes.setdefault(person, Counter())[of_class] += 1
        held.setdefault(of_class, Counter())[value] += 1
    alike = Counter(frozenset(counted.items()) for counted in classes.values())
    sizes = [alike[frozenset(counted.items())] for counted in classes.values()]
    n_told = 0
    for counted in classes.values():
        left = [
            {value for value, n in held[of_class].items() if n >= rows_there}
            for of_class, rows_there in counted.items()
        ]
        n_told += len(set.intersection(*left)) == 1
    return (
        sum(len(counted) > 1 for counted in classes.values()),
        sum(size == 1 for size in sizes),
        sum(size < k for size in sizes),
        n_told,
    )
