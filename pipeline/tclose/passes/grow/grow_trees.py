"""Coarse trees of release partitions, which order the records of each by place.

They are grown from the sample that pass 1 has drawn.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tclose.methods.scaling import scale_for_search
from tclose.model.array_types import Int64
from tclose.passes.plan.coarse_tree import CoarseTree, sample_leaves
from tclose.passes.plan.plan import DRAFT_PLAN, Plan, ReleasePartition
from tclose.passes.plan.plan_files import confidential_codes, load_distributions
from tclose.passes.plan.release_partitions import place_bins
from tclose.passes.summarise.input_summary import InputSummary
from tclose.passes.summarise.records import JOINTS, split_release_partitions
from tclose.passes.summarise.summarise_task import SAMPLE
from tclose.privacy.joint import append_joint
from tclose.runtime.artifacts.artifacts import PendingFiles, Workspace
from tclose.runtime.pipeline import PassContext
from tclose.runtime.tasks import Task

MAX_TASKS = 16  # each reads the whole sample


@dataclass(frozen=True)
class GrowInput:
    """Indices of the release partitions whose trees are grown, and of input pieces with samples."""

    release_partitions: tuple[int, ...]
    n_partitions: int


def grow_task(workspace: Workspace, item: GrowInput, _: PendingFiles) -> list[CoarseTree]:
    """Grow a tree for each of the release partitions."""
    plan = workspace.load_shared(DRAFT_PLAN)
    sample = _read_sample(workspace, item.n_partitions)
    rows = split_release_partitions(sample, tuple(e.column.name for e in plan.partition_columns))
    trees = []
    for release_partition in (plan.release_partitions[i] for i in item.release_partitions):
        of_partition = sample.take(
            pa.array(rows.get(release_partition.key, np.empty(0, dtype=np.int64)))
        )
        trees.append(_grow(workspace, plan, release_partition, of_partition))
    return trees


def _read_sample(workspace: Workspace, n_partitions: int) -> pa.Table:
    samples = [workspace.file(SAMPLE, index).read() for index in range(n_partitions)]
    return pa.concat_tables(samples).combine_chunks()


def _grow(
    workspace: Workspace, plan: Plan, release_partition: ReleasePartition, sample: pa.Table
) -> CoarseTree:
    keys = [e.encode(sample[e.column.name].combine_chunks()) for e in plan.encodings]
    scaled = scale_for_search(list(plan.encodings), keys)
    codes = _stack_codes(workspace, plan, sample)
    of_primary = codes[plan.subset_attribute] if len(codes) else np.zeros(len(sample), np.int64)
    cells = (
        release_partition.cells.find(codes, plan.subset_attribute),
        release_partition.cells.n_cells,
    )
    return sample_leaves(
        release_partition.subsets,
        of_primary,
        scaled,
        release_partition.n_grown,
        cells,
        is_balanced=plan.method.cuts_by_subsets,
    )


def _stack_codes(workspace: Workspace, plan: Plan, sample: pa.Table) -> Int64:
    released = plan.confidential[: plan.n_released]
    pairs = zip(released, load_distributions(workspace, plan), strict=False)
    codes = np.array([confidential_codes(sample, *pair) for pair in pairs], dtype=np.int64)
    codes = codes.reshape(len(released), len(sample))
    return append_joint(codes, workspace.load_shared(JOINTS))


GROW_TASK = Task("grow", "cutting regions", grow_task)


def grow_trees(context: PassContext, summary: InputSummary, plan: Plan) -> Plan:
    """Return the plan with trees for release partitions of several regions; others have a leaf."""
    large = [
        i
        for i, release_partition in enumerate(plan.release_partitions)
        if release_partition.n_grown > 1
    ]
    if not large or summary.source.sample_share <= 0:
        return plan
    context.write(DRAFT_PLAN, plan)
    n_tasks = min(len(large), MAX_TASKS)
    n_partitions = len(summary.pieces)
    items = [GrowInput(tuple(large[i::n_tasks]), n_partitions) for i in range(n_tasks)]
    release_partitions = list(plan.release_partitions)
    grown = context.map(GROW_TASK, items)
    for item, trees in zip(items, grown, strict=True):
        for index, tree in zip(item.release_partitions, trees, strict=True):
            release_partitions[index] = replace(release_partitions[index], tree=tree)
    return replace(plan, release_partitions=place_bins(release_partitions))
