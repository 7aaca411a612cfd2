"""Counts of every class: Table 1, section 6.2's limits, and everything tried on small tables."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_ratio
from support.tables.random_tables import repeatable
from tclose.errors import InfeasibleError
from tclose.methods.bucketization.plan_counts import (
    class_sizes,
    counts_for,
    emphasised_buckets,
    nearest_t,
    plan_counts,
)

ts = st.fractions(1, 5, max_denominator=4)
small_buckets = st.lists(st.integers(1, 7), min_size=2, max_size=3).map(np.array)
buckets = st.lists(st.integers(1, 200), min_size=2, max_size=6).map(np.array)


def ratios(counts: np.ndarray) -> list[Fraction]:
    """The larger quotient of every class and bucket, by hand."""
    totals, n_records = counts.sum(axis=0).tolist(), int(counts.sum())
    found = []
    for row in counts.tolist():
        for count, total in zip(row, totals, strict=True):
            p = Fraction(count, sum(row)) / Fraction(total, n_records)
            found.append(max(p, 1 / p) if p else Fraction(10**12))
    return found


@pytest.mark.parametrize("t", [2, 3, 4, 7])
@pytest.mark.parametrize("times", [1, 3])
def test_table_1(t: int, times: int) -> None:
    """E_i has t/(t+1) of bucket i and 1/(t(t+1)) of each other, to the last place."""
    k = t * (t + 1) * times
    counts = plan_counts(np.full(t + 1, k), k, Fraction(t))
    assert counts.shape == (t + 1, t + 1)
    shares = [[Fraction(int(c), k) for c in row] for row in counts]
    own, other = Fraction(t, t + 1), Fraction(1, t * (t + 1))
    assert shares == [[own if i == j else other for j in range(t + 1)] for i in range(t + 1)]


def test_figure_2() -> None:
    """Twelve records in three buckets at t = 1.5: three classes of 2 + 1 + 1."""
    counts = plan_counts(np.array([4, 4, 4]), 4, Fraction(3, 2))
    assert counts.tolist() == [[2, 1, 1], [1, 2, 1], [1, 1, 2]]


@pytest.mark.parametrize(("n", "g"), [(12, 3), (1080, 27), (100, 7), (5, 5), (11, 2)])
def test_class_sizes_are_those_of_the_formula(n: int, g: int) -> None:
    def up(i: int) -> int:
        return -(-Fraction(i * n, g).numerator // Fraction(i * n, g).denominator)

    assert class_sizes(n, g).tolist() == [up(i) - up(i - 1) for i in range(1, g + 1)]


@repeatable
@given(small_buckets, st.integers(1, 5), ts)
def test_counts_are_found_where_there_are_any(
    sizes: np.ndarray, n_classes: int, t: Fraction
) -> None:
    n_classes = min(n_classes, int(sizes.sum()))
    counts = counts_for(sizes, n_classes, t)
    wanted = class_sizes(int(sizes.sum()), n_classes).tolist()
    assert (counts is not None) == naive_ratio.counts_exist(wanted, sizes.tolist(), t)
    if counts is not None:
        assert counts.sum(axis=1).tolist() == wanted
        assert counts.sum(axis=0).tolist() == sizes.tolist()
        assert max(ratios(counts)) <= t


@repeatable
@given(buckets, st.integers(1, 20), ts)
def test_classes_are_within_k_and_t_or_refused(sizes: np.ndarray, k: int, t: Fraction) -> None:
    n_records = int(sizes.sum())
    try:
        counts = plan_counts(sizes, k, t)
    except InfeasibleError:
        if n_records >= 2 * k:
            for g in range(2, min(sizes.size, n_records // k + 1)):
                assert counts_for(sizes, g, t) is None
            nearest = nearest_t(sizes, k)
            if nearest is None:
                assert sizes.min() < 2
            else:
                assert nearest > t
                assert plan_counts(sizes, k, nearest).shape[0] >= 2
        else:
            assert n_records < k
        return
    assert counts.sum(axis=0).tolist() == sizes.tolist()
    assert counts.sum(axis=1).min() >= k
    assert max(ratios(counts)) <= t
    assert counts.shape[0] >= 2 or n_records < 2 * k


@repeatable
@given(buckets, st.integers(1, 60))
def test_buckets_are_emphasised_by_their_share(sizes: np.ndarray, n_classes: int) -> None:
    found = np.bincount(emphasised_buckets(sizes, n_classes), minlength=sizes.size)
    assert found.sum() == n_classes
    assert np.all(np.abs(found * int(sizes.sum()) - n_classes * sizes) < sizes.sum())


def test_equal_buckets_take_turns() -> None:
    assert emphasised_buckets(np.array([8, 8, 8]), 6).tolist() == [0, 1, 2, 0, 1, 2]


def test_a_heavy_bucket_makes_larger_classes() -> None:
    """92 of 100 in one bucket, t = 2: a class needs e * 8/100 * 2 >= 1, so 13 of k = 5."""
    counts = plan_counts(np.array([92, 8]), 5, Fraction(2))
    assert counts.sum(axis=1).min() >= 7
    assert max(ratios(counts)) <= 2
    assert counts.shape[0] == 8


def test_what_cannot_be_met_names_a_t_that_can() -> None:
    with pytest.raises(InfeasibleError, match=r"can meet 1\.500000: raise the ratio"):
        plan_counts(np.array([3, 3]), 3, Fraction(11, 10))
    assert plan_counts(np.array([3, 3]), 3, Fraction(3, 2)).tolist() == [[2, 1], [1, 2]]


def test_a_bucket_of_one_record_allows_no_second_class() -> None:
    with pytest.raises(InfeasibleError, match="no ratio allows two classes"):
        plan_counts(np.array([99, 1]), 5, Fraction(50))


def test_fewer_than_k_records_are_refused() -> None:
    with pytest.raises(InfeasibleError, match="fewer than k"):
        plan_counts(np.array([2, 2]), 5, Fraction(2))
    assert plan_counts(np.array([2, 3]), 5, Fraction(1)).tolist() == [[2, 3]]
