"""What classes are released as: exact integers, medians that are values, modes of the table."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.tables.random_tables import repeatable, seeds, starts_of
from tclose.kernels.aggregate import (
    SMALL_CLASS,
    float_means,
    group_by_label,
    integer_means,
    lower_medians,
    middle_keys,
    modes,
    sort_within,
)

# Keys span less than 2**62: `check_span` refuses the rest.
HIGHEST = 2**61 - 1
integer_keys = st.one_of(
    st.integers(-3, 3),
    st.integers(-HIGHEST, HIGHEST),
    st.sampled_from([-HIGHEST, HIGHEST - 1, HIGHEST]),
)
floats = st.floats(-1e150, 1e150)


def classes_of(keys: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(st.lists(keys, min_size=1, max_size=12), min_size=1, max_size=6)


def scatter(classes: list[list], seed: int, dtype: type) -> tuple[np.ndarray, ...]:
    """Keys of all classes in a random order of records, and where the kernels find each class."""
    starts = starts_of([len(members) for members in classes])
    order = np.random.default_rng(seed).permutation(starts[-1])
    keys: np.ndarray = np.empty(order.size, dtype=dtype)
    keys[order] = [key for members in classes for key in members]
    return keys, order, starts


class TestIntegerMeans:
    @repeatable
    @given(classes_of(integer_keys), seeds)
    def test_equal_exact_means_rounded_half_up(self, classes: list[list[int]], seed: int) -> None:
        means = integer_means(*scatter(classes, seed, np.int64))
        assert means.dtype == np.int64
        assert means.tolist() == [naive.integer_mean(members) for members in classes]

    @pytest.mark.parametrize(
        ("members", "mean"),
        [
            ([1, 2], 2),
            ([-1, -2], -1),
            ([-1, 0], 0),
            ([0, 0, 1], 0),
            ([0, 1, 1], 1),
            ([2**53 + 1, 2**53 + 3], 2**53 + 2),
            ([2**53 + 1, 2**53 + 2], 2**53 + 2),
            ([2**62 + 1] * 3, 2**62 + 1),
            ([2**63 - 1, 2**63 - 3, 2**63 - 3], 2**63 - 2),
            ([-(2**63), -(2**63) + 1], -(2**63) + 1),
        ],
    )
    def test_examples(self, members: list[int], mean: int) -> None:
        keys, order, starts = scatter([members], 0, np.int64)
        assert integer_means(keys, order, starts).tolist() == [mean]
        assert naive.integer_mean(members) == mean

    def test_sums_beyond_int64(self) -> None:
        keys = np.array([-HIGHEST] + [HIGHEST] * 9_999)
        means = integer_means(keys, np.arange(10_000), np.array([0, 10_000]))
        assert means.tolist() == [naive.integer_mean(keys.tolist())]


class TestFloatMeans:
    @repeatable
    @given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 40))
    def test_equal_keys_give_that_very_key(self, key: float, size: int) -> None:
        keys = np.full(size, key)
        means = float_means(keys, np.arange(size), np.array([0, size]))
        assert means.tobytes() == np.array([key]).tobytes() or key == 0.0 == means[0]

    @repeatable
    @given(classes_of(st.integers(-(2**40), 2**40)), seeds)
    def test_are_rounded_twice_at_most(self, classes: list[list[int]], seed: int) -> None:
        """Sums of such integers are exact; the quotient and the last sum are rounded."""
        means = float_means(*scatter(classes, seed, np.float64))
        for mean, members in zip(means.tolist(), classes, strict=True):
            error = abs(Fraction(mean) - Fraction(sum(members), len(members)))
            assert error <= Fraction(float(np.spacing(2.0 * max(map(abs, members)))))
            assert min(members) <= mean <= max(members)

    @repeatable
    @given(classes_of(st.integers(-(2**40), 2**40)), seeds)
    def test_of_a_power_of_two_records_are_exact(self, classes: list[list[int]], seed: int) -> None:
        doubled = [members * 4 for members in classes if len(members) in (1, 2, 4, 8)] or [[1]]
        means = float_means(*scatter(doubled, seed, np.float64))
        exact = [Fraction(sum(members), len(members)) for members in doubled]
        assert [Fraction(mean) for mean in means.tolist()] == exact


class TestMedians:
    @repeatable
    @given(classes_of(integer_keys), seeds)
    def test_of_integers_equal_the_twins(self, classes: list[list[int]], seed: int) -> None:
        keys, order, starts = scatter(classes, seed, np.int64)
        lower, upper = middle_keys(keys, order, starts)
        assert (lower.dtype, upper.dtype) == (np.int64, np.int64)
        assert lower.tolist() == [naive.lower_median(members) for members in classes]
        assert upper.tolist() == [naive.upper_median(members) for members in classes]

    @repeatable
    @given(classes_of(floats), seeds)
    def test_of_floats_equal_the_twins(self, classes: list[list[float]], seed: int) -> None:
        keys, order, starts = scatter(classes, seed, np.float64)
        lower, upper = middle_keys(keys, order, starts)
        assert (lower.dtype, upper.dtype) == (np.float64, np.float64)
        assert lower.tolist() == [naive.lower_median(members) for members in classes]
        assert upper.tolist() == [naive.upper_median(members) for members in classes]

    @pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
    def test_of_small_and_large_classes(self, dtype: type) -> None:
        rng = np.random.default_rng(0)
        sizes = [1, 2, SMALL_CLASS - 1, SMALL_CLASS, SMALL_CLASS + 1, 3 * SMALL_CLASS, 3]
        classes = [rng.integers(-90, 90, size).astype(dtype).tolist() for size in sizes]
        arrays = scatter(classes, 0, dtype)
        lower, upper = middle_keys(*arrays)
        assert (lower.dtype, upper.dtype) == (dtype, dtype)
        assert lower.tolist() == [naive.lower_median(members) for members in classes]
        assert upper.tolist() == [naive.upper_median(members) for members in classes]
        assert lower_medians(*arrays).tolist() == lower.tolist()


class TestModes:
    @repeatable
    @given(classes_of(st.integers(0, 5)), st.permutations(range(6)), seeds)
    def test_equal_the_twin(self, classes: list[list[int]], priority: list[int], seed: int) -> None:
        keys, order, starts = scatter(classes, seed, np.int64)
        winners = modes(keys, order, starts, np.array(priority))
        assert winners.dtype == np.int64
        assert winners.tolist() == [naive.mode(members, priority) for members in classes]

    @pytest.mark.parametrize(
        ("members", "priority", "mode"),
        [
            ([0, 1], [0, 1], 0),
            ([0, 1], [1, 0], 1),
            ([0, 1, 1], [0, 1], 1),
            ([2, 0, 1], [2, 1, 0], 2),
        ],
    )
    def test_ties_go_to_the_lowest_priority(
        self, members: list[int], priority: list[int], mode: int
    ) -> None:
        keys, order, starts = scatter([members], 0, np.int64)
        assert modes(keys, order, starts, np.array(priority)).tolist() == [mode]


class TestGroups:
    @repeatable
    @given(st.lists(st.integers(0, 7), max_size=50))
    def test_are_a_stable_sort(self, labels: list[int]) -> None:
        order, starts = group_by_label(np.array(labels, dtype=np.int64), 8)
        assert order.tolist() == sorted(range(len(labels)), key=lambda i: labels[i])
        assert np.diff(starts).tolist() == [labels.count(label) for label in range(8)]
        assert starts[0] == 0


class TestSortWithin:
    @repeatable
    @given(st.integers(0, 3), st.integers(1, 4), st.integers(1, 5), seeds)
    def test_equals_a_stable_sort_by_class_and_keys(
        self, n_keys: int, n_values: int, n_classes: int, seed: int
    ) -> None:
        """Among classes of more records than are sorted by insertion, and of none."""
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, n_classes, rng.integers(1, 4 * SMALL_CLASS))
        keys = rng.integers(0, n_values, (n_keys, labels.size))
        order, starts = group_by_label(labels, n_classes)
        sort_within(order, starts, keys)
        rows = sorted(range(labels.size), key=lambda i: (labels[i], *keys[:, i]))
        assert order.tolist() == rows
