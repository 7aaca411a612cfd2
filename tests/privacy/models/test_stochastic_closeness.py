"""Proposition 1: what it gives holds for real mechanisms, and is no weaker than it need be."""

from decimal import Context, Decimal
from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_ratio
from support.tables.random_tables import repeatable, seeds
from tclose.errors import InfeasibleError, PolicyError
from tclose.privacy.models.stochastic_closeness import epsilon_for, stochastic_closeness

epsilons = st.fractions(Fraction(1, 50), 8, max_denominator=50)


def as_printed(epsilon: float, n_records: int, size: int) -> float:
    return size / n_records * (1 + (n_records - size - 1) / size * exp(epsilon))


@repeatable
@given(seeds, st.fractions(Fraction(1, 50), 4, max_denominator=50), st.booleans())
def test_holds_for_the_mechanisms(seed: int, epsilon: Fraction, ordered: bool) -> None:
    """Definition 3 over every outcome, for random classes, noise and randomised response."""
    rng = np.random.default_rng(seed)
    n_values, n_classes = int(rng.integers(2, 6)), int(rng.integers(2, 5))
    classes = [rng.integers(0, n_values, rng.integers(1, 6)).tolist() for _ in range(n_classes)]
    mechanism = naive_ratio.laplace_odds if ordered else naive_ratio.response_odds
    size = n_values - 1 if ordered else n_values
    odds = {v: mechanism(v, size, float(epsilon)) for v in range(n_values)}
    n_records = sum(map(len, classes))
    t = stochastic_closeness(epsilon, n_records, min(map(len, classes))).t
    assert max(naive_ratio.stochastic_distances(classes, odds)) <= float(t) * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("others", [1, 4])
def test_is_reached_and_the_printed_formula_is_not_kept(epsilon: Fraction, others: int) -> None:
    """One record against all others of another category: the bound to the last place."""
    odds = {v: naive_ratio.response_odds(v, 2, float(epsilon)) for v in range(2)}
    n_records = 1 + others
    distance = next(naive_ratio.stochastic_distances([[0], [1] * others], odds))
    t = stochastic_closeness(epsilon, n_records, 1).t
    assert float(t) == pytest.approx(distance, rel=1e-12)
    assert as_printed(float(epsilon), n_records, 1) < distance


@repeatable
@given(epsilons, epsilons, st.integers(2, 10**9), st.data())
def test_grows_with_epsilon_and_shrinks_with_the_class(a, b, n_records, data) -> None:
    small = data.draw(st.integers(1, n_records - 1))
    large = data.draw(st.integers(small + 1, n_records))
    low, high = sorted((a, b))
    at_low = stochastic_closeness(low, n_records, small).t
    assert 1 < at_low <= stochastic_closeness(high, n_records, small).t
    assert float(at_low) <= exp(low) * (1 + 1e-15)
    assert stochastic_closeness(low, n_records, large).t < at_low
    if low < high:
        assert at_low < stochastic_closeness(high, n_records, small).t


def test_is_rounded_upward_and_by_no_more_than_a_place() -> None:
    """The value e to 40 places; w = 1/4."""
    e = Fraction("2.7182818284590452353602874713526624977572")
    t = stochastic_closeness(Fraction(1), 40, 10).t
    exact = Fraction(1, 4) + Fraction(3, 4) * e
    assert 0 < t - exact < Fraction(1, 10**27)


def test_outcomes_that_say_nothing_are_at_next_to_no_distance() -> None:
    assert 0 <= stochastic_closeness(Fraction(0), 100, 3).t - 1 < Fraction(1, 10**27)


@repeatable
@given(st.lists(st.integers(1, 50), min_size=1, max_size=9), epsilons)
def test_is_the_largest_over_the_classes(sizes: list[int], epsilon: Fraction) -> None:
    of_classes = [stochastic_closeness(epsilon, sum(sizes), size).t for size in sizes]
    assert stochastic_closeness(epsilon, sum(sizes), min(sizes)).t == max(of_classes)


def test_one_class_is_at_no_distance() -> None:
    assert stochastic_closeness(Fraction(5), 7, 7).t == 1


@repeatable
@given(st.fractions(Fraction(101, 100), 20, max_denominator=100), st.integers(2, 10**6), st.data())
def test_epsilon_for_t_gives_that_t(t: Fraction, n_records: int, data) -> None:
    smallest = data.draw(st.integers(1, n_records - 1))
    epsilon = epsilon_for(t, n_records, smallest)
    assert stochastic_closeness(epsilon * (1 - Fraction(1, 10**20)), n_records, smallest).t <= t
    assert stochastic_closeness(epsilon * (1 + Fraction(1, 10**20)), n_records, smallest).t > t
    share = smallest / n_records
    assert float(epsilon) == pytest.approx(log((float(t) - share) / (1 - share)), rel=1e-9)


@pytest.mark.parametrize("odds", [2, 3, 7, 19, 100])
def test_epsilon_is_rounded_downward_and_by_no_more_than_a_place(odds: int) -> None:
    """The logarithm to 60 places; w = 1/4."""
    exact = Fraction(Context(prec=60).ln(Decimal(odds)))
    epsilon = epsilon_for(Fraction(1, 4) + Fraction(3, 4) * odds, 40, 10)
    assert 0 < exact - epsilon < Fraction(1, 10**27)


def test_what_has_no_meaning_is_refused() -> None:
    with pytest.raises(PolicyError, match="0 or more"):
        stochastic_closeness(Fraction(-1, 10), 10, 2)
    with pytest.raises(PolicyError, match="smallest class"):
        stochastic_closeness(Fraction(1), 10, 0)
    with pytest.raises(PolicyError, match="smallest class"):
        stochastic_closeness(Fraction(1), 10, 11)
    with pytest.raises(PolicyError, match="above 1 only"):
        epsilon_for(Fraction(1), 10, 2)
    with pytest.raises(InfeasibleError, match="one class"):
        epsilon_for(Fraction(2), 10, 10)
