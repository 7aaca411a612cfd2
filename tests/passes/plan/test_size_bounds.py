"""What the equal distance alone says of the size of a class."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_joint
from support.tables.random_tables import repeatable
from tclose.errors import InfeasibleError
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Distance, Kind, Role
from tclose.model.distribution import make_distribution
from tclose.passes.plan.size_bounds import SizeBound, bound_size, check_two_classes

counts_of_values = st.lists(st.integers(1, 4), min_size=1, max_size=5)
percent = st.integers(1, 99).map(lambda n: Fraction(n, 100))


def column(*combines: str) -> Column:
    attribute = Attribute("a", Role.CONFIDENTIAL, distance=Distance.EQUAL, combines=combines)
    return Column(attribute, Kind.NOMINAL, pa.null())


def bound_of(counts, t, k=2, release_partition=None, joint=True) -> SizeBound:
    made = make_distribution(np.arange(len(counts)), np.array(counts))
    part = (
        made
        if release_partition is None
        else make_distribution(np.arange(len(counts)), np.array(release_partition))
    )
    return bound_size(column("b", "c") if joint else column(), made, part, Fraction(t), k)


class TestSize:
    @repeatable
    @given(counts_of_values, percent)
    def test_no_smaller_class_is_within_t(self, counts: list[int], t: Fraction) -> None:
        """Every class that the table's records allow is tried."""
        bound = bound_of(counts, t)
        for size in range(1, min(bound.size - 1, sum(counts)) + 1):
            assert naive_joint.nearest_class(counts, size) > t

    @repeatable
    @given(counts_of_values, st.integers(1, 6))
    def test_no_class_of_k_is_nearer(self, counts: list[int], k: int) -> None:
        bound = bound_of(counts, Fraction(1, 2), k)
        if k <= sum(counts):
            assert naive_joint.nearest_class(counts, k) >= bound.nearest

    @repeatable
    @given(counts_of_values, percent)
    def test_one_of_two_classes_is_not_nearer(self, counts: list[int], t: Fraction) -> None:
        bound, half = bound_of(counts, t), sum(counts) // 2
        sizes = range(1, half + 1)
        assert all(naive_joint.nearest_class(counts, s) >= bound.nearest_of_two for s in sizes)
        assert bound.leaves_one_class == (2 * bound.size > sum(counts))

    def test_of_values_that_are_all_different_it_is_exact(self) -> None:
        """A class of s of n records is at 1 - s/n."""
        bound = bound_of([1] * 1_000, "0.3", k=5)
        assert (bound.size, bound.nearest) == (700, Fraction(995, 1_000))
        assert bound.nearest_of_two == Fraction(1, 2)
        assert bound.leaves_one_class

    def test_of_common_values_it_is_the_number_that_is_needed(self) -> None:
        assert bound_of([50, 30, 10, 10], "0.2").size == 2
        assert bound_of([50, 30, 10, 10], "0.1").size == 3
        assert bound_of([50, 30, 10, 10], 1).size == 1

    def test_of_a_release_partition_counts_the_values_that_it_has(self) -> None:
        assert bound_of([50, 30, 10, 10], "0.3").size == 2
        assert bound_of([50, 30, 10, 10], "0.3", release_partition=[6, 0, 2, 2]).size == 3

    def test_explains_itself(self) -> None:
        line = bound_of([50, 30, 10, 10], "0.1", k=2).explain(2)
        assert line == (
            "3 or more: fewer are farther than t = 0.1 from the 4 combinations of 'a', whichever "
            "they are; k = 2 could meet t = 0.200000 at best"
        )
        assert "4 values of" in bound_of([50, 30, 10, 10], "0.1", joint=False).explain(2)


class TestRefusal:
    def test_of_what_would_be_one_class(self) -> None:
        with pytest.raises(InfeasibleError) as refused:
            check_two_classes([bound_of([1] * 1_000, "0.3", k=5)], 5)
        message = str(refused.value)
        assert message.startswith("privacy.joint: no class of fewer than 700 records is within")
        assert "has 1,000 combinations" in message
        assert "that could work is 0.500000, for classes of k = 5 it is 0.995000" in message

    def test_not_where_two_classes_could_be(self) -> None:
        check_two_classes([bound_of([1] * 1_000, "0.5", k=5)], 5)
        check_two_classes([None], 5)
        check_two_classes([], 5)

    def test_not_where_another_release_partition_has_classes(self) -> None:
        check_two_classes([bound_of([1] * 1_000, "0.3", k=5), None], 5)

    def test_not_where_k_alone_makes_one_class(self) -> None:
        check_two_classes([bound_of([1] * 9, "0.3", k=5)], 5)

    def test_not_of_an_attribute_that_is_none_of_several(self) -> None:
        check_two_classes([bound_of([1] * 1_000, "0.3", k=5, joint=False)], 5)
