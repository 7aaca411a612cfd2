"""What analyses count of records: beside counts that look at one record and one value at a time."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable, seeds
from tclose.model.array_types import Int64
from tclose.passes.microaggregate.analyses import count_ranges as counting
from tclose.passes.microaggregate.analyses.record_counts import (
    RecordCounter,
    RecordCounts,
    sum_counts,
)
from tclose.passes.microaggregate.analyses.workload import (
    MOST_PARTS,
    N_QUERIES,
    ColumnParts,
    Workload,
    cut_categories,
    cut_ordered,
    draw_queries,
)

N_RECORDS = 150


def cut(name: str, values: np.ndarray) -> ColumnParts:
    distinct, counts = np.unique(values, return_counts=True)
    return cut_ordered(name, distinct, np.cumsum(counts))


def draw_records(seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Keys of records before and after: of skewed and other numbers, and of categories."""
    rng = np.random.default_rng(seed)
    pay = np.floor(rng.exponential(60, N_RECORDS))
    age = rng.integers(18, 90, N_RECORDS)
    town = np.minimum(rng.geometric(0.1, N_RECORDS), 30) - 1
    kept = rng.random(N_RECORDS) < 0.4
    return {
        "pay": (pay, np.where(kept, pay, pay.mean())),
        "age": (age, np.where(kept, age, age + rng.integers(-5, 6, N_RECORDS))),
        "town": (town, np.where(kept, town, rng.permutation(town))),
        "ill": (codes := rng.integers(0, 12, N_RECORDS), codes),
    }


def make_workload(records: dict[str, tuple[np.ndarray, np.ndarray]], seed: int) -> Workload:
    quasi = (
        cut("pay", records["pay"][0]),
        cut("age", records["age"][0]),
        cut_categories("town", np.bincount(records["town"][0], minlength=31)),
    )
    ill = cut("ill", records["ill"][0])
    return Workload(quasi, (ill,), draw_queries(quasi, (ill,), seed), (2, 3), np.array([0.0, 18.0]))


def find_unchanged(before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return after, before == after


def count(
    records: dict[str, tuple[np.ndarray, np.ndarray]], workload: Workload, rows: Any
) -> RecordCounts:
    """Count some of the records as a region does."""
    chosen = {name: (before[rows], after[rows]) for name, (before, after) in records.items()}
    order = np.arange(chosen["ill"][0].size)[::-1]
    counter = RecordCounter(workload, chosen["ill"][0][np.newaxis, order])
    for name in ("pay", "age", "town"):
        before, after = chosen[name]
        counter.add(before, partial(find_unchanged, before, after))
    pairs = [(before.astype(float), after.astype(float)) for before, after in chosen.values()]
    [counted] = counter.count(order, pairs[:2])
    return counted


def naive_ranges(
    records: dict[str, tuple[np.ndarray, np.ndarray]], workload: Workload, side: int
) -> list[int]:
    """Look at one value after the other, by the values that ranges end with."""
    found = []
    for query in workload.queries.tolist():
        met = 0
        for i in range(N_RECORDS):
            met += all(
                is_within(workload.columns[j], low, high, values_of(records, j)[side][i])
                for j, low, high in query
                if j >= 0
            )
        found.append(met)
    return found


def values_of(records: dict[str, Any], j: int) -> Any:
    return records[("pay", "age", "town", "ill")[j]]


def is_within(column: ColumnParts, low: int, high: int, value: float) -> bool:
    if not column.is_ordered:
        return low <= column.of_category[int(value)] < high
    is_above = low == 0 or value > column.ends[low - 1]
    return bool(is_above and (high == column.n_parts or value <= column.ends[high - 1]))


def few_queries(workload: Workload, n_queries: int) -> Workload:
    return Workload(
        workload.quasi,
        workload.confidential,
        workload.queries[:n_queries],
        workload.categorical,
        workload.shifts,
        workload.unasked,
    )


class TestRanges:
    @repeatable
    @given(seeds)
    def test_are_those_of_records_one_by_one(self, seed: int) -> None:
        records = draw_records(seed)
        workload = few_queries(make_workload(records, seed), 40)
        counts = count(records, workload, slice(None))
        assert counts.ranges[0].tolist() == naive_ranges(records, workload, 0)
        assert counts.ranges[1].tolist() == naive_ranges(records, workload, 1)
        assert counts.ranges.any()

    def test_do_not_depend_on_how_many_are_counted_at_once(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        records = draw_records(3)
        workload = make_workload(records, 3)
        at_once = count(records, workload, slice(None)).ranges
        monkeypatch.setattr(counting, "RECORDS_AT_ONCE", 65)
        assert (count(records, workload, slice(None)).ranges == at_once).all()

    def test_are_drawn_by_the_seed(self) -> None:
        records = draw_records(1)
        workload = make_workload(records, 1)
        assert workload.queries.shape == (N_QUERIES, 4, 3)
        assert (make_workload(records, 1).queries == workload.queries).all()
        assert (make_workload(records, 2).queries != workload.queries).any()
        n_ranges = (workload.queries[:, :, 0] >= 0).sum(axis=1)
        assert set(n_ranges.tolist()) == {3, 4}
        assert (workload.queries[:, :, 0] == 3).sum() == N_QUERIES

    def test_columns_of_one_value_have_none(self) -> None:
        constant = cut("x", np.ones(9))
        assert constant.n_parts == 1
        assert not draw_queries([constant], [constant], 1).size
        two = cut("y", np.array([1, 2]))
        drawn = draw_queries([constant, two], [constant], 1)
        assert set(drawn[:, 0, 0].tolist()) == {1}
        assert (drawn[:, 1:] == -1).all()

    def test_are_about_no_attribute_that_is_left_out(self) -> None:
        two, other = cut("y", np.array([1, 2])), cut("z", np.array([1, 2, 3]))
        asked = draw_queries([two], [two, other], 1, ["y"])
        assert set(asked[:, -1, 0].tolist()) == {2}
        assert set(draw_queries([two], [two], 1, ["y"])[:, -1, 0].tolist()) == {-1}


class TestParts:
    @repeatable
    @given(st.lists(st.integers(0, 40), min_size=1, max_size=200))
    def test_have_about_as_many_records(self, values: list[int]) -> None:
        column = cut("x", np.array(values))
        counted = np.bincount(column.find(np.array(values)), minlength=column.n_parts)
        assert counted.min() > 0
        assert column.shares == pytest.approx(counted / len(values))
        assert column.n_parts == min(MOST_PARTS, column.n_parts)

    def test_of_different_values_are_twentieths(self) -> None:
        column = cut("x", np.arange(200))
        assert np.bincount(column.find(np.arange(200))).tolist() == [10] * MOST_PARTS

    def test_of_the_largest_integers_there_are(self) -> None:
        values = 2**63 - 1 - np.arange(4)[::-1]
        assert cut("at the end", values).find(values).tolist() == [0, 1, 2, 3]

    def test_of_categories_are_the_commonest(self) -> None:
        counts = np.arange(1, 26)
        column = cut_categories("x", counts)
        assert column.find(np.array([24, 23, 6, 5, 0])).tolist() == [0, 1, 18, 19, 19]
        assert column.shares[-1] == sum(range(1, 7)) / counts.sum()


class TestTables:
    def test_of_parts_of_the_records_add_up(self) -> None:
        records = draw_records(4)
        workload = make_workload(records, 4)
        whole = count(records, workload, slice(None))
        parts = [count(records, workload, slice(a, a + 50)) for a in (0, 50, 100)]
        for summed in (sum_counts(parts), sum_counts([whole])):
            dense = np.zeros((2, 20 * workload.confidential[0].n_parts), dtype=np.int64)
            dense[:, whole.cells] = whole.in_cells
            assert (summed.in_cells == dense[:, : summed.cells.size]).all()
            assert not dense[:, summed.cells.size :].any()
            for name in ("ranges", "parts", "unchanged"):
                assert (getattr(summed, name) == getattr(whole, name)).all()
            assert summed.sums == pytest.approx(whole.sums)

    def test_are_those_of_the_records(self) -> None:
        records = draw_records(5)
        workload = make_workload(records, 5)
        counts = sum_counts([count(records, workload, slice(None))])
        n_ill = workload.confidential[0].n_parts
        for side in (0, 1):
            town = workload.quasi[2].find(records["town"][side])
            ill = workload.confidential[0].find(records["ill"][0])
            expected: Int64 = np.zeros((20, n_ill), dtype=np.int64)
            for row, column in zip(town.tolist(), ill.tolist(), strict=True):
                expected[row, column] += 1
            flat = expected.ravel()
            assert (counts.in_cells[side] == flat[: counts.cells.size]).all()
            age = records["age"][side] - 18.0
            of_towns = [age[town == part].sum() for part in range(20)]
            assert counts.sums[side][20:40] == pytest.approx(of_towns)
        same = [records[name][0] == records[name][1] for name in ("pay", "age", "town")]
        assert counts.unchanged.tolist() == [
            *(int(s.sum()) for s in same),
            int(np.all(same, 0).sum()),
        ]
