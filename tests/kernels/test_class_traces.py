"""Classes and lasting values of persons are those that sets and counters find."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from tclose.kernels.class_traces import (
    count_lasting_values,
    count_rows,
    place_classes,
    sign_persons,
)

N_PERSONS, N_CLASSES = 40, 12


@pytest.fixture(params=[(1, 3), (2, 3), (3, 30)])
def rows(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whose each row is, sizes of the classes, and values, ascending within each class."""
    seed, n_values = request.param
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 14, N_CLASSES).astype(np.int32)
    persons = rng.integers(0, N_PERSONS - 1, sizes.sum()).astype(np.int32)  # the last has none
    of_classes = np.split(rng.integers(0, n_values, sizes.sum()), np.cumsum(sizes)[:-1])
    return persons, sizes, np.concatenate([np.sort(values) for values in of_classes])


def gather(persons: np.ndarray, sizes: np.ndarray, first: int, last: int) -> tuple:
    """Classes of the rows of some persons, of two key ranges, and where each person's begin."""
    half = int(sizes[:5].sum())
    ranges = [(persons[:half], sizes[:5], 0), (persons[half:], sizes[5:], 5)]
    n_rows = np.zeros(last - first, dtype=np.int64)
    for of_range, _, _ in ranges:
        count_rows(of_range, first, n_rows)
    ends = np.append(0, np.cumsum(n_rows))
    classes = np.full(ends[-1], -1, dtype=np.int32)
    places = ends[:-1].copy()
    for of_range, of_classes, first_class in ranges:
        place_classes(of_range, of_classes, first_class, first, places, classes)
    return classes, ends


def class_counts(persons: np.ndarray, sizes: np.ndarray, person: int) -> Counter[int]:
    classes = np.repeat(np.arange(sizes.size), sizes)
    return Counter(classes[persons == person].tolist())


def test_rows_are_placed_by_person_and_class(rows) -> None:
    persons, sizes, _ = rows
    classes, ends = gather(persons, sizes, 7, 25)
    for person in range(7, 25):
        mine = classes[ends[person - 7] : ends[person - 6]].tolist()
        assert mine == sorted(class_counts(persons, sizes, person).elements())


@pytest.mark.parametrize("counts_rows", [True, False])
def test_those_in_the_same_classes_have_the_same_words(rows, counts_rows: bool) -> None:
    persons, sizes, _ = rows
    persons = persons // 2 * 2  # every other one has no rows, as the last two
    words = sign_persons(*gather(persons, sizes, 0, N_PERSONS), counts_rows)
    signed = list(map(tuple, words.T.tolist()))
    counted = [class_counts(persons, sizes, person) for person in range(N_PERSONS)]
    known = [tuple(sorted(counts.items() if counts_rows else counts.keys())) for counts in counted]
    for one, of_one in zip(signed, known, strict=True):
        assert [one == other for other in signed] == [of_one == other for other in known]


@pytest.mark.parametrize("counts_rows", [True, False])
def test_values_that_last_are_in_each_class_as_often_as_the_person(rows, counts_rows: bool) -> None:
    persons, sizes, values = rows
    starts = np.append(0, np.cumsum(sizes, dtype=np.int64))
    of_classes = [Counter(values[a:b].tolist()) for a, b in pairwise(starts)]
    classes, ends = gather(persons, sizes, 0, N_PERSONS)
    found = count_lasting_values(classes, ends, starts, values.astype(np.int32), counts_rows)
    for person in range(N_PERSONS):
        mine = class_counts(persons, sizes, person)
        left = [
            value
            for value in range(values.max() + 1)
            if all(of_classes[c][value] >= (n if counts_rows else 1) for c, n in mine.items())
        ]
        assert found[person] == (min(2, len(left)) if mine else 0)
