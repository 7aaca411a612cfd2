"""Coarse trees for the release partitions of a plan, which order the records of each by place."""

from dataclasses import replace

from tclose.passes.grow.grow_task import GROW_TASK, GrowInput
from tclose.passes.plan.plan import DRAFT_PLAN, Plan
from tclose.passes.plan.release_partitions import place_bins
from tclose.passes.summarise.input_summary import InputSummary
from tclose.runtime.pipeline import PassContext

MAX_TASKS = 16  # each reads the whole sample


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
