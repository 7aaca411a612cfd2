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

from tclose.data.key_rows import find_changes
from tclose.kernels.aggregate import group_by_label
from tclose.kernels.class_traces import count_lasting_values
from tclose.model.array_types import Int64
from tclose.model.verification import ClassTraces, LastingValue, PersonTraces
from tclose.passes.compare.keyed_hashes import UInt64
from tclose.passes.persons.person_digest import mix_words
from tclose.passes.plan.plan import PLAN, Plan
from tclose.privacy.class_counts import ClassCounts, count_by_class
from tclose.runtime.artifacts.arrays import ArrayFile
from tclose.runtime.artifacts.artifacts import FileArtifact, PendingFiles, Workspace
from tclose.runtime.pipeline import PassContext
from tclose.runtime.tasks import Task

TRACED_ROWS = 2_000_000  # by a task, about
# Of a key range, int64 (2, rows): whose each row is, and the class, by its place.
PERSON_ROWS = FileArtifact("verify/person-rows", ArrayFile)
# Of a key range of a release of a series, int64 (p, rows): its confidential values, by position.
PERSON_CODES = FileArtifact("verify/person-codes", ArrayFile)
# By attribute, of a key range, int64 (3, pairs): classes, values, rows of both; ascending.
CLASS_VALUES = FileArtifact("verify/class-values", ArrayFile)
# The same of all key ranges, which tasks map, so that it is in memory once: where the values of
# each class begin, int64 (classes + 1,); values, and the rows with each, int64 (pairs,).
VALUE_STARTS = FileArtifact("trace/value-starts", ArrayFile)
VALUES = FileArtifact("trace/values", ArrayFile)
VALUE_COUNTS = FileArtifact("trace/value-counts", ArrayFile)
JOINED_VALUES = VALUE_STARTS, VALUES, VALUE_COUNTS
SIGNATURES = FileArtifact("trace/signatures", ArrayFile)  # uint64 (persons, 2): equal in a cell
# The same of persons in the same classes, however many records they have there.
CLASS_SIGNATURES = FileArtifact("trace/class-signatures", ArrayFile)


def keep_persons(
    plan: Plan, starts: Int64, persons: Int64, codes: Int64, pending: PendingFiles
) -> None:
    """Write what traces need of the classes of a key range; the parameters as in verification."""
    classes = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    pending.new(PERSON_ROWS).write(np.vstack([persons, classes]))
    for a in _list_lasting(plan):
        counts = count_by_class(starts, codes[a])
        pending.new(CLASS_VALUES, a).write(_as_rows(counts))


def _as_rows(counts: ClassCounts) -> Int64:
    return np.vstack([counts.class_of, counts.codes, counts.counts])


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
    ranges = [index for index, n in enumerate(item.n_classes) if n]
    offsets = np.cumsum(item.n_classes) - np.array(item.n_classes)
    pieces = []
    for index in ranges:
        persons, classes = workspace.file(PERSON_ROWS, index).read()
        chosen = (persons >= item.first) & (persons < item.last)
        pieces.append(np.vstack([persons[chosen] - item.first, classes[chosen] + offsets[index]]))
    pairs, ends = _pair_up(np.concatenate(pieces, axis=1), item.last - item.first)
    pending.new(SIGNATURES).write(_sign(pairs, ends))
    n_several = int(np.count_nonzero(np.diff(ends) > 1))
    n_told = _count_told(workspace, plan, pairs, ends)
    if not plan.keeps_persons:
        return TracedPersons(n_several, n_told)
    once = np.vstack([pairs[0], np.ones_like(pairs[1])])
    pending.new(CLASS_SIGNATURES).write(_sign(once, ends))
    return TracedPersons(n_several, n_told, _count_told(workspace, plan, once, ends))


def _count_told(workspace: Workspace, plan: Plan, pairs: Int64, ends: Int64) -> Int64:
    """Persons with one value left, by attribute that lasts; ``pairs``, ``ends``: of `_pair_up`."""
    n_told = []
    for a in _list_lasting(plan):
        joined = [workspace.file(part, a).read() for part in JOINED_VALUES]
        n_values = count_lasting_values(pairs, ends, *joined)
        n_told.append(int(np.count_nonzero(n_values == 1)))
    return np.array(n_told, dtype=np.int64)


def _join_class_values(workspace: Workspace, attribute: int, n_classes: Sequence[int]) -> None:
    """Write the values of the classes of all key ranges one after the other."""
    ranges = [index for index, n in enumerate(n_classes) if n]
    files = [workspace.file(CLASS_VALUES, index, attribute).read() for index in ranges]
    n_values = [
        np.bincount(file[0], minlength=n_classes[index])
        for index, file in zip(ranges, files, strict=True)
    ]
    starts = np.append(0, np.cumsum(np.concatenate(n_values)))
    workspace.new_file(VALUE_STARTS, attribute).write(starts)
    workspace.new_file(VALUES, attribute).write_pieces([file[1] for file in files])
    workspace.new_file(VALUE_COUNTS, attribute).write_pieces([file[2] for file in files])


def _pair_up(rows: Int64, n_persons: int) -> tuple[Int64, Int64]:
    """Classes of each person and her rows there, int64 (2, e); where each person's begin.

    ``rows``: of `PERSON_ROWS`, whose classes ascend.
    """
    order, starts = group_by_label(rows[0], n_persons)
    persons, classes = rows[:, order]
    first = np.flatnonzero(find_changes([persons, classes]))
    counts = np.diff(first, append=persons.size)
    return np.vstack([classes[first], counts]), np.searchsorted(first, starts)


def _sign(pairs: Int64, ends: Int64) -> UInt64:
    """Words that two persons share who have as many rows in the same classes: 128 bits."""
    signatures = np.empty((ends.size - 1, 2), dtype=np.uint64)
    for word in range(2):
        mixed = mix_words(mix_words(pairs[0].astype(np.uint64) + np.uint64(word << 62)))
        mixed = mix_words(mixed ^ pairs[1].astype(np.uint64))
        through = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
        signatures[:, word] = through[ends[1:]] - through[ends[:-1]]
    return signatures


TRACE_TASK = Task("trace", "tracing persons", trace_task, (SIGNATURES, CLASS_SIGNATURES), version=2)


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
    for a in _list_lasting(plan):
        _join_class_values(workspace, a, n_classes)
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
            of_range = np.bincount(workspace.file(PERSON_ROWS, index).read()[1], minlength=n)
            sizes.append(of_range)
            for place, a in enumerate(lasting):
                class_of = workspace.file(CLASS_VALUES, index, a).read()[0]
                has_one = np.bincount(class_of, minlength=n) == 1
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
    return np.concatenate([workspace.file(artifact, index).read() for index in range(n_items)])


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
    """Sizes of the sets of persons whose signatures are equal, in any order.

    By their first words, in a third of the time that both take: unless different signatures share
    one.
    """
    high, low = np.ascontiguousarray(signatures.T).view(np.int64)
    order = np.argsort(high)
    is_new = find_changes([high[order], low[order]])
    if np.count_nonzero(is_new) != np.count_nonzero(find_changes([high[order]])):
        order = np.lexsort((low, high))
        is_new = find_changes([high[order], low[order]])
    return np.diff(np.flatnonzero(is_new), append=order.size)
