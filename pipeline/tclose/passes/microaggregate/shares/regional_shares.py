"""Shares over regions: what each releases of a value, so that all of them together keep it.

To release as many records of a value as have it can be dear in one region and cheap in another, and
what one has too few of another may have too many of. So before any region decides, some classes of
all are apportioned together as those of one region are. By how many records those of a region then
release a value more often than their records have it, so many more is the region to release, in
proportion; and of what representatives may lose it gets what its sampled classes lose.

Of a value that is rare a region's records may be less than a class. So regions are taken in the
order of the plan, and each gets whole classes of it, whenever the records up to there make up for
one more; the last one that has the value gets what is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose.data.keys import Encoding
from tclose.methods.clustering_problem import group_classes
from tclose.model.array_types import Float64, Int64
from tclose.passes.microaggregate.region_records import RegionRecords
from tclose.passes.microaggregate.shares.representatives import (
    MORE_LOSS,
    Allotment,
    Representatives,
    ValueChoices,
    aggregate_others,
    find_choices,
    keep_shares,
    release_cheapest,
    represented,
)
from tclose.passes.plan.plan import Plan, Region

SAMPLED_CLASSES = 16_384  # of all regions together, or one more of each
APART = 0.003  # total variation of what one region releases from what it is to release
CHANCE = 0.99  # of what may be lost is shared out: what classes lose is known of a sample only
RARE = 10  # classes of each region, on average, below which a value is given out in whole classes


@dataclass(frozen=True, eq=False)
class SampledClasses:
    """One in so many of a region's classes.

    ``counts``: of each quasi-identifier that is released as representatives, the region's records
    of each value, int64 (v,); ``columns``: of the same, the values of the sampled classes;
    ``other_loss``: what these lose of the other quasi-identifiers; ``times``: as many records as
    they have the region has.
    """

    counts: tuple[Int64, ...]
    columns: tuple[ValueChoices, ...]
    other_loss: float
    times: float


def count_steps(plan: Plan, regions: Sequence[Region]) -> int:
    """Of how many classes one is sampled; 0 where regions have nothing to share."""
    if len(regions) == 1 or not represented(plan):
        return 0
    return -(-sum(region.n_clusters for region in regions) // SAMPLED_CLASSES)


def sample_classes(
    labels: Int64, records: RegionRecords, plan: Plan, step: int
) -> SampledClasses | None:
    """Sample the clusters of a region, int64 (n,): one in ``step``, none if that is 0."""
    if not step:
        return None
    rows = np.flatnonzero(labels % step == 0)
    sampled = labels[rows] // step
    order, starts = group_classes(sampled)
    by_class = rows[order], starts
    everything = np.arange(labels.size)
    counts, columns = [], []
    for j in represented(plan):
        encoding, keys = plan.encodings[j], records.keys[j]
        known = records.gaps.find_known(j, everything)
        counts.append(encoding.count_categories(keys[known]))
        columns.append(find_choices(encoding, keys, records.gaps.keep_known(j, by_class)))
    _, other_loss = aggregate_others(records, plan, by_class)
    return SampledClasses(tuple(counts), tuple(columns), other_loss, labels.size / rows.size)


def allot_shares(
    plan: Plan, samples: Sequence[SampledClasses], sizes: Sequence[float]
) -> list[Allotment]:
    """Allot to each region what it has to release, and what it may lose for that.

    ``sizes``: of each region, the size that its classes are planned to have.
    """
    columns = [
        _Column.join(plan.encodings[j], [sample.columns[place] for sample in samples])
        for place, j in enumerate(represented(plan))
    ]
    losses = np.array([sample.other_loss for sample in samples]) + sum(
        column.sum_costs() for column in columns
    )
    other_loss = sum(sample.other_loss for sample in samples)
    before = [column.sum_costs() for column in columns]
    keep_shares([column.chosen for column in columns], other_loss)
    spent = np.zeros(len(samples))
    for column, cost in zip(columns, before, strict=True):
        if not column.chosen.was_asked:
            spent += column.sum_costs() - cost
    spare = max(0.0, CHANCE * MORE_LOSS * losses.sum() - spent.sum())
    may_lose = spent + spare * losses / max(losses.sum(), 1.0)
    more_loss = np.divide(may_lose, losses, out=np.zeros_like(losses), where=losses > 0)
    times = np.array([sample.times for sample in samples])
    wanted = [
        _share_out(
            np.array([sample.counts[place] for sample in samples]),
            column.count_more() * times[:, np.newaxis],
            sizes,
        )
        for place, column in enumerate(columns)
    ]
    return [
        Allotment(tuple(of_column[i] for of_column in wanted), APART, float(more_loss[i]))
        for i in range(len(samples))
    ]


@dataclass(frozen=True, eq=False)
class _Column:
    """One quasi-identifier of the sampled classes of all regions, region by region.

    ``counts`` int64 (regions, v): records of the sampled classes that have each value;
    ``region_of`` int64 (c,): of each class.
    """

    chosen: Representatives
    counts: Int64
    region_of: Int64

    @staticmethod
    def join(encoding: Encoding, parts: Sequence[ValueChoices]) -> "_Column":
        region_of = np.repeat(np.arange(len(parts)), [part.sizes.size for part in parts])
        counts = np.array([part.counts for part in parts])
        return _Column(release_cheapest(encoding, ValueChoices.join(parts)), counts, region_of)

    def sum_costs(self) -> Float64:
        """The loss of the classes of each region: float64 (regions,)."""
        classes = self.chosen.classes
        costs = classes.costs[classes.choice] / self.chosen.unit
        return np.bincount(self.region_of, costs, len(self.counts)).astype(np.float64)

    def count_more(self) -> Int64:
        """Records by which each value is released more often than it is there: (regions, v)."""
        classes, shape = self.chosen.classes, self.counts.shape
        cells = self.region_of * shape[1] + classes.values[classes.choice]
        released = np.bincount(cells, classes.sizes, shape[0] * shape[1]).reshape(shape)
        return released.astype(np.int64) - self.counts


def _share_out(counts: Int64, more: Float64, sizes: Sequence[float]) -> list[Int64]:
    """Records that each region has to release of each value: int64 (v,) of each.

    As many of each value as there are in all, and never less than none: what regions are to release
    more is made as much as what others are to release less.

    Parameters
    ----------
    counts : int64 (regions, v), records that have each value
    more : float64 (regions, v), how many more each region is to release
    """
    whole = np.array(apportion_regions(counts, sizes))
    size = counts.sum() / max(1.0, float((counts.sum(axis=1) / np.array(sizes)).sum()))
    more = np.where(counts.sum(axis=0) < RARE * size * len(counts), 0.0, more)
    far = np.abs(more)
    more = more - far * (more.sum(axis=0) / np.maximum(far.sum(axis=0), 1.0))
    room = np.divide(whole, -more, out=np.full(more.shape, np.inf), where=more < 0)
    up_to = np.cumsum(whole + more * np.minimum(1.0, room.min(axis=0)), axis=0)
    return list(np.diff(np.rint(up_to).astype(np.int64), axis=0, prepend=0))


def apportion_regions(counts: Int64, sizes: Sequence[float]) -> list[Int64]:
    """Whole classes of each value for each region, as far as there are records of it in all.

    Parameters
    ----------
    counts : int64 (regions, v), records that have each value
    sizes : of each region, the size that its classes are planned to have

    Returns
    -------
    int64 (v,) of each region
    """
    up_to = np.cumsum(counts, axis=0)
    n_classes = counts.sum(axis=1) / np.array(sizes)
    size = max(1.0, float(up_to[-1].sum() / n_classes.sum()))
    whole = np.rint(np.rint(up_to / size) * size).astype(np.int64)
    whole = np.maximum.accumulate(np.minimum(whole, up_to[-1]), axis=0)
    whole = np.where(up_to == up_to[-1], up_to[-1], whole)
    return list(np.diff(whole, axis=0, prepend=0))
