"""Attacks on classes: the paper's examples, their definitions, and unions of classes."""

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_models
from support.tables.model_classes import (
    DISEASES,
    DISEASES_4,
    DISEASES_5,
    SALARIES_4,
    SALARIES_5,
    STOMACH,
    TABLE_2,
    Classes,
    classes_of,
    classified,
)
from support.tables.random_tables import repeatable
from tclose.errors import PolicyError
from tclose.privacy.attacks import (
    Exposure,
    Skewness,
    measure_homogeneity,
    measure_skewness,
)
from tclose.privacy.class_counts import count_by_class, group_table

TINY = Fraction(1, 10**18)


def count_exposed(classes: Classes, exposed: list[bool]) -> Exposure:
    """The exposure of the classes marked."""
    sizes = [len(members) for members in classes.members]
    of_exposed = [size for size, is_exposed in zip(sizes, exposed, strict=True) if is_exposed]
    return Exposure(sum(of_exposed), len(of_exposed), sum(sizes), len(sizes))


class TestPaper:
    def test_bob_of_table_2_has_heart_disease(self) -> None:
        """Li et al. 2007, section 2, Example 1."""
        assert measure_homogeneity(TABLE_2.counts) == Exposure(3, 1, 9, 3)

    def test_bob_of_table_4_has_a_stomach_disease_and_a_low_salary(self) -> None:
        """Li et al. 2007, section 3, Example 3; salaries low, middle and high, three of each."""
        assert len(DISEASES) == STOMACH.size == DISEASES_4.table.size
        for classes, groups in ((DISEASES_4, STOMACH), (SALARIES_4, np.arange(9) // 3)):
            assert measure_homogeneity(classes.counts) == Exposure(0, 0, 9, 3)
            assert measure_homogeneity(classes.counts.grouped(groups)) == Exposure(3, 1, 9, 3)

    def test_table_5_prevents_it(self) -> None:
        """Li et al. 2007, section 5.3."""
        for classes, groups in ((DISEASES_5, STOMACH), (SALARIES_5, np.arange(9) // 3)):
            assert measure_homogeneity(classes.counts.grouped(groups)) == Exposure(0, 0, 9, 3)

    def test_skewness_of_example_2(self) -> None:
        """Of 10,000 records 1 % are positive; 50 % and 98 % in two classes.

        Li et al. 2007, section 3.
        """
        positive, negative = [1], [0]
        classes = classes_of(
            positive * 25 + negative * 25,
            positive * 49 + negative,
            positive * 26 + negative * 9874,
        )
        assert classes.table.tolist() == [9900, 100]
        found = measure_skewness(classes.counts, classes.table, 50)
        assert found.largest == pytest.approx(98)
        assert found.exposure == Exposure(50, 1, 10_000, 3)
        below = measure_skewness(classes.counts, classes.table, 50 - TINY)
        assert below.exposure == Exposure(100, 2, 10_000, 3)
        share = 9874 / 9900 / 0.99
        assert found.mean == pytest.approx((50 * 50 + 50 * 98 + 9900 * share) / 10_000)


class TestDefinitions:
    @repeatable
    @given(classified(), st.integers(1, 4))
    def test_of_homogeneity_and_similarity(self, classes: Classes, n_groups: int) -> None:
        groups = np.arange(classes.table.size) % n_groups
        one_value = [len(set(members)) == 1 for members in classes.members]
        one_group = [len({v % n_groups for v in members}) == 1 for members in classes.members]
        assert measure_homogeneity(classes.counts) == count_exposed(classes, one_value)
        assert measure_homogeneity(classes.counts.grouped(groups)) == count_exposed(
            classes, one_group
        )

    @repeatable
    @given(classified(), st.data())
    def test_of_skewness(self, classes: Classes, data: st.DataObject) -> None:
        table = classes.codes.tolist()
        exact = [naive_models.raising_factor(members, table) for members in classes.members]
        factor = data.draw(st.sampled_from(exact)) + data.draw(st.sampled_from([Fraction(0), TINY]))
        found = measure_skewness(classes.counts, classes.table, factor)
        assert found.exposure == count_exposed(classes, [f > factor for f in exact])
        assert found.largest == pytest.approx(float(max(exact)))
        weighted = sum(f * len(m) for f, m in zip(exact, classes.members, strict=True))
        assert found.mean == pytest.approx(float(weighted / len(table)))

    @repeatable
    @given(classified(), st.data())
    def test_is_decided_just_below_a_factor(self, classes: Classes, data: st.DataObject) -> None:
        table = classes.codes.tolist()
        exact = [naive_models.raising_factor(members, table) for members in classes.members]
        factor = max(Fraction(1), data.draw(st.sampled_from(exact)) - TINY)
        found = measure_skewness(classes.counts, classes.table, factor)
        assert found.exposure == count_exposed(classes, [f > factor for f in exact])

    @repeatable
    @given(classified(), st.integers(1, 4))
    def test_of_skewness_of_groups(self, classes: Classes, n_groups: int) -> None:
        groups = np.arange(classes.table.size) % n_groups
        found = measure_skewness(
            classes.counts.grouped(groups), group_table(classes.table, groups), 2
        )
        table = groups[classes.codes].tolist()
        exact = [
            naive_models.raising_factor(groups[members].tolist(), table)
            for members in classes.members
        ]
        assert found.exposure == count_exposed(classes, [f > 2 for f in exact])
        assert found.largest == pytest.approx(float(max(exact)))


class TestUnions:
    @repeatable
    @given(classified(), st.sampled_from([1, Fraction(3, 2), 2, 3]))
    def test_expose_no_more(self, classes: Classes, factor: Fraction) -> None:
        """All that is said to be monotone is."""
        groups = np.arange(classes.table.size) % 3
        skewness = measure_skewness(classes.counts, classes.table, factor)
        for i in range(len(classes.members) - 1):
            merged = classes.merged(i)
            for measure in (
                measure_homogeneity,
                lambda counts: measure_homogeneity(counts.grouped(groups)),
            ):
                before, after = measure(classes.counts), measure(merged.counts)
                assert after.exposed_records <= before.exposed_records
                assert after.exposed_classes <= before.exposed_classes
            shift = measure_skewness(merged.counts, merged.table, factor)
            assert shift.largest <= skewness.largest * (1 + 1e-12)
            assert shift.total <= skewness.total * (1 + 1e-12)
            assert shift.exposure.exposed_classes <= skewness.exposure.exposed_classes

    def test_may_expose_more_records_to_skewness(self) -> None:
        classes = classes_of([1] * 4, [0] * 5 + [1] * 2, [0] * 20)
        before = measure_skewness(classes.counts, classes.table, 2)
        merged = classes.merged(0)
        after = measure_skewness(merged.counts, merged.table, 2)
        assert before.exposure.exposed_records == 4
        assert after.exposure.exposed_records == 11


class TestKeyRanges:
    @repeatable
    @given(classified(), st.data())
    def test_merge_to_the_whole(self, classes: Classes, data: st.DataObject) -> None:
        n_classes = classes.starts.size - 1
        cut = data.draw(st.integers(0, n_classes))
        parts = [
            count_by_class(classes.starts[: cut + 1], classes.codes),
            count_by_class(classes.starts[cut:], classes.codes),
        ]
        merged = reduce(Exposure.merge, map(measure_homogeneity, parts))
        assert merged == measure_homogeneity(classes.counts)
        halves = [measure_skewness(part, classes.table, 2) for part in parts]
        both = reduce(Skewness.merge, halves)
        whole = measure_skewness(classes.counts, classes.table, 2)
        assert (both.exposure, both.largest) == (whole.exposure, whole.largest)
        assert both.mean == pytest.approx(whole.mean)


def test_empty_classes_and_no_records_expose_nobody() -> None:
    counts = count_by_class(np.array([0, 0, 2]), np.array([0, 1]))
    assert measure_homogeneity(counts) == Exposure(0, 0, 2, 2)
    assert measure_skewness(counts, np.array([1, 1]), 1).exposure == Exposure(0, 0, 2, 2)
    nothing = count_by_class(np.array([0]), np.empty(0, dtype=np.int64))
    assert np.isnan(measure_skewness(nothing, np.array([1, 1]), 1).mean)


def test_a_factor_that_every_class_reaches_is_refused() -> None:
    with pytest.raises(PolicyError, match="factor of skewness must be at least 1, not 1/2"):
        measure_skewness(TABLE_2.counts, TABLE_2.table, Fraction(1, 2))
