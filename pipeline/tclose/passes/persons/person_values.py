"""Confidential values by the records that their persons have: the table over persons.

A person weighs one and shares it among her records, so of every value it is counted how many
records of persons with one, two, ... records have it. Counts are exact, and merge.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tclose.model.array_types import Int64
from tclose.model.distribution import Distribution
from tclose.passes.persons.person_digest import WORD, digest_persons
from tclose.passes.persons.person_keys import merge_key_counts
from tclose.passes.plan.plan import PLAN, Plan
from tclose.passes.plan.plan_files import load_distributions
from tclose.privacy.person_closeness import (
    PersonDemand,
    PersonDistribution,
    weigh_persons,
    weigh_values,
    with_tree,
)
from tclose.runtime.artifacts.arrays import ArrayFile, DistributionFile
from tclose.runtime.artifacts.artifacts import FileArtifact, PendingFiles, Workspace
from tclose.runtime.pipeline import PassContext
from tclose.runtime.tasks import Task

MERGED_VALUES = 500_000  # by a task
# By attribute, int64 (3, e): values' positions, records of a person, records of both; ascending.
PERSON_VALUES = FileArtifact("encode/person-values", ArrayFile)  # of a partition
MERGED_PERSON_VALUES = FileArtifact("weigh/person-values", ArrayFile)  # of a range of values
VALUE_WEIGHTS = FileArtifact("weigh/value-weights", ArrayFile)  # of these values: int64 (v,)
PERSON_SHARES = FileArtifact("weigh/person-shares", DistributionFile)  # by attribute
PERSON_DIGEST = FileArtifact("encode/person-digest", ArrayFile)  # of a partition: uint64 (1,)


def count_person_values(codes: Int64, n_records: Int64) -> list[Int64]:
    """Content of `PERSON_VALUES` for a partition.

    Parameters
    ----------
    codes : int64 (p, n): confidential values as positions in their distributions
    n_records : int64 (n,): of the person of each record, in the table
    """
    base = int(n_records.max(initial=0)) + 1
    counted = (np.unique(values * base + n_records, return_counts=True) for values in codes)
    return [np.vstack([pairs // base, pairs % base, counts]) for pairs, counts in counted]


@dataclass(frozen=True)
class WeighInput:
    """A range of an attribute's values, by their positions, of so many partitions and persons."""

    attribute: int
    first: int
    last: int
    n_partitions: int
    n_persons: int


def weigh_task(workspace: Workspace, item: WeighInput, pending: PendingFiles) -> int:
    """Merge the counts of a range of values, and weigh these; how many counts there are."""
    pieces: list[Int64] = []
    for partition in range(item.n_partitions):
        rows = workspace.file(PERSON_VALUES, partition, item.attribute).read()
        start, stop = np.searchsorted(rows[0], [item.first, item.last])
        pieces.append(rows[:, start:stop])
    merged: Int64 = merge_key_counts(np.concatenate(pieces, axis=1))
    pending.new(MERGED_PERSON_VALUES, item.attribute).write(merged)
    weights = weigh_values(merged, item.n_persons, item.first, item.last)
    pending.new(VALUE_WEIGHTS, item.attribute).write(weights)
    return int(merged.shape[1])


WEIGH_TASK = Task(
    "weigh", "weighing persons", weigh_task, (MERGED_PERSON_VALUES, VALUE_WEIGHTS), version=2
)


def merge_person_values(context: PassContext, plan: Plan, n_partitions: int) -> None:
    """Merge the counts of all partitions, and keep the table over persons made of them."""
    assert plan.persons is not None
    tables = load_distributions(context.workspace, plan)
    context.map(WEIGH_TASK, _list_ranges(tables, n_partitions, plan.persons.n_persons))
    weights = _read_ranges(context.workspace, tables, VALUE_WEIGHTS)
    for a, entries in enumerate(_read_ranges(context.workspace, tables, MERGED_PERSON_VALUES)):
        of_values = np.concatenate(weights[a])
        weighed = weigh_persons(tables[a], plan.persons.n_persons, entries, of_values)
        context.workspace.new_file(PERSON_SHARES, a).write(weighed.shares)


def _list_ranges(
    tables: Sequence[Distribution], n_partitions: int, n_persons: int
) -> list[WeighInput]:
    return [
        WeighInput(a, first, last, n_partitions, n_persons)
        for a, table in enumerate(tables)
        for first, last in pairwise(
            [*range(0, table.values.size, MERGED_VALUES), table.values.size]
        )
    ]


def write_digest(persons: Int64, codes: Int64, file: ArrayFile) -> None:
    """Keep the digest of a partition's persons and their values: see `digest_persons`."""
    file.write(np.array([digest_persons(persons, codes)], dtype=np.uint64))


def sum_digests(workspace: Workspace, n_partitions: int) -> int:
    """The digest of all partitions' persons."""
    digests = (workspace.file(PERSON_DIGEST, i).read()[0] for i in range(n_partitions))
    return sum(map(int, digests)) % WORD


def load_person_demand(workspace: Workspace) -> PersonDemand | None:
    """Limits on classes over persons; None where every record is its own person's."""
    plan = workspace.load_shared(PLAN)
    if plan.persons is None:
        return None
    tables = load_distributions(workspace, plan)
    weighed = []
    of_tables = _read_ranges(workspace, tables, MERGED_PERSON_VALUES)
    for a, (rows, entries) in enumerate(zip(tables, of_tables, strict=True)):
        shares = with_tree(workspace.file(PERSON_SHARES, a).read(), rows)
        weighed.append(PersonDistribution(rows, plan.persons.n_persons, entries, shares))
    return PersonDemand(plan.k, plan.verification_limits, tuple(weighed))


def _read_ranges(
    workspace: Workspace, tables: Sequence[Distribution], artifact: FileArtifact[ArrayFile]
) -> list[tuple[Int64, ...]]:
    """Of each attribute what tasks wrote, range by range of its values, mapped from disk."""
    ranges: list[tuple[Int64, ...]] = [() for _ in tables]
    for index, item in enumerate(_list_ranges(tables, 0, 0)):
        ranges[item.attribute] += (workspace.file(artifact, index, item.attribute).read(),)
    return ranges
