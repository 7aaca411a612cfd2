"""Losses of a region's classes: squared differences, and the terms of moments.

Records of class i are ``order[starts[i]:starts[i + 1]]``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.category_trees import tree_of
from tclose.data.keys import Encoding, Keys
from tclose.methods.generalisation.generalise import Generalised, measure_generalisation
from tclose.model.array_types import Float64, Int64
from tclose.model.attributes import ANCESTOR, Column
from tclose.model.column_terms import Kind
from tclose.passes.microaggregate.analyses.record_counts import RecordCounter, RecordCounts
from tclose.passes.microaggregate.analyses.spread_values import spread_groups, spread_values
from tclose.passes.microaggregate.gaps import NO_GAPS, Gaps
from tclose.passes.microaggregate.utility import ValueComparison, compare_records
from tclose.passes.plan.plan import Plan

_NUMBERS = (Kind.NUMERIC, Kind.DATE)

# Numbers of an attribute, original and released: float64 (n,) each, on one scale.
Pair = tuple[Float64, Float64]
# Of one attribute: the sum over the records, each record's own part, and what is released for it.
Lost = tuple[float, NDArray[Any], Keys]

SIZE_STEPS = 64  # powers of two that a class can be as large as
RANGE_PARTS = 10  # equal parts of a column's range, by which its values are counted


@dataclass(frozen=True, eq=False)
class Losses:
    """The losses of some records, without the values that they lack.

    ``squares`` float64 (QIs,): sums of squared normalised differences (Soria-Comas et al. 2015, eq.
    5) over ``n_values`` int64 (QIs,), the records that have a value; ``comparison``: of the columns
    that `compared_columns` names, in its order; ``shares``: of the quasi-identifiers that
    `shared_columns` names, in its order, the records that have each category, and that release it:
    int64 (2, v) each; ``by_size`` float64 (3, 64): records in classes of 2^i to 2^(i+1) - 1
    records, the sums of their squares over all quasi-identifiers, and of how many values these are;
    ``parts``: of the quasi-identifiers that are numbers, in their order, the records whose value is
    in each part of the range, and whose released value is: int64 (2, 10) each; ``counted``: what
    the analyses count, part by part; ``failures``: why some of it could not be counted. What
    columns are compared by and the analyses are of the records that have a value of every
    quasi-identifier.
    """

    squares: Float64
    n_values: Int64
    comparison: ValueComparison
    by_size: Float64
    shares: tuple[Int64, ...] = ()
    parts: tuple[Int64, ...] = ()
    counted: tuple[RecordCounts, ...] = ()
    failures: tuple[str, ...] = ()

    @property
    def means(self) -> Float64:
        """The mean of each quasi-identifier over the records that have a value: float64 (QIs,)."""
        return self.squares / np.maximum(self.n_values, 1)

    def merge(self, other: "Losses") -> "Losses":
        """The losses of the records of both."""
        return Losses(
            self.squares + other.squares,
            self.n_values + other.n_values,
            self.comparison.merge(other.comparison),
            self.by_size + other.by_size,
            tuple(a + b for a, b in zip(self.shares, other.shares, strict=True)),
            tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)),
            self.counted + other.counted,
            self.failures + other.failures,
        )


def compared_columns(plan: Plan) -> list[Column]:
    """Columns of numbers and dates: quasi-identifiers, then confidential ones, then with noise."""
    quasi = [e.column for e in plan.encodings]
    released = [e.column for e in plan.confidential[: plan.n_released] if not e.generalised]
    noised = [column for column in plan.passthrough if column.attribute.noise is not None]
    return [column for column in (*quasi, *released, *noised) if column.kind in _NUMBERS]


def shared_columns(encodings: Sequence[Encoding]) -> list[Encoding]:
    """Quasi-identifiers with categories of which a class releases one."""
    return [
        e
        for e in encodings
        if e.categories is not None and not e.generalised and e.column.aggregate != ANCESTOR
    ]


def name_shares(losses: Losses, plan: Plan) -> dict[str, Int64]:
    """Records that have each category, and that release it, of each of these columns: (2, v)."""
    names = [encoding.column.name for encoding in shared_columns(plan.encodings)]
    return dict(zip(names, losses.shares, strict=True))


def name_parts(losses: Losses, plan: Plan) -> dict[str, Int64]:
    """Records in each part of the range, and released there, of each numeric one: (2, 10)."""
    names = [e.column.name for e in plan.encodings if e.column.kind in _NUMBERS]
    return dict(zip(names, losses.parts, strict=True))


def merge_losses(parts: Sequence[Losses]) -> Losses:
    """The losses of all parts, one after the other."""
    return reduce(Losses.merge, parts)


def measure_aggregation(
    encodings: Sequence[Encoding],
    keys: list[Keys],
    released: list[Keys],
    by_class: tuple[Int64, Int64],
    others: Sequence[Pair] = (),
    counter: RecordCounter | None = None,
    gaps: Gaps = NO_GAPS,
) -> Losses:
    """Losses of classes that are released as aggregates.

    Of numeric quasi-identifiers differences are divided by the range, of ordinal ones by the ranks;
    nominal ones lose 0 or 1. With a taxonomy the hierarchical distance replaces the square: the
    height of the lowest common ancestor of the original and the released value, divided by the
    taxonomy's; a released inner node is at its own height from what is below.

    Parameters
    ----------
    keys, released : of each quasi-identifier, of the records (n,) and of the classes (c,)
    by_class : ``order`` and ``starts``
    others : of the compared columns that are no quasi-identifiers
    counter : of what analyses count, where they are tried
    gaps : of the records that lack a value; none is lost of them
    """
    sizes, complete = np.diff(by_class[1]), gaps.find_complete(by_class[0])

    def lose(j: int, original: Keys) -> Lost:
        lost = _lose_by_aggregate(encodings[j], original, released[j].repeat(sizes))
        if counter is not None:
            same = lost[2] == original
            find = partial(_show_values, encodings[j], j, released[j], lost[2], sizes)
            counter.add(original[complete], lambda: (find()[complete], same[complete]))
        return lost

    return _measure(encodings, keys, by_class, lose, others, counter, gaps)


def _show_values(
    encoding: Encoding, j: int, of_classes: Keys, of_records: Keys, sizes: Int64
) -> Keys:
    """What is released for the records; of groups, their values evenly, as of sets."""
    tree = tree_of(encoding) if encoding.column.aggregate == ANCESTOR else None
    return of_records if tree is None else spread_groups(tree, of_classes, sizes, j)


def measure_generalising(
    encodings: Sequence[Encoding],
    keys: list[Keys],
    released: Sequence[Generalised],
    by_class: tuple[Int64, Int64],
    others: Sequence[Pair] = (),
    counter: RecordCounter | None = None,
) -> Losses:
    """The same of classes that are released as intervals, sets and nodes; of these, the middle."""
    _, starts = by_class
    sizes = np.diff(starts)

    def lose(j: int, original: Keys) -> Lost:
        of_classes = released[j]
        squares = measure_generalisation(encodings[j], original, starts, of_classes)
        is_number = encodings[j].column.kind in _NUMBERS
        shown = of_classes.middles.repeat(sizes) if is_number else original
        if counter is not None:
            counter.add(original, lambda: spread_values(encodings[j], of_classes, sizes, j))
        return float(np.sum(squares)), squares, shown

    return _measure(encodings, keys, by_class, lose, others, counter)


def _measure(
    encodings: Sequence[Encoding],
    keys: list[Keys],
    by_class: tuple[Int64, Int64],
    lose: Callable[[int, Keys], Lost],
    others: Sequence[Pair],
    counter: RecordCounter | None,
    gaps: Gaps = NO_GAPS,
) -> Losses:
    """``lose``: what is lost and released, of a column's place and keys class by class."""
    (order, starts), sizes = by_class, np.diff(by_class[1])
    complete, by_size = gaps.find_complete(order), np.zeros((3, SIZE_STEPS))
    steps = np.frexp(sizes.astype(np.float64))[1] - 1  # powers of two next below the sizes
    by_size[0] = np.bincount(steps, sizes, SIZE_STEPS)
    squares, n_values = np.empty(len(encodings)), np.empty(len(encodings), dtype=np.int64)
    pairs, shares = [], []
    parts: list[Int64] = []
    shared = set(map(id, shared_columns(encodings)))
    for j, encoding in enumerate(encodings):
        original: Keys = keys[j][order]
        squares[j], of_records, released = lose(j, original)
        known = gaps.find_known(j, order)
        n_known = sizes
        if not isinstance(known, slice):
            squares[j] = of_records[known].sum()
            of_records = np.where(known, of_records, 0)
            n_known = np.add.reduceat(known, starts[:-1], dtype=np.int64)
        both = original[known], released[known]
        n_values[j] = both[0].size
        of_classes = np.add.reduceat(of_records, starts[:-1], dtype=np.float64)
        by_size[1] += np.bincount(steps, of_classes, SIZE_STEPS)
        by_size[2] += np.bincount(steps, n_known, SIZE_STEPS)
        if encoding.column.kind in _NUMBERS:
            pairs.append(_as_floats(original[complete], released[complete]))
            parts.append(np.array([_count_parts(encoding, one) for one in _as_floats(*both)]))
        if id(encoding) in shared:
            shares.append(np.array([encoding.count_categories(one) for one in both]))
    rows = order[complete]
    every = [*pairs, *((one[rows], other[rows]) for one, other in others)]
    counted = () if counter is None else counter.count(rows, every)
    failures = (counter.failure,) if counter is not None and counter.failure else ()
    compared = _compare(every, rows.size)
    return Losses(
        squares, n_values, compared, by_size, tuple(shares), tuple(parts), counted, failures
    )


def _as_floats(original: Keys, released: Keys) -> Pair:
    return original.astype(np.float64), released.astype(np.float64)


def _count_parts(encoding: Encoding, values: Float64) -> Int64:
    """Values in each of the equal parts of a number's range, the last with its end: int64 (10,)."""
    span = float(encoding.high - encoding.low)
    places = (values - float(encoding.low)) / span * RANGE_PARTS if span else np.zeros(values.size)
    of_values = np.clip(places, 0, RANGE_PARTS - 1).astype(np.int64)
    return np.bincount(of_values, minlength=RANGE_PARTS).astype(np.int64)


def lose_by_aggregate(
    encoding: Encoding, keys: Keys, released: Keys, by_class: tuple[Int64, Int64]
) -> float:
    """The sum over the records of what they lose of one quasi-identifier.

    Parameters
    ----------
    keys, released : of the records (n,) and of the classes (c,)
    by_class : ``order`` and ``starts``; records that are in none lose nothing
    """
    order, starts = by_class
    return _lose_by_aggregate(encoding, keys[order], released.repeat(np.diff(starts)))[0]


def _lose_by_aggregate(encoding: Encoding, original: Keys, released: Keys) -> Lost:
    tree = tree_of(encoding)
    if tree is not None:
        distances = tree.count_apart(original, released)
        return float(distances.sum()) / tree.height, distances / tree.height, released
    if encoding.is_nominal:
        differs = original != released
        return float(np.count_nonzero(differs)), differs, released
    if encoding.release_type != encoding.type:
        released = _unscaled(released, encoding)
    span = float(encoding.high - encoding.low)
    difference = (original - released) / span if span else np.zeros(original.size)
    squares = difference * difference
    return float(np.sum(squares)), squares, released


def _compare(pairs: Sequence[Pair], n_records: int) -> ValueComparison:
    originals, released = (
        np.array([pair[side] for pair in pairs]).reshape(len(pairs), n_records) for side in (0, 1)
    )
    return compare_records(originals, released)


def _unscaled(values: Keys, encoding: Encoding) -> Keys:
    if pa.types.is_decimal(encoding.type):
        return cast(Keys, values * 10.0**encoding.type.scale)
    return values
