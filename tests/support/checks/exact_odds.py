"""Draws held to exact odds: binomial bounds, without an approximation, and the odds themselves.

Under the right odds the number of draws in any set of outcomes is binomial. So each outcome, and
each lower end of the outcomes, is held to bounds that a right sampler leaves with a probability
that is computed, not approximated; all of them together share what one call may spend.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import exp
from typing import cast

import numpy as np
from scipy.stats import beta, binom

FALSE_ALARM = 1e-9  # of all calls of a run of the tests together
MAX_CALLS = 200
Odds = Sequence[float] | np.ndarray


def find_deviations(drawn: np.ndarray, odds: Odds) -> list[str]:
    """Sets of outcomes that were drawn too often or too seldom; none but once in 2e11 right calls.

    Parameters
    ----------
    drawn : int (n,): independent draws, outcomes from 0
    odds : probability of each outcome
    """
    shares = np.asarray(odds, dtype=np.float64)
    assert abs(shares.sum() - 1) < 1e-12
    if drawn.min() < 0 or drawn.max() >= shares.size:
        return ["an outcome that there is none of"]
    counts = np.bincount(drawn, minlength=shares.size)
    events = {f"outcome {i}": (counts[i], shares[i]) for i in range(shares.size)}
    below = zip(np.cumsum(counts)[:-1], np.cumsum(shares)[:-1], strict=True)
    events |= {f"up to {i}": event for i, event in enumerate(below)}
    spent = FALSE_ALARM / MAX_CALLS / len(events) / 2
    return [
        what
        for what, (count, share) in events.items()
        if binom.cdf(count, drawn.size, min(share, 1.0)) < spent
        or binom.sf(count - 1, drawn.size, min(share, 1.0)) < spent
    ]


def find_dependence(first: np.ndarray, second: np.ndarray, odds: tuple[Odds, Odds]) -> list[str]:
    """The same for pairs, against the product of their odds; pairs must not share a draw."""
    left, right = np.asarray(odds[0]), np.asarray(odds[1])
    joint = np.outer(left, right).ravel()
    return find_deviations(first * right.size + second, joint / joint.sum())


def refutes_ratio(first: np.ndarray, second: np.ndarray, epsilon: float, n_outcomes: int) -> bool:
    """Return whether draws of two values contradict epsilon, by exact bounds of each frequency.

    Clopper and Pearson's interval of each; some outcome is more likely, by more than e^epsilon,
    even at the near ends of both.
    """
    spent = FALSE_ALARM / MAX_CALLS / n_outcomes / 4
    for one, other in ((first, second), (second, first)):
        ups = np.bincount(one, minlength=n_outcomes)
        downs = np.bincount(other, minlength=n_outcomes)
        least = np.where(ups, beta.ppf(spent, ups, one.size - ups + 1), 0.0)
        most = np.where(downs < other.size, beta.ppf(1 - spent, downs + 1, other.size - downs), 1.0)
        if np.any(least > exp(epsilon) * most):
            return True
    return False


def clamped_odds(step: int, n_steps: int, epsilon: float) -> np.ndarray:
    """Odds of each released step: every integer's noise moved into the bounds, one by one."""
    reach = int(50 * n_steps / epsilon) + 1  # e^-50 is left out
    noise = np.arange(-reach, reach + 1)
    weights = np.exp(-epsilon * np.abs(noise) / n_steps)
    places = np.clip(step + noise, 0, n_steps)
    found = np.bincount(places, weights=weights, minlength=n_steps + 1)
    return cast(np.ndarray, found / weights.sum())


def response_odds(code: int, n_categories: int, epsilon: float) -> np.ndarray:
    """Odds of each released category."""
    weights = np.ones(n_categories)
    weights[code] = exp(epsilon)
    return cast(np.ndarray, weights / weights.sum())


def exact_clamped(step: int, n_steps: int, a: Fraction) -> list[Fraction]:
    """The clamped odds as fractions, noise z at odds a^|z|: tails by the geometric series."""
    inside = [(1 - a) / (1 + a) * a ** abs(z - step) for z in range(n_steps + 1)]
    inside[0], inside[-1] = a**step / (1 + a), a ** (n_steps - step) / (1 + a)
    return inside


def exp_bounds(x: Fraction, n_terms: int = 160) -> tuple[Fraction, Fraction]:
    """Fractions below and above e^x, for x from 0 to 30: the series, with and without its rest."""
    term, total = Fraction(1), Fraction(1)
    for i in range(1, n_terms + 1):
        term = term * x / i
        total += term
    return total, total + term * x / (n_terms + 1) / (1 - x / (n_terms + 2))
