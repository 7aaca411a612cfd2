"""What releases lose: definitions, parts that merge, and what releasing means of classes does."""

from fractions import Fraction
from functools import reduce
from math import sqrt
from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.tables.model_classes import Classes, classified
from support.tables.random_tables import class_sizes, repeatable, seeds, starts_of
from tclose.passes.microaggregate.utility import (
    Moments,
    ValueComparison,
    compare_records,
    measure_changes,
    measure_discernibility,
    measure_il1s,
    measure_moments,
)

# Far from zero beside their spread, near it, or constant.
offsets = st.sampled_from([0.0, 1.0, -(10.0**9)])


@st.composite
def records(draw: st.DrawFn) -> np.ndarray:
    """Values of one to three attributes of two to forty records, multiples of 1/64: (d, n)."""
    rng = np.random.default_rng(draw(seeds))
    shape = draw(st.integers(1, 3)), draw(st.integers(2, 40))
    return draw(offsets) + rng.integers(0, draw(st.integers(1, 999)), shape) / 64


@st.composite
def releases(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Records, and the same with each class's mean for its members."""
    original = draw(records())
    starts = starts_of(draw(class_sizes(original.shape[1])))
    sizes = np.diff(starts)
    means = np.add.reduceat(original, starts[:-1], axis=1) / sizes
    return original, np.repeat(means, sizes, axis=1)


def naive_il1s(original: np.ndarray, released: np.ndarray) -> float:
    losses = [
        abs(x - y) / (sqrt(2) * stdev(of_original))
        for of_original, of_release in zip(original.tolist(), released.tolist(), strict=True)
        for x, y in zip(of_original, of_release, strict=True)
    ]
    return fmean(losses)


def exact_products(values: np.ndarray) -> list[list[float]]:
    """Sums of products of deviations from the means, in rational numbers."""
    rows = [[Fraction(x) for x in row] for row in values.tolist()]
    spread = [[x - sum(row) / len(row) for x in row] for row in rows]
    return [[float(sum(x * y for x, y in zip(a, b, strict=True))) for b in spread] for a in spread]


class TestMoments:
    @repeatable
    @given(records())
    def test_equal_the_definition(self, values: np.ndarray) -> None:
        moments = measure_moments(values)
        exact = np.array(exact_products(values))
        assert moments.n_records == values.shape[1]
        assert moments.means == pytest.approx(values.mean(axis=1), rel=1e-12)
        assert moments.products == pytest.approx(exact, rel=1e-9, abs=1e-9 * exact.max() + 1e-9)
        assert moments.variances == pytest.approx(np.diagonal(exact) / (values.shape[1] - 1))

    @repeatable
    @given(records(), st.data())
    def test_of_parts_merge_to_those_of_the_whole(
        self, values: np.ndarray, data: st.DataObject
    ) -> None:
        n_records = values.shape[1]
        cuts = sorted(data.draw(st.lists(st.integers(0, n_records), max_size=4)))
        parts = [measure_moments(part) for part in np.split(values, cuts, axis=1)]
        whole = measure_moments(values)
        exact = np.array(exact_products(values))
        for merged in (reduce(Moments.merge, parts), reduce(Moments.merge, parts[::-1])):
            assert merged.n_records == n_records
            assert merged.means == pytest.approx(whole.means, rel=1e-12, abs=1e-12)
            tolerance = 1e-9 * exact.max() + 1e-5  # of values about 10^9 only 10^-7 is left
            assert merged.products == pytest.approx(exact, rel=1e-9, abs=tolerance)

    def test_survive_values_far_from_zero(self) -> None:
        """Sums of squares would be 10^24 here, with nothing left of a variance of 2.5."""
        values = 1e12 + np.array([[1.0, 2, 3, 4, 5, 1, 2, 3, 4, 5]])
        halves = [measure_moments(half) for half in np.split(values, 2, axis=1)]
        assert halves[0].variances.tolist() == [2.5]
        assert halves[0].merge(halves[1]).variances == pytest.approx([20 / 9])

    def test_are_of_exact_deviations_where_a_mean_is_rounded(self) -> None:
        """Numbers about 10^15 are an eighth apart, so the mean of these misses by up to a half."""
        small = np.random.default_rng(5).integers(-20, 20, (2, 40)).astype(np.float64)
        far = measure_moments(np.array([small[0] - 1e15, small[1]]))
        exact = np.array(exact_products(small))
        assert far.products == pytest.approx(exact, rel=1e-12)
        assert far.correlations == pytest.approx(np.corrcoef(small), rel=1e-12)

    def test_of_a_constant_are_without_spread(self) -> None:
        values = np.array([[0.1] * 7, [1, 2, 3, 4, 5, 6, 7]])
        moments = measure_moments(values)
        assert moments.means[0] == 0.1
        assert moments.products[0].tolist() == [0, 0]
        assert np.isnan(moments.correlations[0]).all()
        assert moments.correlations[1, 1] == pytest.approx(1)

    @repeatable
    @given(records())
    def test_correlations_equal_numpys(self, values: np.ndarray) -> None:
        assume((np.ptp(values, axis=1) > 0).all())
        expected = np.atleast_2d(np.corrcoef(values))
        assert measure_moments(values).correlations == pytest.approx(expected, abs=1e-6)


class TestLoss:
    def test_by_hand(self) -> None:
        """Of 1 and 3 the deviation is sqrt 2; each is 1 from 2: 1 / (sqrt 2 * sqrt 2)."""
        comparison = compare_records(np.array([[1.0, 3]]), np.array([[2.0, 2]]))
        assert measure_il1s(comparison) == pytest.approx(0.5)
        changes = measure_changes(comparison)
        assert changes.means.tolist() == [0]
        assert changes.variances.tolist() == [-1]

    def test_changes_by_hand(self) -> None:
        original = np.array([[1.0, 2, 3], [1, 2, 3]])
        released = np.array([[3.0, 4, 5], [6, 4, 2]])
        changes = measure_changes(compare_records(original, released))
        assert changes.means == pytest.approx([2, 2])
        assert changes.variances == pytest.approx([0, 3])
        assert changes.correlations == pytest.approx(np.array([[0, -2], [-2, 0]]))

    @repeatable
    @given(releases())
    def test_equals_the_twin(self, case: tuple[np.ndarray, np.ndarray]) -> None:
        original, released = case
        assume((np.ptp(original, axis=1) > 0).all())
        found = measure_il1s(compare_records(original, released))
        assert found == pytest.approx(naive_il1s(original, released), rel=1e-6, abs=1e-12)

    @repeatable
    @given(releases(), st.data())
    def test_of_parts_is_that_of_the_whole(
        self, case: tuple[np.ndarray, np.ndarray], data: st.DataObject
    ) -> None:
        original, released = case
        # Changes are told in standard deviations, and of a mean of 10^9 only 10^-7 is known.
        assume((original.std(axis=1) > 0.1).all())
        cut = data.draw(st.integers(0, original.shape[1]))
        parts = [
            compare_records(original[:, :cut], released[:, :cut]),
            compare_records(original[:, cut:], released[:, cut:]),
        ]
        whole = compare_records(original, released)
        for merged in (
            reduce(ValueComparison.merge, parts),
            reduce(ValueComparison.merge, parts[::-1]),
        ):
            assert measure_il1s(merged) == pytest.approx(measure_il1s(whole), rel=1e-5)
            for name in ("means", "variances"):
                found, expected = (getattr(measure_changes(c), name) for c in (merged, whole))
                assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)

    @repeatable
    @given(releases())
    def test_means_of_classes_keep_means_and_lower_variances(
        self, case: tuple[np.ndarray, np.ndarray]
    ) -> None:
        original, released = case
        assume((np.ptp(original, axis=1) > 0).all())
        changes = measure_changes(compare_records(original, released))
        assert changes.means == pytest.approx(np.zeros(original.shape[0]), abs=1e-4)
        assert (changes.variances <= 1e-6).all()
        assert (changes.variances >= -1).all()

    def test_of_what_is_released_as_it_is_is_none(self) -> None:
        original = np.array([[1.0, 5, 2, 8], [4, 4, 4, 4]])
        comparison = compare_records(original, original)
        assert measure_il1s(comparison) == 0
        changes = measure_changes(comparison)
        assert changes.variances[0] == changes.means[0] == changes.correlations[0, 0] == 0
        assert np.isnan([changes.variances[1], changes.means[1], changes.correlations[0, 1]]).all()

    def test_of_a_constant_that_changes_is_infinite(self) -> None:
        comparison = compare_records(np.array([[4.0, 4, 4]]), np.array([[4.0, 4, 5]]))
        assert measure_il1s(comparison) == np.inf

    def test_missing_values_do_not_vanish(self) -> None:
        original = np.array([[1.0, np.nan, 3]])
        assert np.isnan(measure_il1s(compare_records(original, np.full((1, 3), 2.0))))

    @pytest.mark.parametrize("shape", [(1, 0), (1, 1), (0, 5)])
    def test_of_too_few_records_is_none_that_can_be_told(self, shape: tuple[int, int]) -> None:
        assert np.isnan(measure_il1s(compare_records(np.ones(shape), np.zeros(shape))))


class TestClassSizes:
    @repeatable
    @given(classified())
    def test_equals_the_definition(self, classes: Classes) -> None:
        sizes = [len(members) for members in classes.members]
        size_counts = np.array(np.unique(sizes, return_counts=True))
        by_record = [size for size in sizes for _ in range(size)]
        assert measure_discernibility(size_counts) == sum(by_record)

    @repeatable
    @given(classified())
    def test_merging_never_lowers_it(self, classes: Classes) -> None:
        for i in range(len(classes.members) - 1):
            before, after = (
                np.array(np.unique(np.diff(c.starts), return_counts=True))
                for c in (classes, classes.merged(i))
            )
            assert measure_discernibility(after) > measure_discernibility(before)

    def test_do_not_overflow(self) -> None:
        assert measure_discernibility(np.array([[4 * 10**9], [2]])) == 32 * 10**18

    def test_of_no_classes(self) -> None:
        nothing = np.empty((2, 0), dtype=np.int64)
        assert measure_discernibility(nothing) == 0


def test_squares_beyond_floats_are_no_warning():
    """Warnings are errors here: the changes are NaN, as those of a single value are."""
    values = np.array([[1e200, -1e200, 3e200]])
    parts = [compare_records(part, part) for part in (values, 2 * values)]
    changes = measure_changes(reduce(ValueComparison.merge, parts))
    assert np.isnan(changes.variances).all()
