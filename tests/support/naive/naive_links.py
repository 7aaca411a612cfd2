"""Records of whole numbers, their distances without rounding, and how kernels take them."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

Record = tuple[tuple[int, ...], tuple[int, ...]]  # numeric, divided by spans, and codes


def square(a: Record, b: Record, spans: Sequence[int], weights: Sequence[Fraction]) -> Fraction:
    """Squared distance, without rounding."""
    numbers = zip(a[0], b[0], spans, strict=True)
    codes = zip(a[1], b[1], weights, strict=True)
    differ = sum((weight for x, y, weight in codes if x != y), Fraction(0))
    return sum((Fraction(x - y, span) ** 2 for x, y, span in numbers), differ)


def scaled(
    records: Sequence[Record], spans: Sequence[int], n_nominal: int
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers divided by spans that leave remainders, float64 (d, n), and codes int32 (q, n)."""
    numeric = [[record[0][j] / span for record in records] for j, span in enumerate(spans)]
    nominal = [[record[1][j] for record in records] for j in range(n_nominal)]
    return (
        np.array(numeric, dtype=np.float64).reshape(len(spans), len(records)),
        np.array(nominal, dtype=np.int32).reshape(n_nominal, len(records)),
    )
