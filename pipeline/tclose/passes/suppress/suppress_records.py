"""The choice of isolated records to be left out, before anything is counted.

A class of k records takes a record that has no near ones far from where it was, and the others of
its class with it. Who is isolated is decided by quasi-identifiers alone: what is left out says
nothing of confidential values beyond what quasi-identifiers say. A record is left out as others are
that a release cannot have: it is read without a value that is needed, and so is not complete.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.encodings import make_encoding
from tclose.data.files.input_partitions import leave_out
from tclose.data.keys import Encoding, Keys, to_keys
from tclose.data.unusable_values import find_problems
from tclose.data.value_counts import TableSummary
from tclose.errors import PolicyError
from tclose.model.array_types import Float64
from tclose.model.input_pieces import Partition
from tclose.passes.plan.class_sizes import choose_class_size
from tclose.passes.summarise.input_summary import InputSummary, grow_taxonomies
from tclose.passes.summarise.records import Source
from tclose.passes.suppress.isolation_task import (
    ISOLATE_TASK,
    MEASURE_TASK,
    NEAR_SAMPLE,
    NEAR_TASK,
    POINTS,
    IsolatedRecords,
    NearInput,
    PointsInput,
    PointTree,
    Search,
    plant_tree,
)
from tclose.policy.policy import Policy
from tclose.releases.manifest.plan_document import PlannedSuppression
from tclose.runtime.artifacts.artifacts import Artifact
from tclose.runtime.pipeline import PassContext
from tclose.runtime.tasks import merge_in_tree

NEAR_RECORDS = 32_768  # that neighbours are looked for among
POINTS_AT_ONCE = 2_048  # of these, whose own neighbours a task looks for
# What is left out is farther from its neighbour than those that stay, in squares and on average.
WORTH = 4.0


@dataclass(frozen=True)
class Suppression:
    """The records that are left out as isolated ones.

    ``n_complete``: records without a missing value, of which ``n_left_out`` are left out; ``most``:
    that could have been; ``n_sampled``: records that neighbours were looked for among;
    ``remaining``: of the sample's mean squared distance to the neighbour, the share that is left.
    """

    n_complete: int
    n_left_out: int
    most: int
    n_sampled: int
    remaining: float


def plan_suppression(suppressions: tuple[Suppression, ...]) -> PlannedSuppression | None:
    """Describe for a plan the records that are left out; None where none could be."""
    if not suppressions:
        return None
    one = suppressions[0]
    return PlannedSuppression(
        left_out=one.n_left_out,
        most=one.most,
        of=one.n_complete,
        sampled=one.n_sampled,
        remaining=float(f"{one.remaining:.3g}"),
    )


SUPPRESSION = Artifact("suppression", tuple[Suppression, ...])  # one, or none if none is asked


def suppress_records(
    context: PassContext, source: Source, partitions: tuple[Partition, ...]
) -> tuple[Source, tuple[Partition, ...], tuple[Suppression, ...]]:
    """The source and its partitions without the records that are left out; how many these are.

    Data that cannot be used are passed over: they are refused where all are summarised.

    Raises
    ------
    PolicyError
        No column is needed of every record.
    """
    policy = context.run.policy
    if policy.suppress is None:
        return source, partitions, ()
    hidden = _choose_hidden(source)
    share = min(1.0, NEAR_RECORDS / sum(partition.n_records for partition in partitions))
    sizes = [partition.n_records for partition in partitions]
    items = [NearInput(partition, source, share) for partition in partitions]
    table = merge_in_tree(TableSummary.merge, context.map(NEAR_TASK, items, sizes=sizes))
    if find_problems(table, source.columns, policy.missing) or table.n_complete < 2:
        return source, partitions, ()
    sample = pa.concat_tables(
        [context.workspace.file(NEAR_SAMPLE, i).read() for i in range(len(partitions))]
    ).combine_chunks()
    if len(sample) < 2:
        return source, partitions, ()
    is_relative = policy.method.has_relative_losses
    encodings = _encode(source, table, sample, is_relative=is_relative)
    tree = plant_tree(encodings, sample, _choose_neighbour(policy, table, len(sample)))
    sampled = _measure_sample(context, tree)
    isolated = _find_isolated(context, source, partitions, sampled.squares, table.n_complete)
    isolated = isolated.take_farthest(count_worth(isolated, sampled))
    if isolated.positions.size < policy.privacy.k:  # fewer than a class: who they are could be told
        isolated = isolated.take_farthest(0)
    counted = Suppression(
        table.n_complete,
        isolated.positions.size,
        floor(policy.suppress.share * table.n_complete),
        len(sample),
        _share_left(sampled.squares, ~np.isin(sampled.positions, isolated.positions)),
    )
    source = replace(source, reading=replace(source.reading, hidden=hidden))
    return source, leave_out(partitions, np.sort(isolated.positions)), (counted,)


def _choose_hidden(source: Source) -> str:
    """Choose the column that is made missing in the records that are left out."""
    for column in source.checked:
        preparation = column.attribute.preparation
        if preparation is None or not preparation.has_no_gaps:
            return column.name
    raise PolicyError(
        "suppress: all columns that a record needs are filled by missing, so that none could be "
        "left out; take missing out of one, or suppress"
    )


def _encode(
    source: Source, table: TableSummary, sample: pa.Table, *, is_relative: bool
) -> tuple[Encoding, ...]:
    """Encodings of the quasi-identifiers, with their scales measured on the sample."""
    grown = grow_taxonomies(InputSummary(source, [], table)).source
    scaled = set(source.scaled)

    def sort_keys(name: str) -> Keys:
        keys: Keys = to_keys(
            sample[name].combine_chunks(), name
        ).copy()  # of Arrow: not to be written
        keys.sort()
        return keys

    return tuple(
        make_encoding(
            c,
            table.columns[c.name],
            sort_keys(c.name) if c.name in scaled else None,
            has_relative_loss=is_relative,
        )
        for c in grown.quasi
    )


def _choose_neighbour(policy: Policy, table: TableSummary, n_sampled: int) -> int:
    """Return the rank of the neighbour that is looked for among fewer records than there are."""
    limits = [a.max_emd for a in policy.resolve_attributes() if a.max_emd is not None]
    size = choose_class_size(table.n_complete, policy.privacy.k, limits).adjusted
    return min(n_sampled - 1, max(1, ceil((size - 1) * n_sampled / table.n_complete)))


def _measure_sample(context: PassContext, tree: PointTree) -> IsolatedRecords:
    """Return the sampled records, in the order of the input, and how far each is."""
    context.write(POINTS, tree)
    n_points = tree.positions.size
    cuts = range(0, n_points, POINTS_AT_ONCE)
    sizes = [min(POINTS_AT_ONCE, n_points - start) for start in cuts]
    n_threads = context.engine.threads_per_task(len(sizes))
    items = [PointsInput(a, a + n, n_threads) for a, n in zip(cuts, sizes, strict=True)]
    measured = context.map(MEASURE_TASK, items, sizes=sizes)
    positions = np.concatenate([one.positions for one in measured])
    squares = np.concatenate([one.squares for one in measured])
    order = np.argsort(positions)  # sums of squares are the same in the same order
    return IsolatedRecords(positions[order], squares[order])


def _find_isolated(
    context: PassContext,
    source: Source,
    partitions: Sequence[Partition],
    squares: Float64,
    n_complete: int,
) -> IsolatedRecords:
    """The farthest of all records, as many as may be left out at most."""
    policy = context.run.policy
    assert policy.suppress is not None
    most = floor(policy.suppress.share * n_complete)
    least = _find_least(squares, float(policy.suppress.share))
    search = Search(least, most, context.engine.threads_per_task(len(partitions)))
    parts = context.map(
        ISOLATE_TASK,
        [(partition, source, search) for partition in partitions],
        sizes=[partition.n_records for partition in partitions],
    )
    return IsolatedRecords(
        np.concatenate([one.positions for one in parts]),
        np.concatenate([one.squares for one in parts]),
    ).take_farthest(most)


def _find_least(squares: Float64, share: float) -> float:
    """The square that a record has to be above to be looked at: one of the farthest, and far.

    The mean of those that stay is lowest with as many left out as may be. Twice as many of the
    sample are looked at as may be left out, so that there are enough of them in the table, too.
    """
    ascending = np.sort(squares)
    staying = ascending[: ascending.size - floor(share * ascending.size)]
    farthest = ascending[max(0, ascending.size - 1 - ceil(2 * share * ascending.size))]
    return max(WORTH * float(staying.mean()), float(farthest))


def count_worth(isolated: IsolatedRecords, sample: IsolatedRecords) -> int:
    """Count those found, farthest first, that are far from their neighbour without the others.

    The most of whom each is: more than `WORTH` times as far as those of the sample that stay then
    are on average. These are the nearest of the sample, as those found are the farthest of all.
    """
    n_staying = sample.squares.size - np.cumsum(np.isin(isolated.positions, sample.positions))
    means = np.cumsum(np.sort(sample.squares))[n_staying - 1] / n_staying
    far = np.flatnonzero(isolated.squares > WORTH * means)
    return int(far[-1]) + 1 if far.size else 0


def _share_left(squares: Float64, staying: NDArray[np.bool_]) -> float:
    """Return the share of the sample's mean square that is left by those that stay."""
    return float(squares[staying].mean() / squares.mean()) if squares.any() else 1.0
