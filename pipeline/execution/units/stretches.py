"""Pass 3: a stretch of the release is put in its order, verified, and made what is released."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.execution.units.class_files import Classes, join_classes, read_stretch
from pipeline.execution.units.shared import (
    key_encodings,
    load_distributions,
    load_joints,
    load_shared,
    write_counts,
)
from pipeline.execution.units.whole import keep_stretch
from pipeline.model import Distribution, Int64
from pipeline.stages.combinations import append_joint
from pipeline.stages.keys import Keys
from pipeline.stages.microaggregate import find_changes
from pipeline.stages.plan import Plan, Region
from pipeline.stages.summarise import count_values
from pipeline.stages.verify import ClassChecks, check_classes
from pipeline.storage.tables import (
    as_bits,
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
    keys, tables = gathered.keys, load_distributions(workspace, plan)
    by_keys = np.lexsort(keys[::-1])
    changed = find_changes([column[by_keys] for column in keys])
    class_of = np.empty(gathered.sizes.size, dtype=np.int64)
    class_of[by_keys] = np.cumsum(changed) - 1
    of_row = np.repeat(class_of, gathered.sizes)
    order = _canonical_order(of_row, gathered)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(of_row))])
    class_keys = [column[by_keys][changed] for column in keys]
    codes = append_joint(gathered.codes[:, order], load_joints(workspace, plan))
    carried = gathered.carried
    if carried.num_columns:
        carried = carried.take(pa.array(order))
    checks = check_classes(starts, codes, tables, plan.judged_emds, plan.further)
    keep_stretch(class_keys, starts, codes, plan.further, drafts)
    for a in range(len(plan.confidential)):
        counted = {(): count_values(codes[a])}
        write_counts(counted, drafts.new(f"counts{a}"))
    table = _released_table(plan, class_keys, starts, (codes, carried), tables)
    write_table(table, drafts.new("released"))
    ends = [tuple(column[i].item() for column in class_keys) for i in (0, -1)]
    return StretchResult(checks, _segments(plan, class_keys, starts), ends[0], ends[1])


def _gather_stretch(workspace: Workspace, plan: Plan, item: StretchItem) -> Classes | None:
    """Its classes of all regions; None where there are none."""
    regions: list[Region] = load_shared(workspace, "regions")
    types: list[np.dtype] = load_shared(workspace, "class_types")
    ends = item.low, item.high
    found = (
        read_stretch(
            workspace.unit("microaggregate", regions[i].name), types[i], ends, plan.n_released
        )
        for i in item.regions
    )
    parts = [classes for classes in found if classes is not None]
    return join_classes(parts) if parts else None


def _dense_ranks(values: pa.Array) -> Int64:
    if pa.types.is_null(values.type):  # Arrow ranks anything but this
        return np.zeros(len(values), dtype=np.int64)
    return pc.rank(values, tiebreaker="dense").to_numpy()


def _canonical_order(of_row: Int64, classes: Classes) -> Int64:
    """Rows by class, confidential values, then what is carried: by released values alone."""
    last = [_dense_ranks(column.combine_chunks()) for column in as_bits(classes.carried).columns]
    return np.lexsort([*last[::-1], *classes.codes[::-1], of_row])


def _released_table(
    plan: Plan,
    class_keys: list[Keys],
    starts: Int64,
    rows: tuple[Int64, pa.Table],
    distributions: Sequence[Distribution],
) -> pa.Table:
    """The rows as the release holds them, in the columns' order of the input."""
    (codes, carried), columns = rows, {}
    class_of_row = pa.array(np.repeat(np.arange(starts.size - 1), np.diff(starts)))
    for encoding, keys in zip(key_encodings(plan), class_keys, strict=True):
        columns[encoding.column.name] = encoding.decode(keys).take(class_of_row)
    for encoding, distribution, of_attribute in zip(
        plan.confidential[: plan.n_released], distributions, codes, strict=False
    ):
        columns[encoding.column.name] = encoding.decode(distribution.values[of_attribute])
    for i, column in enumerate(plan.carried):
        columns[column.name] = carried[f"x{i}"]
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
