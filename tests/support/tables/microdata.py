"""Random microdata with limits, as the algorithms of Soria-Comas et al. 2015 take them."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from support.naive.naive_microaggregation import Excess
from support.tables.random_tables import (
    confidential_values,
    distribution_of,
    quasi_identifiers,
    seeds,
)

BETWEEN = Fraction(1, 999_983)  # a prime beyond all counts of records


@dataclass(frozen=True, eq=False)
class Microdata:
    """Quasi-identifiers (d, n) and (q, n), values of confidential attributes, a limit for each."""

    numeric: np.ndarray
    nominal: np.ndarray
    values: list[list[int]]
    limits: tuple[Fraction, ...]

    @property
    def n_records(self) -> int:
        return int(self.numeric.shape[1])

    @property
    def excess(self) -> Excess:
        return Excess(self.values, self.limits)

    def with_limits(self, *limits: Fraction) -> "Microdata":
        return replace(self, limits=limits)

    def targets(self) -> tuple[Any, ...]:
        """Return the kernels' targets: codes, cumulative and prefix of each attribute, limits."""
        pairs = [distribution_of(values) for values in self.values]
        return (
            np.array([codes for _, codes in pairs]),
            tuple(table.cumulative for table, _ in pairs),
            tuple(table.prefix for table, _ in pairs),
            np.array([float(limit) for limit in self.limits]),
        )


@st.composite
def microdata(draw: st.DrawFn, max_attributes: int = 3) -> Microdata:
    """One to three confidential attributes; limits that no distance equals, some within reach.

    Kernels decide with a margin for rounding, so that they take what is just at a limit for above.
    """
    values = [draw(confidential_values)]
    n_records = len(values[0])
    rng = np.random.default_rng(draw(seeds))
    n_distinct = draw(st.lists(st.integers(1, 60), max_size=max_attributes - 1))
    values += [rng.integers(0, most, n_records).tolist() for most in n_distinct]
    numeric, nominal, _ = draw(quasi_identifiers(n_records))
    limits = tuple(Fraction(draw(st.integers(0, 40)), 100) + BETWEEN for _ in values)
    return Microdata(numeric, nominal, values, limits)
