"""A percentile or the mode of a column's values, exactly, from what is counted in its pieces.

A piece with many distinct keys tells the ranks of some of them, evenly spread; all pieces together
bound the percentile, and are asked again within these bounds. Two rounds are enough but for odd
data.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any, cast

import numpy as np
import pyarrow as pa

from tclose.data.keys import Keys, to_keys
from tclose.model.array_types import Int64
from tclose.model.attributes import Column
from tclose.model.column_terms import Kind

MOST_KEYS = 4096  # that a piece tells the ranks of
ALL_KEYS = 2**22  # that all pieces tell the ranks of, but for the least of each
LEAST_KEYS = 8
MEDIAN = Fraction(1, 2)

Key = int | float


@dataclass(frozen=True)
class KeyRange:
    """Keys above ``above`` and up to ``up_to``; None: without a bound."""

    above: Key | None = None
    up_to: Key | None = None


@dataclass(frozen=True, eq=False)
class KeyRanks:
    """Ranks of a piece's keys within a range.

    ``n_keys``: all keys of the piece; ``n_below``: those below the range; ``keys``: some of those
    in it, ascending, the largest among them; ``up_to``: of each, how many of the piece's keys are
    it or smaller; ``alike``: how many are it. The arrays are (m,).
    """

    n_keys: int
    n_below: int
    keys: Keys
    up_to: Int64
    alike: Int64

    @property
    def most_before(self) -> Int64:
        """The most of the piece's keys that can be smaller than each, and than any larger one."""
        last = self.up_to[-1:] if self.up_to.size else [self.n_below]
        before: Int64 = np.r_[self.up_to - self.alike, last]
        return before

    def most_below(self, key: Key) -> int:
        """Return the most of the piece's keys that can be smaller than this one."""
        place = int(np.searchsorted(self.keys, key))
        if place == self.keys.size:
            return int(self.up_to[-1]) if place else self.n_below
        return int(self.up_to[place] - self.alike[place])


@dataclass(frozen=True, eq=False)
class GapCounts:
    """Counts of a piece of a column: of a number the ranks, otherwise records of each category."""

    n_missing: int
    ranks: KeyRanks | None = None
    categories: dict[str, int] = field(default_factory=dict)


def share_keys(n_pieces: int) -> int:
    """Return the most keys that each of some pieces tells the ranks of."""
    return min(MOST_KEYS, max(LEAST_KEYS, ALL_KEYS // n_pieces))


def count_gaps(
    array: pa.Array, column: Column, within: KeyRange, most_keys: int = MOST_KEYS
) -> GapCounts:
    """Count the records without a value, and the values of the others.

    Values that no release can have (NaN, infinities, those outside an order) are passed over: they
    are refused where all are summarised.
    """
    present = array.drop_null()
    if column.kind.is_categorical:
        texts = present.cast(pa.string()).value_counts()
        pairs = zip(
            texts.field("values").to_pylist(), texts.field("counts").to_pylist(), strict=True
        )
        return GapCounts(array.null_count, categories=dict(pairs))
    keys = to_keys(present, column.name)
    return GapCounts(array.null_count, rank_keys(keys[np.isfinite(keys)], within, most_keys))


def rank_keys(keys: Keys, within: KeyRange, most_keys: int) -> KeyRanks:
    """Ranks of those keys that are in a range, or of so many of them."""
    values: Any
    values, counts = np.unique(keys, return_counts=True)
    first = 0 if within.above is None else np.searchsorted(values, within.above, side="right")
    last = (
        values.size if within.up_to is None else np.searchsorted(values, within.up_to, side="right")
    )
    up_to = np.cumsum(counts)
    n_below = int(up_to[first - 1]) if first else 0
    values, up_to, counts = values[first:last], up_to[first:last], counts[first:last]
    if values.size > most_keys:
        ranks = np.linspace(n_below, up_to[-1], most_keys + 1)[1:]
        chosen = np.unique(np.searchsorted(up_to, ranks).clip(0, values.size - 1))
        values, up_to, counts = values[chosen], up_to[chosen], counts[chosen]
    return KeyRanks(keys.size, n_below, values, up_to.astype(np.int64), counts.astype(np.int64))


def find_percentile(
    pieces: Sequence[KeyRanks], within: KeyRange, share: Fraction = MEDIAN
) -> Key | KeyRange | None:
    """The least key that a share of all keys do not exceed, or a range that it is in.

    None without keys. By default it is the lower median.

    Parameters
    ----------
    pieces : of the whole column
    within : the range that they are of
    share : above 0, at most 1
    """
    n_keys = sum(piece.n_keys for piece in pieces)
    if not n_keys:
        return None
    rank = ceil(share * n_keys)
    keys, least, most = bound_ranks(pieces)
    up_to = keys[np.searchsorted(least, rank)].item()
    if sum(piece.most_below(up_to) for piece in pieces) < rank:
        return cast(Key, up_to)
    n_smaller = int(np.searchsorted(most, rank))
    above = keys[n_smaller - 1].item() if n_smaller else within.above
    return KeyRange(above, up_to)


def bound_ranks(pieces: Sequence[KeyRanks]) -> tuple[Keys, Int64, Int64]:
    """All keys that pieces tell, ascending, and of how many of all keys each is not smaller.

    At least and at most: of each piece both are steps, which are added up over all pieces at once.
    """
    keys: Any
    keys, places = np.unique(np.concatenate([piece.keys for piece in pieces]), return_inverse=True)
    places = places.reshape(-1)

    def add_up(of_pieces: list[Int64]) -> Int64:
        sums = np.zeros(keys.size, dtype=np.int64)
        np.add.at(sums, places, np.concatenate(of_pieces))
        return sums

    least = add_up([np.diff(piece.up_to, prepend=piece.n_below) for piece in pieces])
    steps = add_up([np.diff(piece.most_before) for piece in pieces])  # behind each key
    there = add_up([piece.up_to - piece.most_before[:-1] for piece in pieces])
    n_least = sum(piece.n_below for piece in pieces)
    n_most = sum(int(piece.most_before[0]) for piece in pieces)
    return keys, n_least + np.cumsum(least), n_most + np.cumsum(steps) - steps + there


def find_category(pieces: Sequence[GapCounts], column: Column) -> str | None:
    """The commonest category, or of ordinal ones the lower median; None without any.

    Of several that are equally common it is the first in the order of their texts.
    """
    counted: Counter[str] = Counter()
    for piece in pieces:
        counted.update(piece.categories)
    if column.kind is not Kind.ORDINAL:
        return min(counted, key=lambda text: (-counted[text], text), default=None)
    ordered = [text for text in column.attribute.order if counted[text]]
    if not ordered:
        return None
    up_to = np.cumsum([counted[text] for text in ordered])
    return ordered[int(np.searchsorted(up_to, (up_to[-1] + 1) // 2))]
