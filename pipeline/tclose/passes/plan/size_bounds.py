"""Lower bounds of class sizes and distances, by the equal distance alone.

By the equal distance a class of s records is at 1 - sum over values of min(share in the class,
share in the table) from the table (Li et al. 2007, section 5.2). It has s different values at most,
so the sum is at most what the s commonest values have of the table: no class of s records is nearer
than the share of the records that have other values. Where most values are rare, as combinations
are, that is a size which classes cannot be below, however they are made.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from tclose.errors import InfeasibleError
from tclose.model.array_types import Int64
from tclose.model.attributes import Column
from tclose.model.distribution import Distribution


@dataclass(frozen=True)
class SizeBound:
    """The records that a class needs at least to be within t of an attribute by equal distance.

    ``nearest``: the smallest distance that a class of k records can have; ``nearest_of_two``: that
    one of two classes has at least, however the release partition is cut in two.
    """

    name: str
    n_values: int
    max_emd: Fraction
    n_records: int
    size: int
    nearest: Fraction
    nearest_of_two: Fraction

    is_joint: bool

    @property
    def leaves_one_class(self) -> bool:
        """True if the release partition's records are one class, as two would need more records."""
        return 2 * self.size > self.n_records

    def explain(self, k: int) -> str:
        """One line for a report."""
        return (
            f"{self.size:,} or more: fewer are farther than t = {float(self.max_emd):g} from the "
            f"{self.n_values:,} {self._values} of {self.name!r}, whichever they are; k = {k} "
            f"could meet t = {_round_up(self.nearest)} at best"
        )

    @property
    def _values(self) -> str:
        return "combinations" if self.is_joint else "values"


def bound_size(
    column: Column, table: Distribution, release_partition: Distribution, max_emd: Fraction, k: int
) -> SizeBound:
    """Return the bound of an attribute with the equal distance in a release partition."""
    counts = np.sort(table.counts[release_partition.counts > 0])[::-1]
    most = np.cumsum(counts)
    n_needed = ceil((1 - max_emd) * table.n_records)
    # None that is large enough: the release partition is farther than t as a whole, which is
    # refused as that.
    size = int(np.searchsorted(most, n_needed)) + 1 if n_needed > 0 else 1
    return SizeBound(
        column.name,
        int(table.values.size),
        max_emd,
        release_partition.n_records,
        size,
        _smallest_emd(most, table.n_records, k),
        _smallest_emd(most, table.n_records, release_partition.n_records // 2),
        column.is_joint,
    )


def check_two_classes(bounds: Sequence[SizeBound | None], k: int) -> None:
    """Refuse a joint t by which each release partition is one class, where k alone would allow two.

    Raises
    ------
    InfeasibleError
        With the proof, and the smallest t that could work.
    """
    parted = [b for b in bounds if b is None or b.n_records >= 2 * k]
    proofs = [b for b in parted if b is not None and b.is_joint and b.leaves_one_class]
    if not proofs or len(proofs) < len(parted):
        return
    nearest = min(proofs, key=lambda bound: bound.nearest_of_two)
    raise InfeasibleError(
        f"privacy.joint: no class of fewer than {nearest.size:,} records is within t = "
        f"{float(nearest.max_emd):g} of {nearest.name!r}, which has {nearest.n_values:,} "
        f"combinations; so all of {nearest.n_records:,} records would be one class. The smallest t "
        f"that could work is {_round_up(nearest.nearest_of_two)}, for classes of k = {k} it is "
        f"{_round_up(nearest.nearest)}; or round the values, or combine fewer attributes"
    )


def _round_up(value: Fraction) -> str:
    return f"{ceil(value * 10**6) / 10**6:.6f}"


def _smallest_emd(most: Int64, n_records: int, size: int) -> Fraction:
    """Share of the records whose values are not among the ``size`` commonest."""
    if size < 1:
        return Fraction(1)
    return 1 - Fraction(int(most[min(size, most.size) - 1]), n_records)
