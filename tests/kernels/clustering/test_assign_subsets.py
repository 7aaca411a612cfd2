"""Global quantile subsets: exact sizes, the order of values, ties dealt out far apart."""

from itertools import pairwise
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.tables.random_tables import confidential_values, distribution_of, repeatable
from tclose.kernels.clustering.assign_subsets import (
    assign_subsets,
    subset_sizes,
    tie_stride,
)
from tclose.passes.plan.quantile_subsets import Subsets, cut_subsets

SEED = 11


def cut(values: list[int], n_subsets: int, seed: int = SEED) -> tuple[Subsets, np.ndarray]:
    """Cuts of a table into subsets, and the codes of its values."""
    table, codes = distribution_of(values)
    subsets, _ = cut_subsets(n_subsets, table, len(values), seed)
    return subsets, codes


def assign(subsets: Subsets, codes: np.ndarray, tie_seen: np.ndarray) -> np.ndarray:
    return assign_subsets(
        codes,
        subsets.cut_codes,
        subsets.cut_ranks,
        subsets.tie_codes,
        subsets.tie_rule,
        tie_seen,
    )


def nothing_seen(subsets: Subsets) -> np.ndarray:
    return np.zeros(subsets.tie_codes.size, dtype=np.int64)


@st.composite
def tables_and_subsets(draw: st.DrawFn) -> tuple[list[int], int]:
    values = draw(confidential_values)
    return values, draw(st.integers(1, min(len(values), 12)))


class TestSizes:
    @repeatable
    @given(st.integers(1, 10**6), st.data())
    def test_equal_the_twin(self, n_records: int, data: st.DataObject) -> None:
        n_subsets = data.draw(st.integers(1, min(n_records, 300)))
        sizes = subset_sizes(n_records, n_subsets)
        assert sizes.dtype == np.int64
        assert sizes.tolist() == naive.subset_sizes(n_records, n_subsets)
        assert sizes.sum() == n_records

    @pytest.mark.parametrize(
        ("n_records", "n_subsets", "sizes"),
        [
            (12, 4, [3, 3, 3, 3]),
            (13, 4, [3, 4, 3, 3]),
            (14, 4, [3, 4, 4, 3]),
            (15, 4, [3, 5, 4, 3]),
            (17, 5, [3, 3, 5, 3, 3]),
            (5, 2, [3, 2]),
            (7, 1, [7]),
        ],
    )
    def test_examples(self, n_records: int, n_subsets: int, sizes: list[int]) -> None:
        assert subset_sizes(n_records, n_subsets).tolist() == sizes


class TestStride:
    def test_shares_no_divisor_and_is_near_the_golden_ratio(self) -> None:
        for n_tied in range(1, 5_000):
            stride = tie_stride(n_tied)
            assert gcd(stride, n_tied) == 1
            assert 0 <= stride - round(n_tied * 0.618034) <= max(1, n_tied // 6)

    def test_any_consecutive_ties_go_far_apart(self) -> None:
        """Of any K tied records in a row, over K subsets, no subset gets more than three."""
        for n_subsets in (2, 3, 5, 10, 16):
            for n_tied in (10 * n_subsets, 100 * n_subsets, 997 * n_subsets):
                subsets, codes = cut([4] * n_tied, n_subsets)
                of_record = assign(subsets, codes, nothing_seen(subsets))
                windows = np.lib.stride_tricks.sliding_window_view(of_record, n_subsets)
                crowd = max(int((windows == s).sum(axis=1).max()) for s in range(n_subsets))
                assert crowd <= 3


class TestAssignment:
    @repeatable
    @given(tables_and_subsets())
    def test_equals_sorting_by_value_and_tie_rank(self, case: tuple[list[int], int]) -> None:
        values, n_subsets = case
        subsets, codes = cut(values, n_subsets)
        shifts = dict(zip(subsets.tie_codes.tolist(), subsets.tie_rule[:, 3].tolist(), strict=True))
        of_record = assign(subsets, codes, nothing_seen(subsets))
        assert of_record.dtype == np.int32
        assert of_record.tolist() == naive.assign_subsets(codes.tolist(), n_subsets, shifts)

    @repeatable
    @given(tables_and_subsets(), st.lists(st.integers(0, 60), max_size=5))
    def test_is_the_same_and_exact_however_the_input_is_cut(
        self, case: tuple[list[int], int], places: list[int]
    ) -> None:
        values, n_subsets = case
        subsets, codes = cut(values, n_subsets)
        whole = assign(subsets, codes, nothing_seen(subsets))
        pieces, seen = [], nothing_seen(subsets)
        for part in np.split(codes, sorted(min(place, codes.size) for place in places)):
            pieces.append(assign(subsets, part, seen))
            seen = seen + [np.count_nonzero(part == code) for code in subsets.tie_codes]
        assert np.concatenate(pieces).tolist() == whole.tolist()
        sizes = np.bincount(whole, minlength=n_subsets)
        assert sizes.tolist() == subset_sizes(len(values), n_subsets).tolist()

    @repeatable
    @given(tables_and_subsets())
    def test_follows_the_order_of_values(self, case: tuple[list[int], int]) -> None:
        values, n_subsets = case
        subsets, codes = cut(values, n_subsets)
        of_record = assign(subsets, codes, nothing_seen(subsets))
        by_subset = codes[np.argsort(of_record, kind="stable")]
        ends = np.cumsum(subset_sizes(len(values), n_subsets))[:-1]
        parts = [part for part in np.split(by_subset, ends) if part.size]
        assert all(a.max() <= b.min() for a, b in pairwise(parts))

    def test_leaves_the_count_of_seen_ties_alone(self) -> None:
        subsets, codes = cut([1] * 10, 4)
        seen = np.array([3])
        assign(subsets, codes[:5], seen)
        assert seen.tolist() == [3]

    def test_only_straddling_values_are_ties(self) -> None:
        subsets, _ = cut([1, 1, 2, 2, 3, 3, 3, 3], 4)
        assert subsets.cut_codes.tolist() == [1, 2, 2]
        assert subsets.tie_codes.tolist() == [2]
        assert subsets.tie_rule[:, :3].tolist() == [[4, 4, tie_stride(4)]]

    def test_shift_depends_on_seed_and_value(self) -> None:
        values = [1] * 100 + [2] * 100
        shifts = {tuple(cut(values, 8, seed)[0].tie_rule[:, 3].tolist()) for seed in range(5)}
        assert len(shifts) == 5
        assert all(len(set(shift)) == 2 for shift in shifts)
