"""Noise: the distributions that are promised, from OpenDP, on bounds that the policy gives.

OpenDP cannot be seeded, so what is drawn is held to its exact odds by a chi-squared test that a
right sampler fails once in a thousand million runs; twice or half the epsilon fails it for sure.
"""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from support.naive import naive_ratio
from support.tables.random_tables import repeatable
from tclose.errors import DataError, PolicyError, UsageError
from tclose.methods.dp import dp_confidential
from tclose.methods.dp.dp_confidential import (
    NoiseGrid,
    draw_codes,
    draw_steps,
    laplace,
    response,
)

N_DRAWS = 6000
ONCE_IN = 1e-9


def grid(low, high, step=1) -> NoiseGrid:
    return NoiseGrid(Fraction(low), Fraction(high), Fraction(step))


def p_value(drawn: np.ndarray, odds: list[float]) -> float:
    expected = np.array(odds) / sum(odds) * drawn.size
    return float(chisquare(np.bincount(drawn, minlength=len(odds)), expected).pvalue)


class TestGrid:
    @repeatable
    @given(
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20),
        st.integers(-(2**62), 2**62),
        st.integers(1, 2**20),
        st.integers(1, 2**31),
    )
    def test_clamps_integers_and_takes_the_nearest_step(self, values, low, step, n_steps) -> None:
        n_steps = min(n_steps, (2**62 - low) // step)
        if n_steps < 1:
            return
        high = low + n_steps * step
        steps = grid(low, high, step).to_steps(np.array(values))
        expected = [(2 * (min(max(v, low), high) - low) + step) // (2 * step) for v in values]
        assert steps.tolist() == expected
        values = grid(low, high, step).to_values(steps)
        assert values.dtype == np.int64
        assert values.tolist() == [low + step * s for s in expected]

    def test_clamps_fractions_too(self) -> None:
        tenths = grid("-0.5", "0.5", "0.1")
        steps = tenths.to_steps(np.array([-np.inf, -9.0, -0.5, 0.04, 0.06, 0.5, 7.0, np.inf]))
        assert steps.tolist() == [0, 0, 0, 5, 6, 10, 10, 10]
        assert tenths.to_values(np.arange(11)).tolist() == [i / 10 for i in range(-5, 6)]

    def test_a_missing_value_is_refused(self) -> None:
        with pytest.raises(DataError, match="missing"):
            grid(0, 1).to_steps(np.array([0.0, np.nan]))

    @pytest.mark.parametrize(
        ("low", "high", "step", "what"),
        [
            (3, 3, 1, "above low"),
            (0, 3, 0, "step above 0"),
            (0, 3, 2, "whole number"),
            (0, 2**33, 1, "too many"),
            (0, 2**63, 2**40, "beyond"),
        ],
    )
    def test_refuses_bounds_without_a_grid(self, low, high, step, what) -> None:
        with pytest.raises(PolicyError, match=what):
            grid(low, high, step)


class TestRefusals:
    """Before anything is drawn, with or without the library."""

    def test_values_outside_the_bounds(self) -> None:
        for steps in ([-1], [4]):
            with pytest.raises(DataError, match="outside"):
                draw_steps(np.array(steps), 3, Fraction(1))
        for codes in ([-1], [3]):
            with pytest.raises(DataError, match="outside"):
                draw_codes(np.array(codes), 3, Fraction(1))

    @pytest.mark.parametrize("epsilon", [0, -1, 31, Fraction(1, 10**7)])
    def test_epsilon_without_meaning(self, epsilon) -> None:
        with pytest.raises(PolicyError, match="epsilon is"):
            draw_steps(np.array([0]), 3, Fraction(epsilon))
        with pytest.raises(PolicyError, match="epsilon is"):
            draw_codes(np.array([0]), 3, Fraction(epsilon))

    def test_a_single_category(self) -> None:
        with pytest.raises(PolicyError, match="two categories"):
            draw_codes(np.array([0]), 1, Fraction(1))

    def test_names_the_extra_that_is_not_installed(self, monkeypatch) -> None:
        def missing(name: str) -> None:
            raise ModuleNotFoundError(name)

        monkeypatch.setattr(dp_confidential, "import_module", missing)
        with pytest.raises(UsageError, match="extra 'dp'"):
            draw_steps(np.array([0]), 3, Fraction(1))


class TestOdds:
    """The twins' odds are epsilon-private to begin with: each pair of values, each outcome."""

    @pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0])
    @pytest.mark.parametrize("n", [2, 5])
    def test_are_within_epsilon_and_add_up(self, n: int, epsilon: float) -> None:
        for odds in (
            [naive_ratio.laplace_odds(v, n - 1, epsilon) for v in range(n)],
            [naive_ratio.response_odds(v, n, epsilon) for v in range(n)],
        ):
            table = np.array(odds)
            assert table.sum(axis=1) == pytest.approx(1)
            assert (table[:, None] / table[None]).max() == pytest.approx(exp(epsilon))


class TestNoise:
    @pytest.fixture(autouse=True)
    def library(self) -> None:
        pytest.importorskip("opendp")

    @pytest.mark.parametrize(("step", "n_steps", "epsilon"), [(0, 4, 1), (3, 10, 2), (10, 10, 6)])
    def test_has_its_exact_odds(self, step: int, n_steps: int, epsilon: int) -> None:
        drawn = draw_steps(np.full(N_DRAWS, step), n_steps, Fraction(epsilon))
        assert drawn.dtype == np.int64
        assert p_value(drawn, naive_ratio.laplace_odds(step, n_steps, epsilon)) > ONCE_IN
        for wrong in (epsilon / 2, epsilon * 2):
            assert p_value(drawn, naive_ratio.laplace_odds(step, n_steps, wrong)) < ONCE_IN

    @pytest.mark.parametrize(("code", "n_categories", "epsilon"), [(0, 2, 1), (2, 5, 2)])
    def test_response_has_its_exact_odds(self, code: int, n_categories: int, epsilon: int) -> None:
        drawn = draw_codes(np.full(N_DRAWS, code), n_categories, Fraction(epsilon))
        assert p_value(drawn, naive_ratio.response_odds(code, n_categories, epsilon)) > ONCE_IN
        for wrong in (epsilon / 2, epsilon * 2):
            odds = naive_ratio.response_odds(code, n_categories, wrong)
            assert p_value(drawn, odds) < ONCE_IN

    @pytest.mark.parametrize("n", [2, 7, 1000, 2**31])
    @pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1, 3), Fraction(30)])
    def test_spends_no_more_than_epsilon(self, n: int, epsilon: Fraction) -> None:
        spent = Fraction(laplace(n, epsilon).map(n))
        assert spent <= epsilon
        assert float(spent) == pytest.approx(float(epsilon), rel=1e-9)
        if n < 10**6:
            spent = Fraction(response(n, epsilon).map(1))
            assert spent <= epsilon
            assert float(spent) == pytest.approx(float(epsilon), rel=1e-2)

    def test_each_record_is_drawn_by_itself(self) -> None:
        """Two records of one value agree as often as two independent draws do."""
        drawn = draw_steps(np.full(2 * N_DRAWS, 2), 4, Fraction(1)).reshape(2, -1)
        agree = float(np.mean(drawn[0] == drawn[1]))
        odds = naive_ratio.laplace_odds(2, 4, 1.0)
        expected = sum(p * p for p in odds)
        assert abs(agree - expected) < 6.5 * (expected * (1 - expected) / N_DRAWS) ** 0.5

    def test_of_nothing_is_nothing(self) -> None:
        none = np.empty(0, np.int64)
        assert draw_steps(none, 3, Fraction(1)).size == 0
        assert draw_codes(none, 3, Fraction(1)).size == 0

    def test_odds_of_two_values_differ_by_epsilon_at_most(self) -> None:
        """From the draws alone: the ends of the grid, the outcome that tells them apart best."""
        epsilon = Fraction(2)
        low = draw_steps(np.zeros(N_DRAWS, np.int64), 6, epsilon)
        high = draw_steps(np.full(N_DRAWS, 6), 6, epsilon)
        found = log(np.mean(low == 0) / np.mean(high == 0))
        assert found == pytest.approx(2, abs=0.35)
