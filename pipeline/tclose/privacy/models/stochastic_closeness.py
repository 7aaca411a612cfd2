"""Stochastic t-closeness from epsilon-differential privacy.

Domingo-Ferrer and Soria-Comas 2015, Proposition 1.

N records, classes E, each record's confidential values released by an epsilon-differentially
private Z. By inequality (3), Pr(B) <= t Pr_E(B) for every set B of outcomes with

    t = max over E of |E|/N (1 + (N - |E|)/|E| exp(epsilon)) = w + (1 - w) exp(epsilon), w = |E|/N,

and the other direction, Pr_E(B) <= t Pr(B), needs no more. The proposition as published has
N - |E| - 1 for N - |E|; its own proof derives the latter, and the former does not hold: two records
in two classes would get t = 1/2, while no ratio is below 1. What is proved is used.

t is largest for the smallest class, below exp(epsilon) always, and is 1 for a single class. It
bounds the distributions that outcomes are drawn from, not the shares in the rows that are released
(Definition 3): those vary, and a released class may well look farther off.

All results are rounded to the safe side in Fractions.
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from tclose.errors import InfeasibleError, PolicyError

DIGITS = 30


@dataclass(frozen=True)
class StochasticCloseness:
    """The closeness of a release by Proposition 1; ``t`` is rounded up from the irrational value.

    ``epsilon``: of all confidential attributes of a record together, or of one of them, then ``t``
    is for that one.
    """

    epsilon: Fraction
    n_records: int
    smallest_class: int
    t: Fraction


def stochastic_closeness(
    epsilon: Fraction, n_records: int, smallest_class: int
) -> StochasticCloseness:
    """Return the t that epsilon gives.

    Domingo-Ferrer and Soria-Comas 2015, Proposition 1, as in its proof.

    Parameters
    ----------
    smallest_class : records of the smallest class of equal *released* quasi-identifiers
    """
    if epsilon < 0:
        raise PolicyError(f"epsilon is {epsilon}: give one of 0 or more")
    share = _share(n_records, smallest_class)
    return StochasticCloseness(
        epsilon, n_records, smallest_class, share + (1 - share) * _exp_above(epsilon)
    )


def epsilon_for(t: Fraction, n_records: int, smallest_class: int) -> Fraction:
    """The largest epsilon, but for the last place, that gives t: ln((t - w) / (1 - w)).

    Raises
    ------
    InfeasibleError
        All records are one class, which is 1-close at any epsilon: t then asks for none.
    """
    if t <= 1:
        raise PolicyError(f"t is {t}, and noise gives one above 1 only: raise t")
    share = _share(n_records, smallest_class)
    if share == 1:
        raise InfeasibleError("all records are one class, so t says nothing of epsilon: give that")
    return _log_below((t - share) / (1 - share))


def _share(n_records: int, smallest_class: int) -> Fraction:
    if not 0 < smallest_class <= n_records:
        raise PolicyError("the smallest class has at least one record and at most all of them")
    return Fraction(smallest_class, n_records)


def _exp_above(exponent: Fraction) -> Fraction:
    """Not below exp(exponent); Decimal's own is right to half a place."""
    context = Context(prec=DIGITS, rounding=ROUND_CEILING)
    rounded_up = context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    return Fraction(context.next_plus(context.exp(rounded_up)))


def _log_below(value: Fraction) -> Fraction:
    """Not above ln(value)."""
    context = Context(prec=DIGITS, rounding=ROUND_FLOOR)
    rounded_down = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return Fraction(context.next_minus(context.ln(rounded_down)))
