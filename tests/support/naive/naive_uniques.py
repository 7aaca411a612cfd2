"""Minimal sample uniques by their definition: every record, every set of columns, every part."""

from collections.abc import Sequence
from itertools import combinations
from math import prod


def is_alone(rows: Sequence[tuple[object, ...]], i: int, chosen: Sequence[int]) -> bool:
    """Return whether no other row has the values of row i in these columns."""
    return not any(
        all(rows[i][c] == row[c] for c in chosen) for j, row in enumerate(rows) if j != i
    )


def list_msus(rows: Sequence[tuple[object, ...]], i: int, max_size: int) -> list[tuple[int, ...]]:
    """The sets of columns that tell row i from all others, as no part of them does."""
    columns = range(len(rows[0]))
    return [
        chosen
        for size in range(1, max_size + 1)
        for chosen in combinations(columns, size)
        if is_alone(rows, i, chosen)
        and not any(
            is_alone(rows, i, part) for n in range(1, size) for part in combinations(chosen, n)
        )
    ]


def score_row(rows: Sequence[tuple[object, ...]], i: int, max_size: int) -> int:
    """The SUDA score of row i: the sum over its sets of the product of m - size to m - max_size."""
    m = len(rows[0])
    return sum(
        prod(m - step for step in range(len(chosen), max_size + 1))
        for chosen in list_msus(rows, i, max_size)
    )
