"""Records of each value in each region, counted partition by partition before classes are made."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tclose.model.array_types import Int64
from tclose.passes.encode.encode_task import RECORDS
from tclose.passes.microaggregate.gather_region import RegionInput, map_row_ranges
from tclose.passes.microaggregate.representatives import represented
from tclose.passes.plan.plan import PLAN, Plan
from tclose.passes.plan.plan_files import LACKS, filled_by_class, record_type
from tclose.runtime.artifacts.artifacts import PendingFiles, Workspace
from tclose.runtime.tasks import Task

MOST_ITEMS = 8  # each of which has the counts of all regions


@dataclass(frozen=True, eq=False)
class CountInput:
    """Partitions ``first`` to ``stop`` - 1, and all regions."""

    first: int
    stop: int
    regions: tuple[RegionInput, ...]


def share_partitions(regions: list[RegionInput]) -> list[CountInput]:
    """Share the partitions among a few items."""
    n_partitions = regions[0].shape[0]
    n_items = min(n_partitions, MOST_ITEMS)
    ends = [n_partitions * i // n_items for i in range(n_items + 1)]
    return [CountInput(first, stop, tuple(regions)) for first, stop in pairwise(ends)]


def count_task(workspace: Workspace, item: CountInput, _: PendingFiles) -> tuple[Int64, ...]:
    """Count the records of each region that have each value, of partitions.

    Returns
    -------
    int64 (regions, v) of each quasi-identifier that is released as representatives
    """
    plan = workspace.load_shared(PLAN)
    rows = map_row_ranges(workspace, item.regions)
    n_regions, places = len(item.regions), represented(plan)
    counts = [np.zeros((n_regions, _count_all(plan, j)), dtype=np.int64) for j in places]
    for partition in range(item.first, item.stop):
        region_of = _name_regions([one[:, partition] for one in rows])
        records = workspace.file(RECORDS, partition).read(
            record_type(plan), np.zeros(1, np.int64), np.array([region_of.size])
        )
        for place, j in enumerate(places):
            shape = counts[place].shape
            codes = plan.encodings[j].find_categories(records[f"q{j}"])
            cells = region_of * shape[1] + codes
            if j in filled_by_class(plan):
                cells = cells[records[f"{LACKS}{j}"] == 0]
            counts[place] += np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    return tuple(counts)


def _count_all(plan: Plan, j: int) -> int:
    categories = plan.encodings[j].categories
    assert categories is not None
    return len(categories)


def _name_regions(ends: list[Int64]) -> Int64:
    """The region of each row of a partition: int64 (n,).

    ``ends``: of each region where its rows start and stop, int64 (2, S * cells); each row is in one
    region.
    """
    starts, stops = np.concatenate(ends, axis=1)
    order = np.argsort(starts, kind="stable")
    region_of = np.repeat(np.arange(len(ends)), [one.shape[1] for one in ends])
    return np.repeat(region_of[order], (stops - starts)[order])


COUNT_TASK = Task("count", "counting by region", count_task)
