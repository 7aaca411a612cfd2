"""Differentially private confidential attributes, released with k-anonymous quasi-identifiers.

Domingo-Ferrer and Soria-Comas 2015, Proposition 1: if every confidential value c is released as
Z(c), Z epsilon-differentially private, classes are stochastically t-close (Definition 3, ratio
distance). See `tclose.privacy.models.stochastic_closeness` for t. What has to hold, beyond the
noise that is drawn here:

- Z sees one record's value and nothing else. So the bounds, the step and the categories come from
  the policy and never from the data: values outside are moved to the nearest bound first.
- Each value is drawn **once**, for good. Two draws of one value cost 2 epsilon. So a task
  persists what it drew before anything is made of it, and a retry reads it: the same bytes again.
- Classes are formed by quasi-identifiers alone. Classes that were chosen by confidential values, as
  t-closeness-first does, tell about them outside of Z.
- Several attributes of a record add up: the sum of their epsilons holds for them together.

Noise is OpenDP's: integers from an exact sampler, by the operating system's randomness, which no
seed reaches. That is meant: noise from a seed that is written down, or that can be guessed, can be
taken off again. A release is therefore not repeatable from its policy and seed, only from the
persisted draws, which are as confidential as the microdata while they are kept.
"""

from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from math import exp, inf, nextafter
from types import ModuleType
from typing import TYPE_CHECKING, cast

import numpy as np

from tclose.errors import DataError, PolicyError, UsageError
from tclose.model.array_types import Float64, Int64

if TYPE_CHECKING:
    from opendp.mod import Measurement

# Steps fit in 32 bits, so that noise never meets the ends of 64 bits at any sensible epsilon.
MAX_STEPS = 2**31
MAX_BOUND = 2**62
MIN_EPSILON, MAX_EPSILON = Fraction(1, 10**6), Fraction(30)


@dataclass(frozen=True)
class NoiseGrid:
    """The values that a numeric attribute can be released as: low, low + step, .. high."""

    low: Fraction
    high: Fraction
    step: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        """Refuse bounds that hold no grid."""
        if self.step <= 0 or self.high <= self.low:
            raise PolicyError("bounds: high must be above low, and the step above 0")
        if max(abs(self.low), abs(self.high)) > MAX_BOUND:
            raise PolicyError("bounds: nothing beyond 2^62; give them in a larger unit")
        if (self.high - self.low) % self.step:
            raise PolicyError("bounds: high - low must be a whole number of steps")
        if self.n_steps > MAX_STEPS:
            raise PolicyError(f"bounds: {self.n_steps:,} steps are too many; give a larger step")

    @property
    def n_steps(self) -> int:
        """Steps from low to high: the most that one record's value can change (sensitivity)."""
        return int((self.high - self.low) / self.step)

    @property
    def is_whole(self) -> bool:
        """True if all its values are integers."""
        return self.low.denominator == 1 and self.step.denominator == 1

    def to_steps(self, values: Int64 | Float64) -> Int64:
        """Step nearest to each value after clamping to the bounds, int64 (n,), halves upward.

        Raises
        ------
        DataError
            A value is missing (NaN): what is released would tell which records lack one.
        """
        if np.any(np.isnan(values)):
            raise DataError("a confidential value is missing; noise needs one for every record")
        if values.dtype.kind == "i" and self.is_whole:
            low, step = int(self.low), int(self.step)
            # Unsigned, since the span of the bounds may be beyond signed 64 bits.
            above = np.clip(values, low, int(self.high)).astype(np.uint64) - np.uint64(low % 2**64)
            return ((above + np.uint64(step // 2)) // np.uint64(step)).astype(np.int64)
        place = (np.clip(values, float(self.low), float(self.high)) - float(self.low)) / float(
            self.step
        )
        return cast(Int64, np.clip(np.floor(place + 0.5), 0, self.n_steps).astype(np.int64))

    def to_values(self, steps: Int64) -> Int64 | Float64:
        """Values at steps 0 .. n_steps: int64 (n,) on a whole grid, else float64 (n,)."""
        if self.is_whole:
            return int(self.low) + steps * int(self.step)
        # One division of whole numbers each, so that 0.1 is 0.1.
        scale = self.low.denominator * self.step.denominator
        low, step = int(self.low * scale), int(self.step * scale)
        if max(abs(low), abs(low + self.n_steps * step), step, scale) < 2**63:
            return (low + steps * step) / scale
        # Beyond 64 bits numpy would refuse, or wrap around without a word.
        distinct, places = np.unique(steps, return_inverse=True)
        values = [float(self.low + step * self.step) for step in distinct.tolist()]
        return np.array(values, dtype=np.float64)[places]


def draw_steps(steps: Int64, n_steps: int, epsilon: Fraction) -> Int64:
    """Released step of each record: discrete Laplace noise of scale n_steps / epsilon, clamped.

    Pr(noise = z) is proportional to exp(-epsilon |z| / n_steps), so any two values of a record give
    any outcome at odds of at most exp(epsilon); clamping what comes out adds nothing.

    Parameters
    ----------
    steps : int64 (n,), 0 .. n_steps; of an ordinal attribute the positions in the policy's order

    Raises
    ------
    DataError
        A step is outside the grid: such a value would leak by more than epsilon.
    """
    _check_codes(steps, n_steps + 1)
    if not steps.size:
        return steps.copy()
    noise = laplace(n_steps, epsilon)
    return np.clip(np.array(noise(steps.tolist()), dtype=np.int64), 0, n_steps)


def draw_codes(codes: Int64, n_categories: int, epsilon: Fraction) -> Int64:
    """Released category of each record: randomised response.

    The true one at odds exp(epsilon) to 1 for each other; the exponential mechanism with
    utility 1 for the true category and 0 for all others, less the factor 2 that it would lose. The
    categories are the policy's; one that no record has can be released.

    Parameters
    ----------
    codes : int64 (n,), 0 .. n_categories - 1
    """
    if n_categories < 2:
        raise PolicyError("randomised response needs two categories or more")
    _check_codes(codes, n_categories)
    draw = response(n_categories, epsilon)
    return np.array([draw(code) for code in codes.tolist()], dtype=np.int64)


def laplace(n_steps: int, epsilon: Fraction) -> "Measurement":
    """OpenDP's measurement on lists of steps; its own account of epsilon is at most ``epsilon``."""
    _check_epsilon(epsilon)
    library = load_library()
    scale = n_steps / float(epsilon)
    domain = library.vector_domain(library.atom_domain(T="i64"))
    while True:
        noise = library.m.make_laplace(domain, library.l1_distance(T="i64"), scale)
        if Fraction(noise.map(n_steps)) <= epsilon:
            return cast("Measurement", noise)
        scale = nextafter(scale, inf)


def response(n_categories: int, epsilon: Fraction) -> "Measurement":
    """OpenDP's measurement on one code; its own account of epsilon is at most ``epsilon``."""
    _check_epsilon(epsilon)
    library = load_library()
    probability = 1.0 / (1.0 + (n_categories - 1) * exp(-float(epsilon)))
    while True:
        draw = library.m.make_randomized_response(list(range(n_categories)), probability)
        if Fraction(draw.map(1)) <= epsilon:
            return cast("Measurement", draw)
        probability = nextafter(probability, 0.0)


def _check_codes(codes: Int64, n_codes: int) -> None:
    if codes.size and not 0 <= codes.min() <= codes.max() < n_codes:
        raise DataError("a confidential value is outside the policy's bounds or categories")


def _check_epsilon(epsilon: Fraction) -> None:
    if not MIN_EPSILON <= epsilon <= MAX_EPSILON:
        raise PolicyError(f"epsilon is {epsilon}: give one from 0.000001 to 30")


def load_library() -> ModuleType:
    """OpenDP, imported where noise is drawn: it is large, and optional.

    Raises
    ------
    UsageError
        It is not installed.
    """
    try:
        library = import_module("opendp.prelude")
    except ImportError as error:
        raise UsageError("noise needs OpenDP: install tclose with its extra 'dp'") from error
    library.enable_features("contrib")
    return library
