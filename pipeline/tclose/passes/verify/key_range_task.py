"""Pass 3: a key range of the release is put in its order, verified, and made what is released."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tclose.data.key_rows import find_changes, find_distinct
from tclose.data.keys import Keys
from tclose.data.value_counts import count_values
from tclose.model.array_types import Int64
from tclose.passes.encode.wide_columns import load_references
from tclose.passes.microaggregate.aggregate_task import CLASS_TYPES, REGIONS
from tclose.passes.microaggregate.class_files import StoredClasses, join_classes, read_key_range
from tclose.passes.persons.person_values import load_person_demand
from tclose.passes.plan.plan import PLAN, Plan
from tclose.passes.plan.plan_files import count_codes, load_distributions
from tclose.passes.series.link_persons import SERIES
from tclose.passes.summarise.records import JOINTS, write_counts
from tclose.passes.verify.class_checks import ClassChecks, check_classes
from tclose.passes.verify.class_rows import WHOLE_CLASSES, WHOLE_ROWS, keep_class_rows
from tclose.passes.verify.key_range_rows import (
    KeyRangeRows,
    cut_rows,
    order_rows,
    released_table,
)
from tclose.passes.verify.person_checks import check_persons
from tclose.passes.verify.person_traces import (
    CLASS_SIZES,
    PERSON_CODES,
    ROW_PERSONS,
    ROW_VALUES,
    keep_persons,
)
from tclose.privacy.joint import append_joint
from tclose.runtime.artifacts.arrays import ArrayFile, TableFile
from tclose.runtime.artifacts.artifacts import Artifact, FileArtifact, PendingFiles, Workspace
from tclose.runtime.tasks import Task


@dataclass(frozen=True)
class KeyRangeInput:
    """A key range of the release: the classes whose key is from ``low`` on and before ``high``.

    ``regions``: numbers of those that may have some.
    """

    low: tuple[Any, ...] | None
    high: tuple[Any, ...] | None
    regions: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class KeyRangeResult:
    """The checks of a key range, and its rows for each output folder.

    ``segments``: (codes of the partition columns, rows), in order; ``first``, ``last``: class keys.
    """

    checks: ClassChecks | None
    segments: Sequence[tuple[tuple[int | float | str, ...], int]]
    first: tuple[Any, ...] | None
    last: tuple[Any, ...] | None


KEY_RANGES = Artifact("key-ranges", list[KeyRangeResult], version=2)
RELEASED = FileArtifact("verify/released", TableFile)  # the rows of a key range, in order
RELEASED_COUNTS = FileArtifact("verify/counts", ArrayFile)  # by attribute


def verify_task(workspace: Workspace, item: KeyRangeInput, pending: PendingFiles) -> KeyRangeResult:
    """Sort a key range into the release's order, check its classes, write its rows as released."""
    plan = workspace.load_shared(PLAN)
    gathered = _gather_key_range(workspace, plan, item)
    if gathered is None:
        return KeyRangeResult(None, [], None, None)
    keys, tables = gathered.keys, load_distributions(workspace, plan)
    class_keys, class_of = find_distinct(keys)
    of_row = np.repeat(class_of, gathered.sizes)
    n_fetched = plan.n_released + bool(plan.referenced)
    codes, positions = (
        gathered.codes[: plan.n_released],
        gathered.codes[plan.n_released : n_fetched],
    )
    order = order_rows(of_row, codes, pa.table({}) if plan.referenced else gathered.passthrough)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(of_row))])
    codes = append_joint(codes[:, order], workspace.load_shared(JOINTS))
    along = gathered.passthrough.take(pa.array(order)) if plan.along else gathered.passthrough
    checks = check_classes(starts, codes, tables, plan.verification_limits, plan.privacy_models)
    demand = load_person_demand(workspace)
    if demand is not None:
        persons = gathered.codes[n_fetched][order]
        checks = replace(checks, persons=check_persons(demand, starts, persons, codes))
        keep_persons(plan, starts, persons, codes, pending)
        if workspace.load_shared(SERIES):
            pending.new(PERSON_CODES).write(codes)
    keep_class_rows(class_keys, starts, codes, plan.privacy_models, pending)
    for a in range(len(plan.confidential)):
        write_counts({(): count_values(codes[a])}, pending.new(RELEASED_COUNTS, a))
    rows = KeyRangeRows(class_keys, starts, codes, along, positions[:, order].ravel())
    _write_released(workspace, plan, rows, pending.new(RELEASED))
    ends = [tuple(column[i].item() for column in class_keys) for i in (0, -1)]
    return KeyRangeResult(checks, _segments(plan, class_keys, starts), ends[0], ends[1])


def _gather_key_range(
    workspace: Workspace, plan: Plan, item: KeyRangeInput
) -> StoredClasses | None:
    """Its classes of all regions; None where there are none."""
    regions = workspace.load_shared(REGIONS)
    types = workspace.load_shared(CLASS_TYPES)
    ends = item.low, item.high
    n_codes = count_codes(plan)
    classes = (
        read_key_range(workspace, regions[i].name, types[i], ends, n_codes) for i in item.regions
    )
    parts = [part for part in classes if part is not None]
    return join_classes(parts) if parts else None


def _write_released(
    workspace: Workspace, plan: Plan, rows: KeyRangeRows, released: TableFile
) -> None:
    tables = load_distributions(workspace, plan)
    if plan.referenced:
        released.write_all(cut_rows(plan, rows, load_references(workspace), tables))
    else:
        released.write(released_table(plan, rows, rows.along, tables))


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


VERIFY_TASK = Task(
    "verify",
    "verifying classes",
    verify_task,
    (
        RELEASED,
        RELEASED_COUNTS,
        WHOLE_CLASSES,
        WHOLE_ROWS,
        ROW_PERSONS,
        CLASS_SIZES,
        ROW_VALUES,
        PERSON_CODES,
    ),
    version=3,
)
