"""The clusters of a region, whose records are gathered from the partitions."""

from dataclasses import dataclass, replace

import numpy as np

from tclose.passes.microaggregate.gather_region import (
    GatheredRegion,
    RegionInput,
    gather_region,
)
from tclose.passes.microaggregate.region_clusters import cluster_region
from tclose.passes.microaggregate.search.compared_searches import RegionClusters
from tclose.passes.microaggregate.shares.regional_shares import SampledClasses, sample_classes
from tclose.passes.microaggregate.unions.cluster_persons import cluster_persons
from tclose.passes.microaggregate.unions.cluster_series import SeriesUnits, cluster_series
from tclose.passes.persons.person_values import load_person_demand
from tclose.passes.plan.plan import PLAN, Plan
from tclose.passes.series.link_persons import SERIES, SeriesLink
from tclose.passes.series.series_units import EARLIER, UNITS
from tclose.runtime.artifacts.arrays import ArrayFile
from tclose.runtime.artifacts.artifacts import FileArtifact, PendingFiles, Workspace
from tclose.runtime.tasks import Task

LABELS = FileArtifact("microaggregate/labels", ArrayFile)


@dataclass(frozen=True, eq=False)
class ClusteredRegion:
    """The result of clustering a region.

    ``clusters``: without labels, which are in a file: int32 (n,), in the order in which a region's
    records are gathered; ``sample``: of its classes, where regions have shares to share.
    """

    clusters: RegionClusters
    sample: SampledClasses | None = None

    def put_labels(self, file: ArrayFile) -> RegionClusters:
        """The clusters with their labels."""
        return replace(self.clusters, labels=file.read().astype(np.int64))


def cluster_task(workspace: Workspace, item: RegionInput, pending: PendingFiles) -> ClusteredRegion:
    """Cluster the records of a region."""
    plan = workspace.load_shared(PLAN)
    gathered = gather_region(workspace, plan, item, along=False)
    clusters = _cluster(workspace, plan, gathered)
    pending.new(LABELS).write(clusters.labels.astype(np.int32))
    sample = sample_classes(clusters.labels, gathered.records, plan, item.sample_step)
    return ClusteredRegion(clusters.without_labels(), sample)


def _cluster(workspace: Workspace, plan: Plan, gathered: GatheredRegion) -> RegionClusters:
    demand = load_person_demand(workspace)
    series = workspace.load_shared(SERIES)
    if not series:
        cluster = cluster_persons if plan.keeps_persons else cluster_region
        return cluster(gathered.records, plan, gathered.distributions, demand)
    return cluster_series(
        gathered.records,
        plan,
        gathered.distributions,
        demand,
        series[0].made_k,
        _load_units(workspace, series[0]),
    )


def _load_units(workspace: Workspace, series: SeriesLink) -> SeriesUnits | None:
    """Load the units that have to stay together; None in the first release."""
    if not series.window.releases:
        return None
    units = np.asarray(workspace.file(UNITS, 0).read())
    if not series.united_k:
        return SeriesUnits(units, None, 0, series.limits)
    placed = np.asarray(workspace.file(EARLIER, 0).read())
    return SeriesUnits(units, placed, series.united_k, series.limits)


MICROAGGREGATE_TASK = Task("microaggregate", "microaggregating", cluster_task, (LABELS,), version=7)
