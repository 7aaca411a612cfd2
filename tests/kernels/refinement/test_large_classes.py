"""Exchanges of classes too large for all pairs of records: the best one all the same."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from support.naive import naive_kernels as naive
from support.tables.classed_records import ClassedRecords, check_state, classes_of
from support.tables.random_tables import distribution_of
from tclose.kernels.refinement.screen import MOST_TOGETHER, find_insertion_ranks, make_screen
from tclose.kernels.refinement.search import LARGEST_MENDED, LEAST_GAIN, improve_pair
from tclose.model.array_types import Float64

NEAR = 1e-9


def two_classes(sizes: tuple[int, int], limit: float, n_values: int) -> ClassedRecords:
    """Two classes of a drawn table of two numbers and a text; k lets no record move."""
    n_records = sum(sizes)
    rng = np.random.default_rng(n_records)
    confidential = rng.integers(n_values, size=n_records).tolist()
    table, codes = distribution_of(confidential)
    return ClassedRecords(
        rng.integers(-64, 65, size=(2, n_records)) / 64,
        rng.integers(3, size=(1, n_records)).astype(np.int32),
        3,
        codes[np.newaxis],
        (table,),
        (limit,),
        np.repeat([0, 1], sizes),
        max(sizes),
    )


def points_of(records: ClassedRecords) -> Float64:
    """Numbers, and an indicator of each value of the text, of half its weight: (d, n)."""
    indicators = np.eye(3)[records.nominal[0]].T * np.sqrt(0.5)
    return np.concatenate([records.numeric, indicators])


def sums_after(records: ClassedRecords) -> Float64:
    """What is searched for less of, after each exchange of the first class for the second."""
    points = points_of(records)
    a, b = (points[:, records.labels == c] for c in (0, 1))
    total = (points**2).sum()
    lost = np.full((a.shape[1], b.shape[1]), total)
    for own, step in ((a, b[:, None, :] - a[:, :, None]), (b, a[:, :, None] - b[:, None, :])):
        after = own.sum(axis=1)[:, None, None] + step
        lost -= (after**2).sum(axis=0) / own.shape[1]
    return lost


def is_within(records: ClassedRecords, m: int, n: int) -> bool:
    """Whether both classes hold the limit once the records m and n of them are exchanged."""
    own, other = (records.codes[0][records.labels == c] for c in (0, 1))
    own[m], other[n] = other[n], own[m]
    table = dict(enumerate(records.tables[0].counts.tolist()))
    limit = Fraction(records.limits[0])
    return all(naive.ordered_emd(codes.tolist(), table) <= limit for codes in (own, other))


def sum_of(records: ClassedRecords, classes: list[list[int]]) -> float:
    """What is searched for less of."""
    points = points_of(records)
    means = [points[:, rows].mean(axis=1)[:, np.newaxis] for rows in classes]
    each = zip(classes, means, strict=True)
    return sum(float(((points[:, rows] - mean) ** 2).sum()) for rows, mean in each)


@pytest.mark.parametrize("sizes", [(80, 70), (70, 20), (20, 130), (64, 65), (150, 150)])
@pytest.mark.parametrize(("limit", "n_values"), [(1.0, 9), (0.15, 200), (0.12, 9)])
def test_the_best_exchange_that_is_allowed_is_made(
    sizes: tuple[int, int], limit: float, n_values: int
) -> None:
    records = two_classes(sizes, limit, n_values)
    block, rows = records.gather()
    assert not block.excess.any()
    assert block.lanes.norms.shape[1] > MOST_TOGETHER
    assert improve_pair(block, 0, 1, records.k, make_screen(block), LEAST_GAIN)
    check_state(block, rows, records)
    sums = sums_after(records)
    tried = (np.unravel_index(at, sums.shape) for at in np.argsort(sums, axis=None))
    best = next(pair for pair in tried if is_within(records, *pair))
    assert sum_of(records, classes_of(block, rows)) == pytest.approx(sums[best], abs=NEAR)


@pytest.mark.parametrize("sizes", [(80, 70), (10, 200)])
def test_insertion_ranks_count_what_precedes(sizes: tuple[int, int]) -> None:
    """By each of two attributes, of which the lanes ascend in the first."""
    one = two_classes(sizes, 1.0, 9)
    table, codes = distribution_of(np.random.default_rng(1).integers(50, size=sum(sizes)).tolist())
    both = np.concatenate([one.codes, codes[np.newaxis]])
    records = replace(one, codes=both, tables=(*one.tables, table), limits=(1.0, 1.0))
    block, _ = records.gather()
    insertion_ranks = make_screen(block).insertion_ranks
    find_insertion_ranks(block, 0, 1, insertion_ranks)
    for order in (0, 1):
        positions = [block.lanes.positions[c, order, : sizes[c]] for c in (0, 1)]
        for side in (0, 1):
            preceding = (positions[1 - side] <= positions[side][:, np.newaxis]).sum(axis=1)
            assert insertion_ranks[side, order, : sizes[side]].tolist() == preceding.tolist()


@pytest.mark.parametrize(
    ("size", "is_mended"), [(LARGEST_MENDED, True), (LARGEST_MENDED + 1, False)]
)
def test_excess_of_the_largest_is_left(size: int, *, is_mended: bool) -> None:
    """Two classes of one value each: half of the records would have to be exchanged."""
    records = two_classes((size, size), 0.3, 2)
    codes = np.repeat([0, 1], size)
    table, of_table = distribution_of(codes.tolist())
    records = replace(records, codes=of_table[np.newaxis], tables=(table,))
    block, _ = records.gather()
    done = improve_pair(block, 0, 1, size, make_screen(block), LEAST_GAIN)
    assert done == is_mended
