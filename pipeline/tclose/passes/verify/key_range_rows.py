"""The rows of a key range as a release holds them: in order, and written.

Referenced columns are fetched here, for some classes at a time: pass-through columns decide the
order of equal rows of a class, so a class is fetched as a whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.keys import Keys, widen_decimals
from tclose.kernels.aggregate import group_by_label, sort_within
from tclose.model.array_types import Int64
from tclose.model.distribution import Distribution
from tclose.passes.encode.wide_columns import References
from tclose.passes.plan.plan import Plan
from tclose.passes.plan.plan_files import key_encodings
from tclose.runtime.artifacts.arrays import as_bits

FETCHED_BYTES = 1 << 25


@dataclass(frozen=True, eq=False)
class KeyRangeRows:
    """Rows of a key range, by class and confidential values, without pass-through columns.

    ``class_keys``: of each key column, of the classes; ``starts`` int64 (classes + 1,); ``codes``
    int64 (p, rows); ``along``: columns that are at hand, ``x0``, ...; ``positions`` int64 (rows,):
    what the others are fetched by.
    """

    class_keys: list[Keys]
    starts: Int64
    codes: Int64
    along: pa.Table
    positions: Int64

    def classes(self, first: int, last: int) -> "KeyRangeRows":
        """Return the rows of some classes."""
        start, stop = int(self.starts[first]), int(self.starts[last])
        return KeyRangeRows(
            [keys[first:last] for keys in self.class_keys],
            self.starts[first : last + 1] - start,
            self.codes[:, start:stop],
            self.along.slice(start, stop - start),
            self.positions[start:stop],
        )


def order_rows(of_row: Int64, codes: Int64, passthrough: pa.Table) -> Int64:
    """Return the order of rows by class, confidential and pass-through values, as released.

    ``of_row`` int64 (n,): the class of each row; ``codes`` int64 (p, n); the order int64 (n,).
    """
    last = [_dense_ranks(column.combine_chunks()) for column in as_bits(passthrough).columns]
    keys = np.vstack([codes, *last]) if last else codes
    order, starts = group_by_label(of_row, int(of_row.max(initial=-1)) + 1)
    sort_within(order, starts, np.ascontiguousarray(keys, dtype=np.int64))
    return cast(Int64, order)


def _dense_ranks(values: pa.Array) -> Int64:
    if pa.types.is_null(values.type):  # Arrow ranks anything but this
        return np.zeros(len(values), dtype=np.int64)
    return cast(Int64, pc.rank(widen_decimals(values), tiebreaker="dense").to_numpy())


def cut_rows(
    plan: Plan, rows: KeyRangeRows, references: References, distributions: Sequence[Distribution]
) -> Iterator[pa.Table]:
    """The rows of a key range as released, the referenced columns among them, piece by piece."""
    for piece in _cut(rows, references.measure(rows.positions)):
        passthrough = _order_passthrough(plan, piece, references)
        yield released_table(plan, piece, passthrough, distributions)


def _cut(rows: KeyRangeRows, widths: Int64) -> Iterator[KeyRangeRows]:
    """Some classes after the others, of about `FETCHED_BYTES`: more where one class alone has."""
    ends = np.cumsum(widths)[rows.starts[1:] - 1]
    cuts = np.flatnonzero(np.diff(ends // FETCHED_BYTES)) + 1
    for first, last in pairwise([0, *cuts.tolist(), ends.size]):
        yield rows.classes(first, last)


def _order_passthrough(plan: Plan, rows: KeyRangeRows, references: References) -> pa.Table:
    """Return the rows' passthrough columns, in memory or fetched, in the release's order."""
    fetched = references.fetch(rows.positions)
    columns = {name: fetched[name] for name in fetched.column_names}
    columns |= {name: rows.along[name] for name in rows.along.column_names}
    passthrough = pa.table({f"x{i}": columns[f"x{i}"] for i in range(len(plan.passthrough))})
    of_row = np.repeat(np.arange(rows.starts.size - 1), np.diff(rows.starts))
    return passthrough.take(pa.array(order_rows(of_row, rows.codes, passthrough)))


def released_table(
    plan: Plan, rows: KeyRangeRows, passthrough: pa.Table, distributions: Sequence[Distribution]
) -> pa.Table:
    """The rows as the release holds them, in the columns' order of the input."""
    columns = {}
    sizes = np.diff(rows.starts)
    class_of_row = pa.array(np.repeat(np.arange(sizes.size), sizes))
    for encoding, keys in zip(key_encodings(plan), rows.class_keys, strict=True):
        columns[encoding.column.name] = encoding.decode(keys).take(class_of_row)
    for encoding, distribution, of_attribute in zip(
        plan.confidential[: plan.n_released], distributions, rows.codes, strict=False
    ):
        columns[encoding.column.name] = encoding.decode(distribution.values[of_attribute])
    for i, column in enumerate(plan.passthrough):
        columns[column.name] = passthrough[f"x{i}"]
    return pa.table({name: columns[name] for name in plan.released})
