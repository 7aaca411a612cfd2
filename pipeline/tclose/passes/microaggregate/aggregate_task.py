"""The values that the clusters of a region release, and its classes on disk."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tclose.data.keys import Keys
from tclose.model.array_types import Int64
from tclose.passes.microaggregate.class_files import (
    CLASS_CODES,
    CLASS_PASSTHROUGH,
    CLASSES,
    StoredClasses,
)
from tclose.passes.microaggregate.cluster_task import LABELS, ClusteredRegion
from tclose.passes.microaggregate.gather_region import (
    GatheredRegion,
    RegionInput,
    gather_region,
)
from tclose.passes.microaggregate.losses import Losses
from tclose.passes.microaggregate.region_classes import RegionClasses, release_region
from tclose.passes.microaggregate.search.rounds import Round
from tclose.passes.microaggregate.shares.representatives import Allotment
from tclose.passes.microaggregate.unions.alike_classes import has_returning, hash_keys, unite_alike
from tclose.passes.persons.person_values import load_person_demand
from tclose.passes.plan.plan import PLAN, Plan, Region
from tclose.passes.plan.plan_files import (
    PERSON,
    POSITION,
    key_encodings,
)
from tclose.runtime.artifacts.artifacts import Artifact, PendingFiles, Workspace
from tclose.runtime.tasks import Task

SPLITTERS_PER_REGION = 64
NO_HASHES = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class RegionResult:
    """The result of microaggregating a region.

    ``splitters``: some of its class keys, ascending, the first and the last among them;
    ``class_type``: what `read_key_range` reads them by;
    ``levels``: of each quasi-identifier, where levels were chosen for the region;
    ``search_seconds``: as in `RegionClasses`; ``hashes`` int64 (c,): of the class keys, where
    persons have several records; ``united``: as in the input.
    """

    n_records: int
    n_classes: int
    n_clusters: int
    n_repaired: int
    losses: Losses
    rounds: tuple[Round, ...]
    splitters: list[tuple[Any, ...]]
    class_type: np.dtype
    levels: tuple[int, ...] | None = None
    search_seconds: float = 0.0
    hashes: Int64 = field(default_factory=lambda: NO_HASHES)
    united: tuple[tuple[int, ...], ...] = ()


REGIONS = Artifact("regions", list[Region])
CLASS_TYPES = Artifact("class-types", list[np.dtype])
REGION_RESULTS = Artifact("region-results", list[RegionResult], version=7)


@dataclass(frozen=True, eq=False)
class AggregateInput:
    """A region that is clustered, and what it has to release; by default what its records have.

    ``united``: step by step, positions of classes that are united with near ones and released anew.
    """

    region: RegionInput
    clustered: ClusteredRegion
    allotment: Allotment | None = None
    united: tuple[tuple[int, ...], ...] = ()


def aggregate_task(
    workspace: Workspace, item: AggregateInput, pending: PendingFiles
) -> RegionResult:
    """Make classes of the clusters of a region; they leave in the order of their keys."""
    plan = workspace.load_shared(PLAN)
    gathered = gather_region(workspace, plan, item.region)
    region = item.region.region
    clusters = item.clustered.put_labels(workspace.file(LABELS, region.name))
    demand = load_person_demand(workspace)
    classes = release_region(clusters, gathered.records, plan, item.allotment, demand)
    for positions in item.united:
        assert demand is not None
        clusters = unite_alike(
            (clusters, classes), positions, gathered.records, plan, gathered.distributions, demand
        )
        classes = release_region(clusters, gathered.records, plan, item.allotment, demand)
    result = _write_classes(plan, region, gathered, classes, pending)
    return replace(result, united=item.united)


def _write_classes(
    plan: Plan,
    region: Region,
    gathered: GatheredRegion,
    clustered: RegionClasses,
    pending: PendingFiles,
) -> RegionResult:
    """Write the classes of a region and their records, in the order of the classes' keys."""
    release_partition = plan.release_partitions[region.release_partition]
    encoded, codes = gathered.encoded, gathered.records.codes
    class_keys = _key_columns(plan, release_partition.partition_codes, clustered.released)
    released = gathered.passthrough.select([f"x{i}" for i in plan.along])
    released_codes = codes[: plan.n_released]
    if plan.referenced:
        released_codes = np.vstack([released_codes, encoded[POSITION]])
    if plan.persons is not None:
        released_codes = np.vstack([released_codes, encoded[PERSON]])
    classes = StoredClasses(
        class_keys,
        np.diff(clustered.starts),
        released_codes[:, clustered.order],
        released.take(pa.array(clustered.order)) if plan.along else released,
    )
    class_type = classes.write(pending)
    return RegionResult(
        n_records=encoded.size,
        n_classes=classes.sizes.size,
        n_clusters=clustered.n_clusters,
        n_repaired=clustered.n_repaired,
        losses=clustered.losses,
        rounds=clustered.rounds,
        splitters=_pick_splitters(class_keys),
        class_type=class_type,
        levels=clustered.levels,
        search_seconds=clustered.search_seconds,
        hashes=hash_keys(class_keys) if has_returning(plan) else NO_HASHES,
    )


def _key_columns(plan: Plan, partition_codes: tuple[int, ...], released: list[Keys]) -> list[Keys]:
    n_classes = released[0].size
    columns = {e.column.name: k for e, k in zip(plan.encodings, released, strict=True)}
    for encoding, code in zip(plan.partition_columns, partition_codes, strict=True):
        columns[encoding.column.name] = np.full(n_classes, code, dtype=np.int64)
    return [columns[e.column.name] for e in key_encodings(plan)]


def _pick_splitters(columns: list[Keys]) -> list[tuple[Any, ...]]:
    n_classes = columns[0].size
    n_picked = min(SPLITTERS_PER_REGION, n_classes)
    picked = [*(n_classes * i // n_picked for i in range(n_picked)), n_classes - 1]
    return [tuple(column[i].item() for column in columns) for i in picked]


AGGREGATE_TASK = Task(
    "aggregate",
    "aggregating",
    aggregate_task,
    (CLASSES, CLASS_CODES, CLASS_PASSTHROUGH),
    version=2,
)
