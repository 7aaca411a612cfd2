"""The analyses that are tried: parts that values are counted in, and random range counts.

Values are cut into few parts each: numbers and ordinal values at quantiles, so that about as many
records are in each, categories into the commonest ones and all others together. A range count asks
how many records have values in some parts of two or three quasi-identifiers and of a confidential
attribute. The ends of parts are values, so what is counted is exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.data.keys import Encoding, Keys
from tclose.data.value_counts import ColumnSummary
from tclose.model.array_types import Float64, Int64
from tclose.model.distribution import Distribution
from tclose.passes.microaggregate.analyses.failing_measures import try_measuring
from tclose.passes.plan.plan import Plan
from tclose.passes.summarise.input_summary import InputSummary
from tclose.runtime.artifacts.artifacts import Artifact

MOST_PARTS = 20  # of a column
N_QUERIES = 1_000
MOST_RANGES = 4  # of a query: of three quasi-identifiers and a confidential attribute
NARROWEST, WIDEST = 0.1, 0.5  # shares of the parts that a range has
MOST_TABLED = 1 << 16  # integers whose parts are looked up in a table
MOST_CATEGORICAL, MOST_NUMBERS = 12, 24  # columns whose associations are measured

Parts8 = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class ColumnParts:
    """The parts that the values of a column are counted in.

    ``ends``: of ordered values the last key of each part but the last one, ascending;
    ``of_category`` int64 (v,): of values without an order, the part of each. ``shares`` float64
    (parts,): of the records, or of a sample of them.
    """

    name: str
    ends: Keys
    of_category: Int64
    shares: Float64

    @property
    def is_ordered(self) -> bool:
        """True if a range has parts beside each other; of others it has one part."""
        return not self.of_category.size

    @property
    def n_parts(self) -> int:
        """The number of parts."""
        return self.shares.size

    def find(self, keys: Keys) -> Parts8:
        """The part of each key: uint8 (n,)."""
        if not self.is_ordered:
            return self.of_category.astype(np.uint8)[keys.astype(np.int64)]
        of_integers = self._of_integers if keys.dtype.kind == "i" else None
        if of_integers is not None:
            first, last = self.ends[0], self.ends[-1] + 1
            of_keys: Parts8 = of_integers[np.clip(keys, first, last) - first]
            return of_keys
        return np.searchsorted(self.ends, keys).astype(np.uint8)

    @cached_property
    def _of_integers(self) -> Parts8 | None:
        """The part of each integer from the first end to above the last one, if these are few."""
        ends = self.ends
        if not ends.size or ends.dtype.kind != "i" or int(ends[-1]) - int(ends[0]) > MOST_TABLED:
            return None
        above = ends - ends[0]  # small, where what is above the last end may be no 64-bit integer
        return np.searchsorted(above, np.arange(above[-1] + 2)).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class Workload:
    """The parts of all columns, and the range counts that are asked for.

    ``quasi``: of the quasi-identifiers, in the plan's order; ``confidential``: of the released
    attributes, whose keys are positions in their distributions. ``queries`` int64 (q, 4, 3): the
    column, the first part, and the one after the last, of each range; columns are -1 where a query
    has fewer ranges. ``categorical``: places of the columns whose associations are measured, the
    confidential ones after the quasi-identifiers; ``shifts`` float64 (m,): of the numbers with
    which theirs are, what is subtracted before they are summed. ``unasked``: confidential
    attributes that no query is about. ``failure``: why nothing is measured, or empty.
    """

    quasi: tuple[ColumnParts, ...]
    confidential: tuple[ColumnParts, ...]
    queries: Int64
    categorical: tuple[int, ...]
    shifts: Float64
    unasked: tuple[str, ...] = ()
    failure: str = ""

    @property
    def columns(self) -> tuple[ColumnParts, ...]:
        """The parts of all columns."""
        return (*self.quasi, *self.confidential)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Places of each two columns with categories whose association is measured."""
        return [(i, j) for j in self.categorical for i in self.categorical if i < j]


WORKLOAD = Artifact("workload", Workload, 2)


def plan_workload(
    plan: Plan, summary: InputSummary, distributions: Sequence[Distribution]
) -> Workload:
    """Return what `make_workload` makes, or nothing to measure and why."""
    workload, failure = try_measuring(lambda: make_workload(plan, summary, distributions))
    if workload is not None:
        return workload
    no_queries = np.empty((0, MOST_RANGES, 3), dtype=np.int64)
    return Workload((), (), no_queries, (), np.empty(0), failure=failure)


def make_workload(
    plan: Plan, summary: InputSummary, distributions: Sequence[Distribution]
) -> Workload:
    """Cut the columns of a plan into parts, and draw range counts by its seed.

    Of confidential values that are released as intervals or sets the values themselves are not at
    hand any more, and a count of what is released would show no error: none is asked for.
    """
    quasi = tuple(
        _cut_quasi_identifier(e, summary.table.columns[e.column.name], summary.scale_keys)
        for e in plan.encodings
    )
    released = list(zip(plan.confidential[: plan.n_released], distributions, strict=False))
    confidential = tuple(_cut_confidential(*one) for one in released)
    unasked = tuple(e.column.name for e, _ in released if _is_released_in_ranges(e, plan))
    encodings = [*plan.encodings, *(encoding for encoding, _ in released)]
    categorical = [j for j, e in enumerate(encodings) if e.column.kind.is_categorical]
    numbers = [float(e.low) for e in plan.encodings if not e.column.kind.is_categorical]
    numbers += [
        float(distribution.values[0])
        for e, distribution in released
        if not e.column.kind.is_categorical and not e.generalised
    ]
    return Workload(
        quasi,
        confidential,
        draw_queries(quasi, confidential, plan.seed, unasked),
        tuple(categorical[:MOST_CATEGORICAL]),
        np.array(numbers[:MOST_NUMBERS], dtype=np.float64),
        unasked,
    )


def _is_released_in_ranges(encoding: Encoding, plan: Plan) -> bool:
    """Return whether a confidential attribute's values are released as buckets or bands."""
    attribute = encoding.column.attribute
    prepared = attribute.preparation
    is_banded = attribute.has_bands or (prepared is not None and bool(prepared.bands))
    return plan.method.releases_buckets or is_banded


def _cut_quasi_identifier(
    encoding: Encoding, counted: ColumnSummary, sampled: dict[str, Keys]
) -> ColumnParts:
    name = encoding.column.name
    if encoding.categories is None:
        keys = sampled[name]
        if not keys.size:  # of many records that were read, few are complete
            keys = np.array([encoding.low, encoding.high])
        counted_keys: tuple[Any, Int64] = np.unique(keys, return_counts=True)
        values, of_values = counted_keys
        return cut_ordered(name, values, np.cumsum(of_values))
    of_text = {str(value): n for value, n in counted.categories.items() if value is not None}
    counts = np.array([of_text.get(text, 0) for text in encoding.texts], dtype=np.int64)
    if encoding.ranks is not None:
        return cut_ordered(name, encoding.ranks, np.cumsum(counts))
    return cut_categories(name, counts)


def _cut_confidential(encoding: Encoding, distribution: Distribution) -> ColumnParts:
    name, up_to = encoding.column.name, distribution.cumulative
    if encoding.is_nominal:
        return cut_categories(name, distribution.counts)
    return cut_ordered(name, np.arange(up_to.size), up_to)


def cut_ordered(name: str, values: Keys, up_to: Int64) -> ColumnParts:
    """Cut ascending values into parts of about as many records.

    ``up_to`` int64 (m,): records that have a value up to each.
    """
    cut_ranks = up_to[-1] * np.arange(1, MOST_PARTS) / MOST_PARTS
    last = np.unique(np.searchsorted(up_to, cut_ranks))
    last = last[last < values.size - 1]
    in_parts = np.diff(up_to[np.append(last, values.size - 1)], prepend=0)
    return ColumnParts(name, values[last], np.empty(0, np.int64), in_parts / up_to[-1])


def cut_categories(name: str, counts: Int64) -> ColumnParts:
    """Make a part of each of the commonest categories, and one of all others."""
    of_category = np.empty(counts.size, dtype=np.int64)
    of_category[np.argsort(-counts, kind="stable")] = np.arange(counts.size)
    of_category = np.minimum(of_category, MOST_PARTS - 1)
    return ColumnParts(
        name, np.empty(0, np.int64), of_category, np.bincount(of_category, counts) / counts.sum()
    )


def draw_queries(
    quasi: Sequence[ColumnParts],
    confidential: Sequence[ColumnParts],
    seed: int,
    unasked: Sequence[str] = (),
) -> Int64:
    """Draw range counts over columns of more than one part; none without such quasi-identifiers.

    Every other one has two quasi-identifiers, the others three, if there are; each has the next of
    the confidential attributes that are not among ``unasked``. Categories are drawn as often as
    records have them.
    """
    first = np.array([j for j, column in enumerate(quasi) if column.n_parts > 1], dtype=np.int64)
    last = [
        len(quasi) + a
        for a, column in enumerate(confidential)
        if column.n_parts > 1 and column.name not in unasked
    ]
    queries = np.full((N_QUERIES if first.size else 0, MOST_RANGES, 3), -1, dtype=np.int64)
    rng = np.random.default_rng([seed, N_QUERIES])
    numbers = np.arange(len(queries))
    drawn = rng.random((len(queries), first.size)).argsort(axis=1, kind="stable")
    for place in range(min(3, first.size)):
        rows = numbers[numbers % 2 == 1] if place == 2 else numbers
        queries[rows, place, 0] = first[drawn[rows, place]]
    if last:
        queries[:, -1, 0] = np.array(last)[numbers % len(last)]
    _draw_ranges(queries, (*quasi, *confidential), rng)
    return queries


def _draw_ranges(queries: Int64, columns: Sequence[ColumnParts], rng: np.random.Generator) -> None:
    """Enter the first part of each range, and the one after the last."""
    for place in range(MOST_RANGES):
        draws = rng.random((2, len(queries)))
        for j in np.unique(queries[:, place, 0]):
            has_column = queries[:, place, 0] == j
            if j >= 0:
                queries[has_column, place, 1:] = _cut_ranges(columns[j], *draws[:, has_column])


def _cut_ranges(column: ColumnParts, one: Float64, other: Float64) -> Int64:
    """Ranges of a column, int64 (n, 2), by two numbers of 0 to less than 1 for each."""
    n_parts = column.n_parts
    if column.is_ordered:
        shares = NARROWEST + one * (WIDEST - NARROWEST)
        widths = np.maximum(1, np.rint(shares * n_parts)).astype(np.int64)
        starts = (other * (n_parts - widths + 1)).astype(np.int64)
        return np.column_stack([starts, starts + widths])
    up_to = np.cumsum(column.shares)
    parts = np.searchsorted(up_to[:-1], one * up_to[-1], side="right")
    return np.column_stack([parts, parts + 1])
