"""Diversity of classes: the definitions, decisions at the limit, and unions of classes."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_models
from support.tables.model_classes import (
    DISEASES_4,
    SALARIES_4,
    TABLE_2,
    Classes,
    classes_of,
    classified,
)
from support.tables.random_tables import repeatable
from tclose.errors import PolicyError
from tclose.privacy.class_counts import (
    ClassCounts,
    ClassMeasures,
    count_by_class,
    group_table,
)
from tclose.privacy.models.l_diversity import (
    check_distinct,
    check_entropy,
    check_recursive,
    check_sensitivity,
    reaches_entropy,
)

TINY = Fraction(1, 10**18)

# Some that classes of these tables meet and some that they do not, at the limit and off it.
factors = st.sampled_from([Fraction(1, 2), 1, 1 + TINY, 2 - TINY, 2, 3, Fraction(7, 2)])
ranks = st.integers(1, 4)
entropy_limits = st.sampled_from([1, 1 + TINY, Fraction(3, 2), 2 - TINY, 2, 2 + TINY, 3, 4])


class TestCounts:
    @repeatable
    @given(classified())
    def test_are_those_of_each_class(self, classes: Classes) -> None:
        counts = classes.counts
        for i, members in enumerate(classes.members):
            pairs = slice(counts.starts[i], counts.starts[i + 1])
            found = dict(
                zip(counts.codes[pairs].tolist(), counts.counts[pairs].tolist(), strict=True)
            )
            assert found == Counter(members)
            assert list(found) == sorted(found)
        assert counts.sizes.tolist() == [len(members) for members in classes.members]

    @repeatable
    @given(classified(), st.integers(1, 4))
    def test_of_groups_are_those_of_grouped_codes(self, classes: Classes, n_groups: int) -> None:
        groups = np.arange(classes.table.size) % n_groups
        found = classes.counts.grouped(groups)
        expected = count_by_class(classes.starts, groups[classes.codes])
        for name in ("sizes", "starts", "codes", "counts"):
            assert getattr(found, name).tolist() == getattr(expected, name).tolist()
        in_table = group_table(classes.table, groups)
        assert in_table.tolist() == np.bincount(groups[classes.codes]).tolist()

    def test_of_a_range_need_not_begin_at_zero(self) -> None:
        counts = count_by_class(np.array([2, 4, 5]), np.array([9, 9, 1, 1, 0, 9]))
        assert counts.codes.tolist() == [1, 0]
        assert counts.counts.tolist() == [2, 1]

    def test_of_nothing(self) -> None:
        counts = count_by_class(np.array([0, 0]), np.empty(0, dtype=np.int64))
        assert counts.n_distinct.tolist() == [0]


class TestPaper:
    def test_table_2_is_3_anonymous_and_not_diverse(self) -> None:
        counts = TABLE_2.counts
        assert check_distinct(counts, 2).values.tolist() == [1, 3, 2]
        assert check_distinct(counts, 2).meets.tolist() == [False, True, True]
        assert check_entropy(counts, 3).meets.tolist() == [False, True, False]
        assert check_sensitivity(counts, 3, 3).meets.tolist() == [False, True, False]

    @pytest.mark.parametrize("classes", [SALARIES_4, DISEASES_4])
    def test_table_4_has_distinct_and_entropy_3_diversity(self, classes: Classes) -> None:
        """Li et al. 2007, section 3, Example 3."""
        assert check_distinct(classes.counts, 3).n_failing == 0
        assert check_entropy(classes.counts, 3).n_failing == 0
        assert check_entropy(classes.counts, 3 + TINY).n_failing == 3

    def test_half_positive_has_every_2_diversity(self) -> None:
        """Li et al. 2007, section 3, the skewness attack on Example 2."""
        counts = classes_of([0] * 50 + [1] * 50, [0] * 9850 + [1] * 50).counts
        assert check_distinct(counts, 2).n_failing == 0
        assert check_entropy(counts, 2).meets.tolist() == [True, False]
        assert check_recursive(counts, 1 + TINY, 2).meets.tolist() == [True, False]
        assert check_recursive(counts, 1, 2).n_failing == 2

    def test_49_of_50_are_as_diverse_as_1_of_50(self) -> None:
        """Li et al. 2007, section 3: whichever value it is that rules."""
        counts = classes_of([0] + [1] * 49, [0] * 49 + [1]).counts
        for checks in (check_entropy(counts, 1), check_recursive(counts, 50, 2)):
            assert checks.values[0] == checks.values[1]


class TestDefinitions:
    @repeatable
    @given(classified(), st.integers(1, 5), st.integers(0, 5))
    def test_of_distinct_values_and_sensitivity(
        self, classes: Classes, least: int, more: int
    ) -> None:
        distinct = [naive_models.n_distinct(members) for members in classes.members]
        found = check_distinct(classes.counts, least)
        assert found.values.tolist() == distinct
        assert found.meets.tolist() == [d >= least for d in distinct]
        sensitive = check_sensitivity(classes.counts, least + more, least)
        assert sensitive.values.tolist() == distinct
        assert sensitive.meets.tolist() == [
            d >= least and len(members) >= least + more
            for d, members in zip(distinct, classes.members, strict=True)
        ]

    @repeatable
    @given(classified(), entropy_limits)
    def test_of_entropy(self, classes: Classes, limit: Fraction) -> None:
        found = check_entropy(classes.counts, limit)
        for members, value, meets in zip(classes.members, found.values, found.meets, strict=True):
            shares = [count / len(members) for count in Counter(members).values()]
            assert value == pytest.approx(exp(-sum(p * log(p) for p in shares)), rel=1e-12)
            assert meets == naive_models.has_entropy(members, Fraction(limit))

    @repeatable
    @given(classified(), factors, ranks)
    def test_of_recursive_diversity(self, classes: Classes, factor: Fraction, rank: int) -> None:
        found = check_recursive(classes.counts, factor, rank)
        for members, value, meets in zip(classes.members, found.values, found.meets, strict=True):
            assert meets == naive_models.is_recursive(members, Fraction(factor), rank)
            assert meets == (value < factor) or value == pytest.approx(float(factor))


class TestEntropyAtTheLimit:
    @pytest.mark.parametrize(
        ("counts", "limit"),
        [
            ([7] * 3, Fraction(3)),
            ([1] * 10, Fraction(10)),
            ([4, 1, 1, 1, 1], Fraction(4)),  # one half and four eighths: two bits
            ([8, 4, 2, 1, 1], Fraction(2)),  # well above
            ([5], Fraction(1)),
        ],
    )
    def test_equal_passes_and_a_hair_above_does_not(
        self, counts: list[int], limit: Fraction
    ) -> None:
        members = [v for v, count in enumerate(counts) for _ in range(count)]
        classes = classes_of(members)
        exact = naive_models.has_entropy(members, limit + TINY)
        assert check_entropy(classes.counts, limit).n_failing == 0
        assert check_entropy(classes.counts, limit + TINY).n_failing == (not exact)
        assert reaches_entropy(counts, limit)

    def test_one_record_off_the_middle_is_below(self) -> None:
        n = 10**4
        assert reaches_entropy([n, n], Fraction(2))
        assert not reaches_entropy([n + 1, n - 1], Fraction(2))
        assert reaches_entropy([n + 1, n - 1], 2 - Fraction(1, 10**7))

    def test_equal_counts_of_millions_cost_nothing(self) -> None:
        assert reaches_entropy([10**12] * 5, Fraction(5))
        assert not reaches_entropy([10**12] * 5, 5 + TINY)

    def test_is_not_left_to_the_float(self) -> None:
        """Sums of shares times their logarithms may round to either side of log l."""
        for copies in range(1, 60):
            for n_values in (2, 3, 5, 6, 7, 10):
                classes = classes_of(list(range(n_values)) * copies)
                assert check_entropy(classes.counts, n_values).meets.all()
                assert not check_entropy(classes.counts, n_values + TINY).meets.any()


class TestUnions:
    """What two classes meet, their union meets: all models here are monotone."""

    CHECKS: tuple[Callable[[ClassCounts, int], ClassMeasures], ...] = (
        check_distinct,
        check_entropy,
        lambda counts, least: check_sensitivity(counts, least, least),
        lambda counts, least: check_recursive(counts, Fraction(5, 2), least),
        lambda counts, least: check_recursive(counts, Fraction(1, least), 2),
    )

    @pytest.mark.parametrize("check", CHECKS)
    @repeatable
    @given(classes=classified(), least=st.integers(1, 3))
    def test_meet_what_both_parts_meet(self, check: Callable, classes: Classes, least: int) -> None:
        parts = check(classes.counts, least).meets
        for i in range(parts.size - 1):
            union = check(classes.merged(i).counts, least).meets[i]
            assert union or not (parts[i] and parts[i + 1])

    @repeatable
    @given(classified(), ranks)
    def test_measures_are_no_worse_than_the_worse_part(self, classes: Classes, rank: int) -> None:
        distinct = check_distinct(classes.counts, 1).values
        entropy = check_entropy(classes.counts, 1).values
        recursive = check_recursive(classes.counts, 1, rank).values
        for i in range(distinct.size - 1):
            merged = classes.merged(i).counts
            pair = slice(i, i + 2)
            assert check_distinct(merged, 1).values[i] >= distinct[pair].max()
            assert check_entropy(merged, 1).values[i] >= entropy[pair].min() * (1 - 1e-12)
            found = check_recursive(merged, 1, rank).values[i]
            assert found <= recursive[pair].max() * (1 + 1e-12)


def test_an_empty_class_meets_nothing() -> None:
    counts = count_by_class(np.array([0, 0, 2, 2]), np.array([0, 1]))
    for checks in (
        check_distinct(counts, 1),
        check_entropy(counts, 1),
        check_recursive(counts, 10, 1),
        check_sensitivity(counts, 1, 1),
    ):
        assert checks.meets.tolist() == [False, True, False]
        assert checks.n_failing == 2
        assert not np.isnan(checks.values).any()


def test_recursive_diversity_is_decided_beyond_64_bits() -> None:
    counts = ClassCounts(
        np.array([2**62 + 1]), np.array([0, 2]), np.array([0, 1]), np.array([2**61 + 1, 2**61])
    )
    at = Fraction(2**61 + 1, 2**61)
    assert not check_recursive(counts, at, 2).meets[0]
    assert check_recursive(counts, at + TINY, 2).meets[0]


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda c: check_distinct(c, 0), "l of distinct l-diversity must be at least 1, not 0"),
        (lambda c: check_entropy(c, Fraction(1, 2)), "at least 1, not 1/2"),
        (lambda c: check_recursive(c, 0, 2), "c of recursive .* must be more than 0, not 0"),
        (lambda c: check_recursive(c, 2, 0), "l of recursive .* must be at least 1, not 0"),
        (lambda c: check_sensitivity(c, 2, 3), "as large as p, must be at least 3, not 2"),
        (lambda c: check_sensitivity(c, 2, 0), "p of p-sensitive .* must be at least 1, not 0"),
    ],
)
def test_limits_without_meaning_are_refused(check: Callable, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        check(TABLE_2.counts)
