"""Pass 3: a stretch of the release is put in its order, verified, and made what is released."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.execution.units.shared import (
    key_encodings,
    load_distributions,
    load_joints,
    load_shared,
    stack_codes,
    write_counts,
)
from pipeline.execution.units.whole import keep_stretch
from pipeline.model import Int64
from pipeline.stages.keys import Keys
from pipeline.stages.microaggregate import find_changes
from pipeline.stages.plan import Plan, Region
from pipeline.stages.summarise import count_values
from pipeline.stages.verify import ClassChecks, check_classes
from pipeline.storage.tables import (
    as_bits,
    column_array,
    key_array,
    read_rows,
    read_table,
    write_table,
)
from pipeline.storage.workspace import Drafts, Workspace


@dataclass(frozen=True)
class StretchItem:
    """A stretch of the release: the classes whose key is from ``low`` on and before ``high``.

    ``regions``: numbers of those that may have some.
    """

    low: tuple[Any, ...] | None
    high: tuple[Any, ...] | None
    regions: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class StretchResult:
    """What verification found in a stretch, and what rows it has for each output folder.

    ``segments``: (codes of the partition columns, rows), in order; ``first``, ``last``: class keys.
    """

    checks: ClassChecks | None
    segments: list[tuple[tuple[int | float, ...], int]]
    first: tuple[Any, ...] | None
    last: tuple[Any, ...] | None


def verify_unit(workspace: Workspace, item: StretchItem, drafts: Drafts) -> StretchResult:
    """Sort a stretch into the release's order, check its classes, write its rows as released."""
    plan: Plan = load_shared(workspace, "plan")
    gathered = _gather_stretch(workspace, plan, item)
    if gathered is None:
        return StretchResult(None, [], None, None)
    classes, rows = gathered
    keys = [key_array(classes, f"k{j}") for j in range(len(key_encodings(plan)))]
    by_keys = np.lexsort(keys[::-1])
    changed = find_changes([column[by_keys] for column in keys])
    class_of = np.empty(len(classes), dtype=np.int64)
    class_of[by_keys] = np.cumsum(changed) - 1
    of_row = np.repeat(class_of, column_array(classes, "size"))
    order = _canonical_order(of_row, rows, plan)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(of_row))])
    if rows is not None:
        rows = rows.take(pa.array(order))
    class_keys = [column[by_keys][changed] for column in keys]
    codes = np.empty((0, of_row.size), dtype=np.int64)
    if rows is not None:
        codes = stack_codes(rows, len(rows), plan, load_joints(workspace, plan))
    tables = load_distributions(workspace, plan)
    checks = check_classes(starts, codes, tables, plan.judged_emds, plan.further)
    keep_stretch(class_keys, starts, codes, plan.further, drafts)
    for a in range(len(plan.confidential)):
        counted = {(): count_values(codes[a])}
        write_counts(counted, drafts.new(f"counts{a}"))
    table = _released_table(plan, class_keys, starts, rows, codes, workspace)
    write_table(table, drafts.new("released"))
    ends = [tuple(column[i].item() for column in class_keys) for i in (0, -1)]
    return StretchResult(checks, _segments(plan, class_keys, starts), ends[0], ends[1])


def _gather_stretch(
    workspace: Workspace, plan: Plan, item: StretchItem
) -> tuple[pa.Table, pa.Table | None] | None:
    """Its classes and, where there is more than their keys, its rows; None without classes."""
    classes, rows = [], []
    n_keys = len(key_encodings(plan))
    regions: list[Region] = load_shared(workspace, "regions")
    for number in item.regions:
        unit = workspace.unit("microaggregate", regions[number].name)
        table = read_table(unit.path("classes"))
        columns = [key_array(table, f"k{j}") for j in range(n_keys)]
        first = _first_at_least(columns, item.low) if item.low else 0
        last = _first_at_least(columns, item.high) if item.high else len(table)
        if first >= last:
            continue
        ends = np.cumsum(column_array(table, "size"))
        begin = int(ends[first - 1]) if first else 0
        classes.append(table.take(pa.array(np.arange(first, last))))  # a copy: the map is let go
        if unit.path("rows").exists():
            stretch = np.array([begin]), np.array([int(ends[last - 1]) - begin])
            rows.append(read_rows(unit.path("rows"), *stretch))
    if not classes:
        return None
    return (
        pa.concat_tables(classes).combine_chunks(),
        pa.Table.from_batches(rows).combine_chunks() if rows else None,
    )


def _first_at_least(columns: list[Keys], key: tuple[Any, ...]) -> int:
    """Position of the first row whose key is not below ``key``.

    Rows that are equal in the columns before are sorted by the next one.
    """
    low, high = 0, columns[0].size
    for column, value in zip(columns, key, strict=True):
        part = column[low:high]
        low, high = (low + int(np.searchsorted(part, value, side)) for side in ("left", "right"))
        if low == high:
            break
    return low


def _dense_ranks(values: pa.Array) -> Int64:
    if pa.types.is_null(values.type):  # Arrow ranks anything but this
        return np.zeros(len(values), dtype=np.int64)
    return pc.rank(values, tiebreaker="dense").to_numpy()


def _canonical_order(of_row: Int64, rows: pa.Table | None, plan: Plan) -> Int64:
    """Rows by class, confidential values, then what is carried: by released values alone."""
    if rows is None:
        return np.argsort(of_row, kind="stable")
    carried = as_bits(rows.select([f"x{i}" for i in range(len(plan.carried))]))
    last = [_dense_ranks(column.combine_chunks()) for column in carried.columns]
    codes = [column_array(rows, f"c{a}") for a in range(plan.n_released)]
    return np.lexsort([*last[::-1], *codes[::-1], of_row])


def _released_table(
    plan: Plan,
    class_keys: list[Keys],
    starts: Int64,
    rows: pa.Table | None,
    codes: Int64,
    workspace: Workspace,
) -> pa.Table:
    """The rows as the release holds them, in the columns' order of the input."""
    columns: dict[str, Any] = {}
    class_of_row = pa.array(np.repeat(np.arange(starts.size - 1), np.diff(starts)))
    for encoding, keys in zip(key_encodings(plan), class_keys, strict=True):
        columns[encoding.column.name] = encoding.decode(keys).take(class_of_row)
    distributions = load_distributions(workspace, plan)
    for encoding, distribution, of_attribute in zip(
        plan.confidential[: plan.n_released], distributions, codes, strict=False
    ):
        columns[encoding.column.name] = encoding.decode(distribution.values[of_attribute])
    for i, column in enumerate(plan.carried):
        assert rows is not None
        columns[column.name] = rows[f"x{i}"]
    return pa.table({name: columns[name] for name in plan.released})


def _segments(
    plan: Plan, class_keys: list[Keys], starts: Int64
) -> list[tuple[tuple[int | float, ...], int]]:
    n_columns = len(plan.partition_by)
    if not n_columns:
        return [((), int(starts[-1]))]
    columns = class_keys[:n_columns]
    first = np.flatnonzero(find_changes(columns))
    ends = np.append(first[1:], starts.size - 1)
    return [
        (tuple(column[a].item() for column in columns), int(starts[b] - starts[a]))
        for a, b in zip(first, ends, strict=True)
    ]
