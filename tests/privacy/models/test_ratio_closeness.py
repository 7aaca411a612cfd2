"""Ratio distances, exact at the limit, and what they and epsilon say of each other."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations
from math import exp, inf, log
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.naive import naive_models
from support.tables.model_classes import Classes, classes_of, classified
from support.tables.random_tables import repeatable
from tclose.errors import DataError, PolicyError
from tclose.privacy.class_counts import count_by_class
from tclose.privacy.models.ratio_closeness import (
    ASSUMPTIONS,
    check_ratio,
    epsilon_of_ratio,
    exact_ratio,
    raising_factors,
)

TINY = Fraction(1, 10**18)


def distances(classes: Classes) -> list[Fraction | float]:
    """Exact distances of all classes, by the twin."""
    table = classes.codes.tolist()
    return [naive_models.ratio_distance(members, table) for members in classes.members]


@st.composite
def bucketed(draw: st.DrawFn) -> Classes:
    """Tables of few buckets, of which most classes have every one: distances that are finite."""
    n_buckets, n_classes = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    bucket = st.integers(0, n_buckets - 1)
    members = st.lists(bucket, max_size=8).map(lambda more: [*range(n_buckets), *more])
    return classes_of(*[draw(members) for _ in range(n_classes)])


either = st.one_of(classified(), bucketed())


class TestPaper:
    def test_figure_2_has_distance_exactly_one_and_a_half(self) -> None:
        """Three buckets of four; each class has two records of one of them.

        Domingo-Ferrer and Soria-Comas 2015, section 6.
        """
        classes = classes_of([0, 0, 1, 2], [0, 1, 1, 2], [0, 1, 2, 2])
        assert distances(classes) == [Fraction(3, 2)] * 3
        assert check_ratio(classes.counts, classes.table, Fraction(3, 2)).n_failing == 0
        assert check_ratio(classes.counts, classes.table, Fraction(3, 2) - TINY).n_failing == 3

    @pytest.mark.parametrize("t", range(2, 8))
    def test_table_1_has_distance_exactly_t(self, t: int) -> None:
        """Own bucket t/(t+1), the t others 1/(t(t+1)) each, 1/(t+1) in the table.

        Domingo-Ferrer and Soria-Comas 2015, Table 1.
        """
        buckets = range(t + 1)
        members = [[b for b in buckets for _ in range(t * t if b == own else 1)] for own in buckets]
        classes = classes_of(*members)
        assert distances(classes) == [t] * (t + 1)
        assert check_ratio(classes.counts, classes.table, t).n_failing == 0
        assert check_ratio(classes.counts, classes.table, t - TINY).n_failing == t + 1

    def test_a_value_that_a_class_lacks_is_infinitely_far(self) -> None:
        """Domingo-Ferrer and Soria-Comas 2015, section 6: no finite t without buckets."""
        classes = classes_of([1, 2, 3], [1, 2, 2])
        assert check_ratio(classes.counts, classes.table, 10**9).values.tolist() == [2, inf]
        groups = np.array([0, 1, 1])
        table = np.array([2, 4])
        found = check_ratio(classes.counts.grouped(groups), table, 1)
        assert found.values.tolist() == [1, 1]
        assert found.meets.all()


class TestDistance:
    @repeatable
    @given(either)
    def test_equals_the_definition(self, classes: Classes) -> None:
        exact = distances(classes)
        found = check_ratio(classes.counts, classes.table, 2)
        assert found.values.tolist() == pytest.approx([float(d) for d in exact], rel=1e-14)
        assert [exact_ratio(classes.counts, classes.table, i) for i in range(len(exact))] == exact

    @repeatable
    @given(bucketed(), st.data())
    def test_is_decided_as_in_exact_arithmetic(self, classes: Classes, data: st.DataObject) -> None:
        exact = distances(classes)
        difference = data.draw(st.sampled_from([-TINY, Fraction(0), TINY]))
        limit: Any = data.draw(st.sampled_from(exact)) + difference
        assume(limit >= 1)
        found = check_ratio(classes.counts, classes.table, limit)
        assert found.meets.tolist() == [d <= limit for d in exact]

    @repeatable
    @given(either)
    def test_of_a_union_is_at_most_the_larger(self, classes: Classes) -> None:
        """Ratio closeness is monotone under merging."""
        exact = distances(classes)
        for i in range(len(exact) - 1):
            merged = classes.merged(i)
            assert exact_ratio(merged.counts, merged.table, i) <= max(exact[i : i + 2])

    @repeatable
    @given(classified())
    def test_raising_factors_equal_the_definition(self, classes: Classes) -> None:
        table = classes.codes.tolist()
        exact = [float(naive_models.raising_factor(m, table)) for m in classes.members]
        assert raising_factors(classes.counts, classes.table).tolist() == pytest.approx(exact)

    def test_of_a_bucket_that_nobody_has_is_none(self) -> None:
        counts = count_by_class(np.array([0, 2]), np.array([0, 2]))
        assert check_ratio(counts, np.array([1, 0, 1]), 1).meets.all()

    def test_an_empty_class_is_infinitely_far(self) -> None:
        counts = count_by_class(np.array([0, 0, 2]), np.array([0, 1]))
        found = check_ratio(counts, np.array([1, 1]), 100)
        assert found.values.tolist() == [inf, 1]
        assert found.meets.tolist() == [False, True]

    def test_counts_near_the_top_of_64_bits_stay_exact(self) -> None:
        """Shares of a table of 4e18 records: products go beyond 64 bits."""
        table = np.array([2 * 10**18 + 1, 2 * 10**18 - 1])
        counts = count_by_class(np.array([0, 2]), np.array([0, 1]))
        exact = Fraction(2 * 10**18, 2 * 10**18 - 1)
        assert exact_ratio(counts, table, 0) == exact
        assert check_ratio(counts, table, exact).meets.all()
        assert not check_ratio(counts, table, 1).meets.any()

    def test_needs_the_counts_of_the_whole_table(self) -> None:
        counts = count_by_class(np.array([0, 3]), np.array([0, 1, 1]))
        with pytest.raises(DataError, match="more records of a value than the table"):
            check_ratio(counts, np.array([5, 1]), 2)


class TestProposition3:
    @repeatable
    @given(bucketed())
    def test_views_differ_by_at_most_exp_epsilon(self, classes: Classes) -> None:
        """Cases (ii) and (iv) of the proof: class against table by t, two classes by t squared."""
        t = max(distances(classes))
        for a, b in combinations(classes.members, 2):
            assert naive_models.ratio_distance(a, b) <= t * t
        assert exp(epsilon_of_ratio(Fraction(t))) >= float(t * t) * (1 - 1e-15)

    @repeatable
    @given(st.fractions(1, 10**6))
    def test_epsilon_is_twice_the_logarithm_and_not_below(self, t: Fraction) -> None:
        with localcontext(prec=60):
            exact = 2 * (Decimal(t.numerator) / Decimal(t.denominator)).ln()
            found = Decimal(epsilon_of_ratio(t))
            assert exact <= found <= exact * (1 + Decimal("4e-15"))

    def test_equal_distributions_give_zero(self) -> None:
        assert epsilon_of_ratio(1) == 0
        assert epsilon_of_ratio(1 + TINY) > 0
        assert epsilon_of_ratio(Fraction(3, 2)) == pytest.approx(2 * log(1.5), rel=1e-14)

    def test_assumptions_can_be_shown(self) -> None:
        assert len(ASSUMPTIONS) == 5
        for text in ASSUMPTIONS:
            assert text.endswith(".")
            assert "\n" not in text
            assert "  " not in text


def test_limits_below_one_are_refused() -> None:
    classes = classes_of([0, 1], [0, 1])
    with pytest.raises(PolicyError, match="t of ratio closeness must be at least 1, not 1/2"):
        check_ratio(classes.counts, classes.table, Fraction(1, 2))
    with pytest.raises(PolicyError, match="t of ratio closeness must be at least 1, not 0"):
        epsilon_of_ratio(0)
