"""Preparation of values that a policy declares: what is done to them as they are read."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

# The category of records without a value, where a policy makes one of them.
MISSING = "(missing)"
# What records without a value have where it is their class that they take one from.
OF_CLASS = "class"


@dataclass(frozen=True)
class Preparation:
    """The preparation of a column's values, before anything is counted or measured.

    ``bottom``, ``top``: smaller and larger values become these; ``step``: then values are rounded
    to its multiples, those in the middle to the even one; ``bands``: ends of the ranges that values
    are released as, ascending, each the first value of the range above it; ``fills``: records
    without a value get the category `MISSING`; ``imputes``: they get this centre of the others'
    values, median or mode; or, as `OF_CLASS`, the one of these that goes with the column's kind,
    but only to be clustered: their class releases the aggregate of the values that it has.

    ``bottom_percentile``, ``top_percentile``: in percent, where a bound is to be the least value
    that so many of the column's values do not exceed, rounded to the step; the bound is then known
    once the table was read.

    So is the rest. ``imputed``: the centre as a key or the text of a
    category, None where no record has a value; ``n_imputed``: records that got it;
    ``percent_imputed``: of those read, rounded up.
    """

    bottom: Fraction | None = None
    top: Fraction | None = None
    step: Fraction | None = None
    bands: tuple[Fraction, ...] = ()
    fills: bool = False
    imputes: str | None = None
    imputed: int | float | str | None = None
    n_imputed: int = 0
    percent_imputed: int = 0
    bottom_percentile: Fraction | None = None
    top_percentile: Fraction | None = None

    @property
    def awaits_bounds(self) -> bool:
        """True if a bound is a percentile that nobody has looked for yet."""
        return (self.bottom is None and self.bottom_percentile is not None) or (
            self.top is None and self.top_percentile is not None
        )

    @property
    def has_no_gaps(self) -> bool:
        """True if a record needs no value in the column."""
        return self.fills or self.imputes is not None

    @property
    def by_class(self) -> bool:
        """True if records without a value count in no aggregate of their class."""
        return self.imputes == OF_CLASS

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the bands, lowest first."""
        ends = [write_number(end) for end in self.bands]
        inner = [f"{a} to below {b}" for a, b in pairwise(ends)]
        return (f"below {ends[0]}", *inner, f"{ends[-1]} or more") if ends else ()

    def describe(self) -> str:
        """Say what was done; what is filled by class follows on what the class releases."""
        clauses = []
        if self.bottom is not None:
            end = _describe_bound(self.bottom, self.bottom_percentile)
            clauses.append(f"values below {end} set to it")
        if self.top is not None:
            end = _describe_bound(self.top, self.top_percentile)
            clauses.append(f"values above {end} set to it")
        if self.step is not None:
            clauses.append(f"rounded to multiples of {write_number(self.step)}")
        if self.bands:
            clauses.append(f"in {len(self.labels)} bands")
        if self.fills:
            clauses.append(f"records without a value have the category {MISSING}")
        if self.imputes is not None:
            share = f", at most {self.percent_imputed} % of all," if self.percent_imputed else ""
            treatment = (
                "are not counted in it" if self.by_class else f"have {self.describe_source()}"
            )
            clauses.append(f"records without a value{share} {treatment}")
        return ", ".join(clauses)

    def describe_source(self) -> str:
        """Say what records without a value have."""
        if self.by_class:
            return "the aggregate of the others of their class"
        return f"the {self.imputes} of the others"


def _describe_bound(bound: Fraction, percentile: Fraction | None) -> str:
    note = f" (percentile {write_number(percentile)})" if percentile is not None else ""
    return f"{write_number(bound)}{note}"


def exact_number(number: Fraction) -> int | float:
    """Return a number for a document: a float, or the whole number that no float is."""
    nearest = float(number)
    if number.denominator == 1 and Fraction(nearest) != number:
        return number.numerator
    return nearest


def write_number(number: Fraction) -> str:
    """A decimal fraction as a policy writes it, without an exponent where that is short."""
    if number.denominator == 1:
        return str(number.numerator)
    return f"{float(number):.15g}"
