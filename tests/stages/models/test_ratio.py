"""Ratio distances, exact at the limit, and what they and epsilon say of each other."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations
from math import exp, inf, log, nan

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pipeline.errors import DataError, PolicyError
from pipeline.stages.models.counts import count_values
from pipeline.stages.models.ratio import (
    ASSUMPTIONS,
    check_ratio,
    epsilon_of_ratio,
    exact_ratio,
    raising_factors,
    stochastic_t,
)
from support import naive_models
from support.models import Classes, classes_of, classified
from support.tables import repeatable

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
        """001, section 6: three buckets of four; each class has two records of one of them."""
        classes = classes_of([0, 0, 1, 2], [0, 1, 1, 2], [0, 1, 2, 2])
        assert distances(classes) == [Fraction(3, 2)] * 3
        assert check_ratio(classes.counts, classes.table, Fraction(3, 2)).n_failing == 0
        assert check_ratio(classes.counts, classes.table, Fraction(3, 2) - TINY).n_failing == 3

    @pytest.mark.parametrize("t", range(2, 8))
    def test_table_1_has_distance_exactly_t(self, t: int) -> None:
        """001, Table 1: own bucket t/(t+1), the t others 1/(t(t+1)) each, 1/(t+1) in the table."""
        buckets = range(t + 1)
        members = [[b for b in buckets for _ in range(t * t if b == own else 1)] for own in buckets]
        classes = classes_of(*members)
        assert distances(classes) == [t] * (t + 1)
        assert check_ratio(classes.counts, classes.table, t).n_failing == 0
        assert check_ratio(classes.counts, classes.table, t - TINY).n_failing == t + 1

    def test_a_value_that_a_class_lacks_is_infinitely_far(self) -> None:
        """001, section 6: no finite t without buckets."""
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
        limit = data.draw(st.sampled_from(exact)) + data.draw(st.sampled_from([-TINY, 0, TINY]))
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
        counts = count_values(np.array([0, 2]), np.array([0, 2]))
        assert check_ratio(counts, np.array([1, 0, 1]), 1).meets.all()

    def test_an_empty_class_is_infinitely_far(self) -> None:
        counts = count_values(np.array([0, 0, 2]), np.array([0, 1]))
        found = check_ratio(counts, np.array([1, 1]), 100)
        assert found.values.tolist() == [inf, 1]
        assert found.meets.tolist() == [False, True]

    def test_needs_the_counts_of_the_whole_table(self) -> None:
        counts = count_values(np.array([0, 3]), np.array([0, 1, 1]))
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


class TestProposition1:
    @repeatable
    @given(
        st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5), min_size=1, max_size=6),
        st.fractions(1, 20),
    )
    def test_randomised_values_are_as_close_as_it_says(
        self, classes: list[list[int]], odds: Fraction
    ) -> None:
        """A value stays with ``odds`` to 1 of each other one: epsilon is the odds' logarithm."""

        def probability(value: int, members: list[int]) -> Fraction:
            kept = Fraction(members.count(value), len(members))
            return (kept * odds + (1 - kept)) / (odds + 3)

        everyone = [value for members in classes for value in members]
        ratios = []
        for members in classes:
            for value in range(4):
                p, q = probability(value, members), probability(value, everyone)
                ratios += [p / q, q / p]
        smallest = min(len(members) for members in classes)
        assert max(ratios) <= Fraction(stochastic_t(smallest, len(everyone), log(odds) + 1e-12))

    @pytest.mark.parametrize(("size", "n_records", "odds"), [(1, 2, 3), (2, 10, 5), (5, 1000, 2)])
    def test_is_reached_where_the_printed_formula_is_below(
        self, size: int, n_records: int, odds: int
    ) -> None:
        """A class all of one value in a table all of another, each kept with ``odds`` to 1."""
        a = Fraction(size, n_records)
        in_class = Fraction(1, 1 + odds)  # of the other value
        in_table = a * in_class + (1 - a) * Fraction(odds, 1 + odds)
        reached = in_table / in_class
        found = stochastic_t(size, n_records, log(odds))
        assert found == pytest.approx(float(reached), rel=1e-14)
        printed = size / n_records * (1 + (n_records - size - 1) / size * odds)
        assert printed < reached
        assert found - printed == pytest.approx(odds / n_records)

    @repeatable
    @given(st.lists(st.integers(1, 50), min_size=1, max_size=9), st.floats(0, 5))
    def test_is_the_largest_over_the_classes(self, sizes: list[int], epsilon: float) -> None:
        of_classes = [stochastic_t(size, sum(sizes), epsilon) for size in sizes]
        assert stochastic_t(min(sizes), sum(sizes), epsilon) >= max(of_classes) * (1 - 1e-15)

    def test_without_noise_to_tell_apart_or_with_one_class_it_is_one(self) -> None:
        assert stochastic_t(3, 100, 0.0) == pytest.approx(1, rel=1e-14)
        assert stochastic_t(100, 100, 2.0) == pytest.approx(1, rel=1e-14)
        assert stochastic_t(3, 100, 0.0) >= 1

    @pytest.mark.parametrize("epsilon", [-0.1, inf, nan])
    def test_epsilon_without_meaning_is_refused(self, epsilon: float) -> None:
        with pytest.raises(PolicyError, match="epsilon must be a number of at least 0"):
            stochastic_t(3, 100, epsilon)

    @pytest.mark.parametrize("size", [0, 101])
    def test_classes_that_cannot_be_are_refused(self, size: int) -> None:
        with pytest.raises(DataError, match="cannot be in a table of 100"):
            stochastic_t(size, 100, 1.0)


def test_limits_below_one_are_refused() -> None:
    classes = classes_of([0, 1], [0, 1])
    with pytest.raises(PolicyError, match="t of ratio closeness must be at least 1, not 1/2"):
        check_ratio(classes.counts, classes.table, Fraction(1, 2))
    with pytest.raises(PolicyError, match="t of ratio closeness must be at least 1, not 0"):
        epsilon_of_ratio(0)
