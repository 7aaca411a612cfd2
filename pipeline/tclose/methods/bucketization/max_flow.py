"""Whole numbers in a table with given margins and limits: a small maximum flow.

The order in which paths are found decides which of several tables is returned, and so released
bytes: a library may change that order in any version.
"""

from collections import deque
from itertools import pairwise

Table = list[list[int]]


def fill_between(
    rows: list[int], columns: list[int], least: Table, most: Table, preferred: list[int]
) -> Table | None:
    """A table of integers with these margins, each between its limits; None if there is none.

    Each row gives what it has beyond its least to its ``preferred`` column first, then to the
    others in turn; shortest augmenting paths (Edmonds and Karp) undo only what conflicts with
    the margins, so an answer of None is a proof.
    """
    table = [list(row) for row in least]
    surplus = [total - sum(row) for total, row in zip(rows, least, strict=True)]
    deficit = [total - sum(row[c] for row in least) for c, total in enumerate(columns)]
    if min(surplus) < 0 or min(deficit) < 0 or sum(surplus) != sum(deficit):
        return None
    n_columns = len(columns)
    for turn in range(n_columns):
        for r, first in enumerate(preferred):
            c = (first + turn) % n_columns
            amount = min(surplus[r], deficit[c], most[r][c] - table[r][c])
            if amount > 0:
                table[r][c] += amount
                surplus[r] -= amount
                deficit[c] -= amount
    while any(surplus):
        path = _find_path(table, least, most, surplus, deficit)
        if path is None:
            return None
        _augment(table, least, most, (surplus, deficit), path)
    return table


def _find_path(
    table: Table, least: Table, most: Table, surplus: list[int], deficit: list[int]
) -> list[int] | None:
    """Rows and columns in turn from one that gives to one that wants; columns as -1 - c."""
    previous: dict[int, int | None] = {r: None for r, amount in enumerate(surplus) if amount}
    waiting = deque(previous)
    while waiting:
        node = waiting.popleft()
        if node < 0 and deficit[-1 - node]:
            path: list[int] = []
            step: int | None = node
            while step is not None:
                path.append(step)
                step = previous[step]
            return path[::-1]
        for other in _neighbours(node, table, least, most):
            if other not in previous:
                previous[other] = node
                waiting.append(other)
    return None


def _neighbours(node: int, table: Table, least: Table, most: Table) -> list[int]:
    if node >= 0:
        row = zip(table[node], most[node], strict=True)
        return [-1 - c for c, (value, limit) in enumerate(row) if value < limit]
    c = -1 - node
    return [r for r in range(len(table)) if table[r][c] > least[r][c]]


def _augment(
    table: Table, least: Table, most: Table, ends: tuple[list[int], list[int]], path: list[int]
) -> None:
    """Send as much along a path as its ends and steps allow."""
    surplus, deficit = ends
    room = [surplus[path[0]], deficit[-1 - path[-1]]]
    for a, b in pairwise(path):
        r, c = (a, -1 - b) if a >= 0 else (b, -1 - a)
        room.append(most[r][c] - table[r][c] if a >= 0 else table[r][c] - least[r][c])
    amount = min(room)
    for a, b in pairwise(path):
        r, c = (a, -1 - b) if a >= 0 else (b, -1 - a)
        table[r][c] += amount if a >= 0 else -amount
    surplus[path[0]] -= amount
    deficit[-1 - path[-1]] -= amount
