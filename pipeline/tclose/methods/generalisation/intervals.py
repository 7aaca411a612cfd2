"""Interval hierarchies: a number becomes ever wider intervals [a, b), in the end everything.

The counterpart of a taxonomy for numeric attributes, with levels that are nested exactly, however
the widths round: full-domain generalisation relies on it (Li et al. 2007, section 4).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm

import numpy as np

from tclose.data.keys import Keys
from tclose.errors import DataError, PolicyError
from tclose.model.array_types import Float64, Int64

EVERYTHING = "*"
# Numbers in parts of a unit: up to here bounds are exact and a float quotient errs by one at most.
_MAX_PARTS = 2**49


@dataclass(frozen=True)
class IntervalTaxonomy:
    """Levels of a numeric attribute: 0 the number, 1 .. w the widths, H = w + 1 everything.

    ``widths``: each a multiple of the one before. ``origin``: where an interval of every level
    begins. Both in units of the keys, as exact as they were written.
    """

    widths: tuple[Fraction, ...]
    origin: Fraction

    @property
    def height(self) -> int:
        """H, the level at which all numbers are one."""
        return len(self.widths) + 1

    def generalise(self, keys: Keys, level: int) -> Keys:
        """Generalise numbers: level 0 the keys, then int64 numbers of intervals, at the top 0.

        Interval i of width w is [origin + i w, origin + (i + 1) w), its bounds rounded to the
        keys' precision: 0.3 is in [0.3, 0.6).

        Raises
        ------
        DataError
            Keys that are not finite, or too far from the origin to be counted exactly.
        """
        if not 0 <= level <= self.height:
            raise PolicyError(
                f"level {level} is not one of the intervals' 0 to {self.height}; choose those"
            )
        if level == 0:
            return keys
        if level == self.height:
            return np.zeros(keys.size, dtype=np.int64)
        return self._find_intervals(keys) // int(self.widths[level - 1] / self.widths[0])

    def tabulate(self, keys: Keys) -> Int64:
        """Codes of distinct keys at every level: int64 (H + 1, keys), level 0 their positions."""
        above = [self.generalise(keys, level) for level in range(1, self.height + 1)]
        return np.array([np.arange(keys.size), *above], dtype=np.int64)

    def name(self, code: float, level: int) -> str:
        """The text of a number (level 0) or of an interval, by its number."""
        if level == 0:
            return _to_text(Fraction(code))
        if level == self.height:
            return EVERYTHING
        width = self.widths[level - 1]
        low = self.origin + int(code) * width
        return f"[{_to_text(low)}, {_to_text(low + width)})"

    def check_exact(self, largest: float) -> None:
        """Refuse numbers, of which this is the largest magnitude, that cannot be counted exactly.

        Raises
        ------
        DataError
            They are not finite, or too far from the origin.
        """
        parts, width, origin = self._in_parts()
        is_exact = max(parts, width, abs(origin)) < _MAX_PARTS
        if not is_exact or not largest * parts < _MAX_PARTS:
            raise DataError(
                "intervals: the numbers are not finite, or too far from the origin to be counted "
                "exactly; correct them, or use a larger unit"
            )

    def _in_parts(self) -> tuple[int, int, int]:
        """Parts of a unit in which width and origin are whole, and both in these."""
        parts = lcm(self.widths[0].denominator, self.origin.denominator)
        return parts, int(self.widths[0] * parts), int(self.origin * parts)

    def _find_intervals(self, keys: Keys) -> Int64:
        """Numbers of the narrowest intervals; the wider ones follow from these."""
        parts, width, origin = self._in_parts()
        self.check_exact(float(np.abs(keys.astype(np.float64)).max(initial=0.0)))
        if keys.dtype.kind != "f":
            return (keys.astype(np.int64) * parts - origin) // width
        return _find_float_intervals(keys.astype(np.float64), parts, width, origin)


def _find_float_intervals(keys: Float64, parts: int, width: int, origin: int) -> Int64:
    """The interval between whose bounds, as floats, each key is; the quotient is off by one."""
    numbers = np.floor((keys * parts - origin) / width).astype(np.int64)
    numbers -= keys < (origin + numbers * width) / parts
    numbers += keys >= (origin + (numbers + 1) * width) / parts
    return numbers


def _to_text(number: Fraction) -> str:
    """Decimals, as short as they identify the number."""
    return str(number.numerator) if number.denominator == 1 else repr(float(number))


def build_intervals(
    widths: Sequence[int | float | str], origin: int | float | str = 0
) -> IntervalTaxonomy:
    """The hierarchy of these widths; numbers are taken as they are written, 0.1 as a tenth.

    Raises
    ------
    PolicyError
        No widths, one that is no number above 0, or no multiple of the one before.
    """
    exact = tuple(_to_fraction(width, "width") for width in widths)
    if not exact or min(exact) <= 0:
        raise PolicyError("intervals: widths have to be numbers above 0; give one or more")
    for narrow, wide in pairwise(exact):
        if wide <= narrow or (wide / narrow).denominator != 1:
            nearest = narrow * max(2, int(wide / narrow + Fraction(1, 2)))
            raise PolicyError(
                f"intervals: width {_to_text(wide)} does not consist of whole intervals of "
                f"{_to_text(narrow)}; make every width a multiple of the one before, as "
                f"{_to_text(nearest)} is"
            )
    return IntervalTaxonomy(exact, _to_fraction(origin, "origin"))


def _to_fraction(number: int | float | str, what: str) -> Fraction:
    try:
        if not isinstance(number, bool):
            return Fraction(str(number))
    except (ValueError, ZeroDivisionError):
        pass
    raise PolicyError(f"intervals: the {what} has to be a finite number; write it as such")
