"""Pools of classes are cut anew within k and every limit, and only where less is lost."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_refine
from support.tables.classed_records import ClassedRecords, classed_records
from support.tables.random_tables import distribution_of, repeatable, starts_of
from tclose.kernels.aggregate import group_by_label
from tclose.kernels.emd.ordered_delta import table_sums
from tclose.kernels.refinement.neighbours import CENTRE, represent_classes
from tclose.kernels.refinement.pool_parts import (
    MOST_POOLED,
    grow_parts,
    make_pool,
    measure_apart,
    settle_parts,
    sum_parts,
)
from tclose.kernels.refinement.pools import pool_blocks
from tclose.model.array_types import Int64

PASSES = [(3, 0), (4, 1), (4, -1), (2, 1)]


def cut_pools(
    records: ClassedRecords, groups: list[list[int]], seed: int = 1
) -> tuple[Int64, tuple[int, int, int]]:
    """Labels, which may have gaps; records of pools that were cut, pools kept, pools broken."""
    values, levels, weights, terms, _, limits, *others = records.arrays()
    sums = np.zeros((1, (MOST_POOLED + 1) * (MOST_POOLED + 2) // 2))  # of any part
    if records.tables:
        ordered = [records.tables[a] for a in records.ordered] or list(records.tables[:1])
        sums = np.array([table_sums(t.cumulative, t.prefix, MOST_POOLED) for t in ordered])
    by_class = group_by_label(records.labels, records.n_classes)
    draws = np.zeros(records.n_classes)
    columns = values, levels, weights
    points = represent_classes(*columns, records.n_levels, *by_class, CENTRE, draws)
    in_groups = np.array([c for group in groups for c in group], dtype=np.int64)
    labels = records.labels.copy()
    tally = pool_blocks(
        (*columns, terms, sums, limits, *others),
        records.n_levels,
        labels,
        by_class,
        (in_groups, starts_of([len(group) for group in groups])),
        points,
        (records.k, 6, seed, records.n_classes),
        np.array(PASSES),
        0.0,
    )
    return labels, tally


def numbers(values: list[float], labels: list[int], k: int) -> ClassedRecords:
    """One numeric quasi-identifier, and no confidential attribute."""
    return ClassedRecords(
        np.array([values]),
        np.empty((0, len(values)), np.int32),
        1,
        np.empty((0, len(values)), np.int64),
        (),
        (),
        np.array(labels),
        k,
    )


def count_columns(records: ClassedRecords) -> tuple[int, int]:
    """Numbers and codes of each record."""
    values, levels, *_ = records.arrays()
    return values.shape[1], levels.shape[1]


def change_parts(part: list[int], k: int) -> Iterator[list[int]]:
    """The parts after each move of a record that leaves k, and each exchange of two."""
    for x, a in enumerate(part):
        for b in set(part) - {a} if part.count(a) > k else ():
            yield [*part[:x], b, *part[x + 1 :]]
        for y in range(x):
            changed = part.copy()
            changed[x], changed[y] = part[y], a
            yield changed


class TestPools:
    @repeatable
    @given(classed_records(n_classes=st.integers(2, 8)), st.data())
    def test_are_kept_within_k_and_limits_where_less_is_lost(
        self, before: ClassedRecords, data: st.DataObject
    ) -> None:
        cut = data.draw(st.integers(0, before.n_classes - 1))
        groups = [g for g in (list(range(cut)), list(range(cut, before.n_classes - 1))) if g]
        labels, (_, n_kept, n_broken) = cut_pools(before, groups)
        assert n_broken == 0 or before.tables
        is_changed = False
        for group in [*groups, [before.n_classes - 1]]:
            rows = np.flatnonzero(np.isin(before.labels, group))
            old = [before.classes[c] for c in group]
            new = [np.flatnonzero(labels == c).tolist() for c in np.unique(labels[rows])]
            assert sorted(i for members in new for i in members) == rows.tolist()
            assert min(map(len, new)) >= before.k
            changed = [members for members in new if members not in old]
            for a, t in enumerate(before.max_emds):
                assert all(before.emd(a, members) <= t for members in changed)
            loss = [naive_refine.released_loss(before, classes) for classes in (old, new)]
            assert loss[1] < loss[0] if changed else loss[1] == loss[0]
            is_changed |= bool(changed)
        assert is_changed == (n_kept > 0)

    def test_split_a_class(self) -> None:
        records = numbers([0, 1, 50, 51, 100, 101], [0, 0, 0, 0, 1, 1], 2)
        labels, (_, n_kept, n_broken) = cut_pools(records, [[0, 1]])
        assert n_kept > n_broken == 0
        assert len(set(labels.tolist())) == 3
        assert labels[0] == labels[1] != labels[2] == labels[3]

    def test_dissolve_a_class_into_its_neighbours(self) -> None:
        records = numbers([0, 0, 0, 9, 9, 9, 0, 9], [0, 0, 0, 1, 1, 1, 2, 2], 2)
        labels, _ = cut_pools(records, [[0, 1, 2]])
        assert labels[6] in labels[:3]
        assert labels[7] in labels[3:6]
        assert not set(labels[[0, 1, 2, 6]]) & set(labels[[3, 4, 5, 7]])

    @pytest.mark.parametrize(("k", "largest"), [(1, 32), (5, 32), (8, 48), (20, 64)])
    def test_leave_large_classes(self, k: int, largest: int) -> None:
        """Those of more than half of what a pool may have, which grows with k."""
        for n_large in (largest, largest + 1, MOST_POOLED):
            values = [0.0, 9.0] * MOST_POOLED
            records = numbers(values[: n_large + k], [0] * n_large + [1] * k, k)
            labels, tally = cut_pools(records, [[0, 1]])
            if n_large == largest:
                assert tally[0] > 0
                continue
            assert tally == (0, 0, 0)
            assert labels.tolist() == records.labels.tolist()

    def test_that_break_a_limit_are_counted(self) -> None:
        """Near records have the same confidential value, so classes that lose less are above t."""
        table, codes = distribution_of([0, 1] * 4)
        records = replace(
            numbers([0, 9] * 4, [0, 0, 0, 0, 1, 1, 1, 1], 4),
            codes=codes[np.newaxis],
            tables=(table,),
            limits=(0.1,),
        )
        labels, (_, n_kept, n_broken) = cut_pools(records, [[0, 1]])
        assert n_broken > n_kept == 0
        assert labels.tolist() == records.labels.tolist()


class TestParts:
    @pytest.mark.nightly
    @pytest.mark.parametrize("scale", [2.0**-60, 2.0**40])
    def test_units_change_nothing(self, scale: float) -> None:
        values = np.random.default_rng(5).random(40)
        parts = []
        for unit in (1.0, scale):
            records = numbers((unit * values).tolist(), [0] * 20 + [1] * 20, 4)
            pool = make_pool(*count_columns(records))
            pool.rows[:40], pool.part[:40] = np.arange(40), records.labels
            measure_apart(*records.arrays()[:3], pool, 40)
            grow_parts(pool, 40, 8, 4, 3)
            settle_parts(pool, 40, 8, 4)
            parts.append(pool.part[:40].tolist())
        assert parts[0] == parts[1]

    @repeatable
    @given(classed_records(n_classes=st.integers(2, 4), max_attributes=0), st.integers(0, 99))
    def test_loss_is_that_of_the_search(self, records: ClassedRecords, first: int) -> None:
        """Of the classes as given, and after each step of cutting them anew."""
        pool, n_records = make_pool(*count_columns(records)), records.n_records
        pool.rows[:n_records] = np.arange(n_records)
        pool.part[:n_records] = records.labels
        measure_apart(*records.arrays()[:3], pool, n_records)
        expected = naive_refine.searched_loss(records, records.classes)
        n_parts = records.n_classes
        assert sum_parts(pool, n_records, n_parts) == pytest.approx(float(expected), abs=1e-9)
        grow_parts(pool, n_records, n_parts, records.k, first % n_records)
        losses = []
        for loss in (sum_parts, lambda *of: settle_parts(*of, records.k)):
            losses.append(loss(pool, n_records, n_parts))
            part = pool.part[:n_records]
            classes = [np.flatnonzero(part == p).tolist() for p in range(n_parts)]
            assert min(map(len, classes)) >= records.k
            searched = naive_refine.searched_loss(records, classes)
            assert losses[-1] == pytest.approx(float(searched), abs=1e-9)
        assert losses[1] <= losses[0] + float(Fraction(1, 10**9))
        for changed in change_parts(part.tolist(), records.k):
            classes = [np.flatnonzero(np.equal(changed, p)).tolist() for p in range(n_parts)]
            assert float(naive_refine.searched_loss(records, classes)) >= losses[1] - 1e-9
