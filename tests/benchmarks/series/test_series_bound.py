"""The bound of a series is below each series that is held, of all that there are."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.series.held_parts import N_QUASI, NAMES, NUMBERS, PERSON
from benchmarks.series.series_bound import Trajectories, bound_terms, follow_persons

K = 2
MONTHS = (("a", "b", "c", "d", "e"), ("b", "c", "d", "e", "f", "g"))  # a leaves, two join
ALONE = (0.25, 0.5)


def split_all(persons: list[str]) -> Iterator[list[list[str]]]:
    """All partitions of some persons."""
    if not persons:
        yield []
        return
    for rest in split_all(persons[1:]):
        yield [[persons[0]], *rest]
        for i, part in enumerate(rest):
            yield [*rest[:i], [persons[0], *part], *rest[i + 1 :]]


def lose(table: pa.Table, classes: list[list[str]], loss: float, *, in_shares: bool) -> float:
    """The mean loss of a month, in times an independent release's."""
    row = {person: i for i, person in enumerate(table[PERSON].to_pylist())}
    total = 0.0
    for name in (*NUMBERS, *NAMES):
        whole = lose_in_class(table[name].to_numpy(), table[name].to_numpy())
        by = whole / len(table) if in_shares and whole else 1.0
        for members in classes:
            rows = [row[person] for person in members]
            total += lose_in_class(table[name].to_numpy()[rows], table[name].to_numpy()) / by
    return total / N_QUASI / sum(map(len, classes)) / loss


def lose_in_class(values: np.ndarray, of_all: np.ndarray) -> float:
    """What one class loses: squares in the range of all values, or records off the mode."""
    if of_all.dtype == object:
        return float(len(values) - np.unique(values, return_counts=True)[1].max())
    return float((((values - values.mean()) / np.ptp(of_all)) ** 2).sum())


def is_held(first: list[list[str]], second: list[list[str]]) -> bool:
    """Classes of the first month, and cells of all persons of the second, have K or more."""
    before = {person: i for i, members in enumerate(first) for person in members}
    cells = [(before.get(p), i) for i, members in enumerate(second) for p in members]
    return min(map(len, first)) >= K and min(map(cells.count, cells)) >= K


def least_loss(tables: list[pa.Table], *, in_shares: bool) -> float:
    """The least mean loss of all series that are held."""
    priced = [
        [
            (classes, lose(table, classes, loss, in_shares=in_shares))
            for classes in split_all(list(persons))
        ]
        for table, persons, loss in zip(tables, MONTHS, ALONE, strict=True)
    ]
    held = (sum(a[1] for a in pair) for pair in product(*priced) if is_held(pair[0][0], pair[1][0]))
    return min(held) / len(tables)


@pytest.mark.parametrize("in_shares", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_bound_is_below_every_series(seed: int, in_shares: bool) -> None:
    rng = np.random.default_rng(seed)
    tables = [
        pa.table(
            {PERSON: list(persons)}
            | {name: rng.permutation(len(persons)) ** 2 for name in NUMBERS}
            | {name: rng.choice(["a", "b"], len(persons)) for name in NAMES}
        )
        for persons in MONTHS
    ]
    persons = follow_persons(tables, ALONE, in_shares=in_shares)
    bound = float(bound_terms(persons, K).sum())
    least = least_loss(tables, in_shares=in_shares)
    assert 0.3 * least < bound <= least


def test_who_is_in_no_cell_adds_nothing() -> None:
    values = np.array([[0.0], [1.0], [3.0], [9.0]])
    there = np.array([[True, True], [True, True], [True, True], [False, True]])
    terms = bound_terms(Trajectories(values, there, np.zeros(4, dtype=bool)), K)
    assert terms[:3] == pytest.approx([1 / 4, 1 / 4, 4 / 4])
    assert np.isnan(terms[3])


def test_terms_of_numbers_and_names_by_hand() -> None:
    """Of one month: the two nearest, by ages in their range of 10 and insurers."""
    table = pa.table(
        {PERSON: list("abcd"), "age": [0, 1, 3, 10], "insurer": list("xxxy")}
        | {name: [0, 0, 0, 1] for name in NUMBERS if name != "age"}
        | {name: ["a"] * 4 for name in NAMES if name != "insurer"}
    )
    apart = np.array(
        [[0, 0.01, 0.09, 4], [0.01, 0, 0.04, 3.81], [0.09, 0.04, 0, 3.49], [4, 3.81, 3.49, 0]]
    )  # squares of tenths; of the last person a name, and two numbers from end to end, beside age
    nearest = np.sort(apart, axis=1)[:, 1:3].sum(axis=1)
    terms = bound_terms(follow_persons([table], [0.5], in_shares=False), 3)
    assert terms == pytest.approx(nearest / (2 * 3) / 4 / N_QUASI / 0.5)
