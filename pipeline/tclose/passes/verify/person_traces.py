"""Persons over the classes that their records are in: who is alone, and whose value can be told.

Whoever knows the quasi-identifiers of all of a person's records knows the classes that they are in.
Persons with as many records in the same classes are a cell: nothing tells them apart, and anybody
else can be. A value that is the same in all of a person's records (`persistent`) is one that each
of her classes has, as often as she is there.

Of records apart nothing of it is held: with many the classes of a person are hers alone. It is
measured, by ranges of persons, and told. Of records that are kept together it is also measured what
is left to whoever knows the classes, and not how many records somebody has in them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose.kernels.aggregate import sort_within
from tclose.kernels.class_traces import (
    count_lasting_values,
    count_rows,
    measure_runs,
    place_classes,
    sign_persons,
)
from tclose.model.array_types import Int32, Int64, UInt64
from tclose.model.verification import ClassTraces, LastingValue, PersonTraces
from tclose.passes.plan.plan import PLAN, Plan
from tclose.runtime.artifacts.arrays import ArrayFile
from tclose.runtime.artifacts.artifacts import FileArtifact, PendingFiles, Workspace
from tclose.runtime.pipeline import PassContext
from tclose.runtime.tasks import Task

TRACED_ROWS = 2_000_000  # by a task, about
# Of a key range, class by class: whose each row is, int32 (rows,), and rows of each class, int32
# (classes,); both int64 where numbers are too large for that.
ROW_PERSONS = FileArtifact("verify/row-persons", ArrayFile)
CLASS_SIZES = FileArtifact("verify/class-sizes", ArrayFile)
# Of a key range of a release of a series, int64 (p, rows): its confidential values, by position.
PERSON_CODES = FileArtifact("verify/person-codes", ArrayFile)
# By attribute, of a key range, int32 (rows,) or int64: its values, ascending within each class.
ROW_VALUES = FileArtifact("verify/row-values", ArrayFile)
# Of all key ranges, which tasks map, so that it is in memory once: where the rows of each class
# begin, int64 (classes + 1,); by attribute, the values of the rows.
CLASS_STARTS = FileArtifact("trace/class-starts", ArrayFile)
VALUES = FileArtifact("trace/values", ArrayFile)
JOINED_RANGES = CLASS_STARTS, VALUES
SIGNATURES = FileArtifact("trace/signatures", ArrayFile)  # uint64 (2, persons): equal in a cell
# The same of persons in the same classes, however many records they have there.
CLASS_SIGNATURES = FileArtifact("trace/class-signatures", ArrayFile)


def keep_persons(
    plan: Plan, starts: Int64, persons: Int64, codes: Int64, pending: PendingFiles
) -> None:
    """Write what traces need of a key range; the parameters are as of `PersonDemand.measure`."""
    pending.new(ROW_PERSONS).write(_narrow(persons))
    pending.new(CLASS_SIZES).write(_narrow(np.diff(starts)))
    for a in _list_lasting(plan):
        values = codes[a]
        if a:  # rows of a class are in the order of the first
            order = np.arange(values.size)
            sort_within(order, starts, np.ascontiguousarray(values)[np.newaxis])
            values = values[order]
        pending.new(ROW_VALUES, a).write(_narrow(values))


def _narrow(numbers: Int64) -> Int32 | Int64:
    """The numbers in four bytes each, if they are small enough."""
    return numbers.astype(np.int32) if numbers.max(initial=0) < 2**31 else numbers


def _list_lasting(plan: Plan) -> list[int]:
    """Confidential attributes whose values are the same in all records of a person."""
    released = plan.confidential[: plan.n_released]
    return [a for a, encoding in enumerate(released) if encoding.column.attribute.persistent]


@dataclass(frozen=True)
class TraceInput:
    """Persons from ``first`` to before ``last``; classes in each key range, 0 where it is empty."""

    first: int
    last: int
    n_classes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class TracedPersons:
    """Some persons: how many are in several classes, and with one value left, by attribute.

    ``told``: to whoever knows how many records each has in her classes; ``told_by_classes``: to
    whoever does not, of persons who are kept together, else None. int64 (attributes that last,).
    """

    n_several: int
    told: Int64
    told_by_classes: Int64 | None = None


def trace_task(workspace: Workspace, item: TraceInput, pending: PendingFiles) -> TracedPersons:
    """Trace some persons, and write the signatures of all of them."""
    plan = workspace.load_shared(PLAN)
    classes, ends = _gather_classes(workspace, item)
    pending.new(SIGNATURES).write(sign_persons(classes, ends, True))
    is_there = ends[:-1] < ends[1:]
    ends_of_each = classes[ends[:-1][is_there]], classes[ends[1:][is_there] - 1]
    n_several = int(np.count_nonzero(np.not_equal(*ends_of_each)))
    n_told = _count_told(workspace, plan, classes, ends)
    if not plan.keeps_persons:
        return TracedPersons(n_several, n_told)
    pending.new(CLASS_SIGNATURES).write(sign_persons(classes, ends, False))
    by_classes = _count_told(workspace, plan, classes, ends, counts_rows=False)
    return TracedPersons(n_several, n_told, by_classes)


def _gather_classes(workspace: Workspace, item: TraceInput) -> tuple[Int32, Int64]:
    """Classes of the rows of each person, int32 (rows,), ascending, and where each one's begin."""
    offsets = np.cumsum(item.n_classes) - np.array(item.n_classes)
    ranges = [index for index, n in enumerate(item.n_classes) if n]
    persons = [workspace.file(ROW_PERSONS, index).read() for index in ranges]
    n_rows = np.zeros(item.last - item.first, dtype=np.int64)
    for of_range in persons:
        count_rows(of_range, item.first, n_rows)
    ends = np.append(0, np.cumsum(n_rows))
    places = ends[:-1].copy()
    is_small = sum(item.n_classes) < 2**31
    classes = np.empty(ends[-1], dtype=np.int32 if is_small else np.int64)
    for index, of_range in zip(ranges, persons, strict=True):
        sizes = workspace.file(CLASS_SIZES, index).read()
        place_classes(of_range, sizes, offsets[index], item.first, places, classes)
    return classes, ends


def _count_told(
    workspace: Workspace, plan: Plan, classes: Int32, ends: Int64, *, counts_rows: bool = True
) -> Int64:
    """Persons with one value left, by attribute that lasts; the parameters as of the kernel."""
    n_told = []
    for a in _list_lasting(plan):
        joined = (workspace.file(CLASS_STARTS, 0).read(), workspace.file(VALUES, a).read())
        n_values = count_lasting_values(classes, ends, *joined, counts_rows)
        n_told.append(int(np.count_nonzero(n_values == 1)))
    return np.array(n_told, dtype=np.int64)


def _join_key_ranges(workspace: Workspace, plan: Plan, n_classes: Sequence[int]) -> None:
    """Write the classes of all key ranges, and their values, one after the other."""
    ranges = [index for index, n in enumerate(n_classes) if n]
    sizes = np.concatenate([workspace.file(CLASS_SIZES, index).read() for index in ranges])
    workspace.new_file(CLASS_STARTS, 0).write(np.append(0, np.cumsum(sizes, dtype=np.int64)))
    for a in _list_lasting(plan):
        pieces = [workspace.file(ROW_VALUES, index, a).read() for index in ranges]
        workspace.new_file(VALUES, a).write_pieces(pieces)


TRACE_TASK = Task("trace", "tracing persons", trace_task, (SIGNATURES, CLASS_SIGNATURES), version=3)


def trace_persons(
    context: PassContext, plan: Plan, n_classes: Sequence[int]
) -> PersonTraces | None:
    """Trace all persons over the classes of the release; None where k counts records.

    Parameters
    ----------
    n_classes : of each key range
    """
    if plan.persons is None:
        return None
    n_persons, workspace = plan.persons.n_persons, context.workspace
    if not plan.persons.n_several:
        return _trace_single_records(workspace, plan, n_classes)
    _join_key_ranges(workspace, plan, n_classes)
    n_traced = max(1, TRACED_ROWS * n_persons // plan.n_records)
    items = [
        TraceInput(first, min(first + n_traced, n_persons), tuple(n_classes))
        for first in range(0, n_persons, n_traced)
    ]
    traced = context.map(TRACE_TASK, items)
    n_told = np.sum([one.told for one in traced], axis=0)
    by_classes = None
    if plan.keeps_persons:
        parts = [one.told_by_classes for one in traced if one.told_by_classes is not None]
        of_classes = _count_equal(_read_signatures(workspace, CLASS_SIGNATURES, len(items)))
        by_classes = _describe_cells(plan, of_classes, np.sum(parts, axis=0))
    sizes = _count_equal(_read_signatures(workspace, SIGNATURES, len(items)))
    cells = _describe_cells(plan, sizes, n_told)
    return PersonTraces(
        n_several=sum(one.n_several for one in traced),
        n_alone=cells.n_alone,
        n_below_k=cells.n_below_k,
        lasting=cells.lasting,
        by_classes=by_classes,
    )


def _trace_single_records(
    workspace: Workspace, plan: Plan, n_classes: Sequence[int]
) -> PersonTraces:
    """Trace persons of one record each: those of a class are told apart by nothing."""
    lasting = _list_lasting(plan)
    sizes, n_told = [np.empty(0, dtype=np.int64)], np.zeros(len(lasting), dtype=np.int64)
    for index, n in enumerate(n_classes):
        if n:
            of_range = workspace.file(CLASS_SIZES, index).read().astype(np.int64)
            sizes.append(of_range)
            ends = np.cumsum(of_range)
            for place, a in enumerate(lasting):
                values = workspace.file(ROW_VALUES, index, a).read()
                has_one = values[ends - of_range] == values[ends - 1]
                n_told[place] += of_range[has_one].sum()
    cells = _describe_cells(plan, np.concatenate(sizes), n_told)
    return PersonTraces(
        n_several=0,
        n_alone=cells.n_alone,
        n_below_k=cells.n_below_k,
        lasting=cells.lasting,
        by_classes=cells if plan.keeps_persons else None,
    )


def _read_signatures(
    workspace: Workspace, artifact: FileArtifact[ArrayFile], n_items: int
) -> UInt64:
    pieces = [workspace.file(artifact, index).read() for index in range(n_items)]
    return np.concatenate(pieces, axis=1)


def _describe_cells(plan: Plan, sizes: Int64, n_told: Int64) -> ClassTraces:
    """Persons by the sizes of the sets that nobody tells apart, and with one value left."""
    names = [plan.confidential[a].column.name for a in _list_lasting(plan)]
    return ClassTraces(
        n_alone=int(sizes[sizes == 1].sum()),
        n_below_k=int(sizes[sizes < plan.k].sum()),
        lasting=tuple(
            LastingValue(name, int(n)) for name, n in zip(names, n_told.tolist(), strict=True)
        ),
    )


def _count_equal(signatures: UInt64) -> Int64:
    """Sizes of the sets of persons whose signatures (2, n) are equal, in any order.

    By their first words, in a third of the time that both take: unless different signatures share
    one.
    """
    high, low = signatures
    sizes: Int64
    sizes, is_shared = measure_runs(np.argsort(high), high, low)
    if is_shared:
        sizes, _ = measure_runs(np.lexsort((low, high)), high, low)
    return sizes
