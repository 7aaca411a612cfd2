"""What exchanges do to a distance: running sums against the definition, in fractions."""

from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.naive import naive_refine
from support.tables.classed_records import MARGIN, ClassedRecords, classed_records
from support.tables.random_tables import (
    confidential_values,
    distribution_of,
    repeatable,
)
from tclose.kernels.emd.ordered import ERROR_PER_STEP, exact_emd
from tclose.kernels.emd.ordered_delta import (
    DOWN,
    LESS,
    LESS_DOWN,
    MORE,
    MORE_UP,
    SAME,
    UP,
    compute_record_terms,
    distance_after_joining,
    distance_after_leaving,
    distance_after_swap,
    rank_work,
    table_sums,
)
from tclose.kernels.refinement.block import Block
from tclose.model.distribution import make_distribution
from tclose.passes.plan.search_budget import MAX_SEARCHED


def err_at_most(size: int) -> Fraction:
    """What a distance of so many records is off by: far below the margin of `make_refiner`."""
    return Fraction(ERROR_PER_STEP) * (size + 8)


def after_swap(block: Block, a: int, c: int, rank: int, i: int, at: int) -> float:
    size = block.sizes[c]
    return distance_after_swap(
        block.rank_terms, block.record_terms, block.sums, a, c, size, rank, i, at
    )


def after_leaving(block: Block, a: int, c: int, rank: int) -> float:
    return distance_after_leaving(block.rank_terms, a, c, block.sizes[c], rank)


def after_joining(block: Block, a: int, c: int, i: int, at: int) -> float:
    size = block.sizes[c]
    return distance_after_joining(
        block.rank_terms, block.record_terms, block.sums, a, c, size, i, at
    )


def places_to_join(codes: list[int], code: int) -> range:
    """How many of the ascending codes may come before another: any of its equals."""
    return range(bisect_left(codes, code), bisect_right(codes, code) + 1)


class TestTables:
    @repeatable
    @given(confidential_values, st.integers(1, 9))
    def test_sums_are_integrals_of_quantiles(self, values: list[int], max_size: int) -> None:
        table, codes = distribution_of(values)
        sums = table_sums(table.cumulative, table.prefix, max_size)
        assert sums.size == (max_size + 1) * (max_size + 2) // 2
        for size in range(1, max_size + 1):
            row = sums[size * (size + 1) // 2 :][: size + 1]
            expected = [
                naive_refine.quantile_sum(codes.tolist(), table.values.size, Fraction(j, size))
                for j in range(size + 1)
            ]
            assert row.tolist() == pytest.approx([float(e) for e in expected], abs=1e-14)

    @repeatable
    @given(confidential_values)
    def test_places(self, values: list[int]) -> None:
        table, codes = distribution_of(values)
        m = table.values.size
        record_terms = compute_record_terms(codes, table.cumulative, table.prefix)
        for code, (z, share, work) in zip(codes.tolist(), record_terms, strict=True):
            up_to = Fraction(sum(c <= code for c in codes.tolist()), len(values))
            assert z == pytest.approx(code / max(m - 1, 1), abs=1e-15)
            assert share == pytest.approx(float(up_to), abs=1e-15)
            expected = naive_refine.quantile_sum(codes.tolist(), m, up_to)
            assert work == pytest.approx(float(expected), abs=1e-14)

    @repeatable
    @given(confidential_values, st.integers(1, 9), st.data())
    def test_work_of_a_rank_is_the_integral(
        self, values: list[int], size: int, data: st.DataObject
    ) -> None:
        table, codes = distribution_of(values)
        record_terms = compute_record_terms(codes, table.cumulative, table.prefix)[np.newaxis]
        sums = table_sums(table.cumulative, table.prefix, size)[np.newaxis]
        i = data.draw(st.integers(0, len(values) - 1))
        for rank in range(size):
            expected = naive_refine.rank_work(
                int(codes[i]), rank, size, codes.tolist(), table.values.size
            )
            work = rank_work(record_terms, 0, i, sums, size * (size + 1) // 2, rank, size)
            assert work == pytest.approx(float(expected), abs=1e-14)

    @repeatable
    @given(confidential_values, st.data())
    def test_works_of_a_class_sum_up_to_its_distance(
        self, values: list[int], data: st.DataObject
    ) -> None:
        table, codes = distribution_of(values)
        picks = data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=12))
        rows = sorted(picks, key=lambda i: codes[i])
        check_class(table, codes, rows, naive.ordered_emd([values[i] for i in rows], values))

    @repeatable
    @given(
        st.lists(st.integers(1, 2**45), min_size=1, max_size=40),
        st.lists(st.integers(0, 10**6), min_size=1, max_size=40),
    )
    def test_of_huge_tables(self, counts: list[int], picks: list[int]) -> None:
        table = make_distribution(np.arange(len(counts)), counts)
        codes = np.sort(np.array(picks, dtype=np.int64) % len(counts))
        expected = naive.ordered_emd(codes.tolist(), dict(enumerate(counts)))
        check_class(table, codes, list(range(codes.size)), expected)

    @pytest.mark.parametrize("size", [MAX_SEARCHED, 2])
    def test_of_many_distinct_values(self, size: int) -> None:
        rng = np.random.default_rng(7)
        table = make_distribution(np.arange(100_003), rng.integers(1, 9, 100_003))
        for span in (100_003, 1_000):
            codes = np.sort(rng.integers(0, span, size))
            check_class(table, codes, list(range(size)), exact_emd(codes, table.cumulative))


def check_class(table, codes, rows: list[int], expected: Fraction) -> None:
    """Works of a class, ascending, make up its distance."""
    size = len(rows)
    record_terms = compute_record_terms(codes, table.cumulative, table.prefix)[np.newaxis]
    sums = table_sums(table.cumulative, table.prefix, size)[np.newaxis]
    distance = sum(
        rank_work(record_terms, 0, i, sums, size * (size + 1) // 2, j, size)
        for j, i in enumerate(rows)
    )
    assert abs(Fraction(distance) - expected) <= err_at_most(size) <= Fraction(MARGIN)


class TestLadders:
    @repeatable
    @given(classed_records(n_classes=st.integers(1, 2), max_attributes=2))
    def test_are_running_sums_of_work(self, records: ClassedRecords) -> None:
        block, rows = records.gather()
        for a, of_all in enumerate(records.ordered):
            codes, table = records.codes[of_all], records.tables[of_all]
            in_table = np.repeat(np.arange(table.values.size), table.counts).tolist()

            def work(code: int, rank: int, size: int, in_table: list[int] = in_table) -> Fraction:
                if not 0 <= rank < size:
                    return Fraction(0)
                m = max(in_table) + 1
                return naive_refine.rank_work(code, rank, size, in_table, m)

            for c, size in enumerate(block.sizes.tolist()):
                ranked = codes[rows[block.members[a, c, :size]]].tolist()
                expected = {
                    SAME: [work(z, j, size) for j, z in enumerate(ranked)],
                    UP: [work(z, j + 1, size) for j, z in enumerate(ranked)],
                    DOWN: [work(z, j - 1, size) for j, z in enumerate(ranked)],
                    LESS: [work(z, j, size - 1) for j, z in enumerate(ranked)],
                    LESS_DOWN: [work(z, j - 1, size - 1) for j, z in enumerate(ranked)],
                    MORE: [work(z, j, size + 1) for j, z in enumerate(ranked)],
                    MORE_UP: [work(z, j + 1, size + 1) for j, z in enumerate(ranked)],
                }
                for row, works in expected.items():
                    sums = [float(s) for s in accumulate(works, initial=Fraction(0))]
                    found = block.rank_terms[a, c, row, : size + 1]
                    assert found.tolist() == pytest.approx(sums, abs=1e-13), row

    @repeatable
    @given(classed_records())
    def test_end_in_the_distance(self, records: ClassedRecords) -> None:
        block, _ = records.gather()
        for c, members in enumerate(records.classes):
            emds = naive_refine.class_emds(records, members)
            for a, expected in enumerate(emds[of_all] for of_all in records.ordered):
                distance = block.rank_terms[a, c, SAME, len(members)]
                assert abs(Fraction(distance) - expected) <= err_at_most(len(members))


class TestExchanges:
    @repeatable
    @given(classed_records(n_classes=st.integers(2, 3)))
    def test_are_at_the_exact_distance(self, records: ClassedRecords) -> None:
        """Every record that a class has, every one that it has not, at every place it may take."""
        block, rows = records.gather()
        for c, members in enumerate(records.classes):
            outside = [i for i, row in enumerate(rows) if records.labels[row] != c]
            error = err_at_most(len(members) + 1)
            for a, of_all in enumerate(records.ordered):
                ranked = rows[block.members[a, c, : len(members)]].tolist()
                codes = records.codes[of_all][ranked].tolist()
                for rank, leaver in enumerate(ranked):
                    left = [row for row in ranked if row != leaver]
                    if left:
                        found = Fraction(after_leaving(block, a, c, rank))
                        assert abs(found - emd_of(records, of_all, left)) <= error
                    for i in outside[:6]:
                        swapped = emd_of(records, of_all, [*left, rows[i]])
                        for at in places_to_join(codes, records.codes[of_all, rows[i]]):
                            found = Fraction(after_swap(block, a, c, rank, i, at))
                            assert abs(found - swapped) <= error
                for i in outside:
                    joined = emd_of(records, of_all, [*ranked, rows[i]])
                    for at in places_to_join(codes, records.codes[of_all, rows[i]]):
                        found = Fraction(after_joining(block, a, c, i, at))
                        assert abs(found - joined) <= error

    @repeatable
    @given(classed_records(max_attributes=0))
    def test_without_confidential_attribute_change_nothing(self, records: ClassedRecords) -> None:
        block, rows = records.gather()
        i = len(rows) - 1  # of the last class
        for rank in range(block.sizes[0]):
            assert after_swap(block, 0, 0, rank, i, rank) == 0.0
            assert after_joining(block, 0, 0, i, rank) == 0.0
            assert after_leaving(block, 0, 0, rank) == 0.0


def emd_of(records: ClassedRecords, attribute: int, rows: list[int]) -> Fraction:
    codes, table = records.codes[attribute], records.tables[attribute]
    return exact_emd(codes[np.array(rows)], table.cumulative)
