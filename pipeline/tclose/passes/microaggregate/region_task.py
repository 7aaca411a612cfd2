"""Pass 2: a region is gathered from the partitions and microaggregated."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tclose.data.keys import Keys, to_keys
from tclose.model.array_types import Float64, Int64
from tclose.model.column_terms import Role
from tclose.model.distribution import Distribution
from tclose.passes.encode.encode_task import PASSTHROUGH, RECORDS
from tclose.passes.microaggregate.analyses.workload import WORKLOAD
from tclose.passes.microaggregate.class_files import (
    CLASS_CODES,
    CLASS_PASSTHROUGH,
    CLASSES,
    StoredClasses,
)
from tclose.passes.microaggregate.gaps import NO_GAPS, Gaps
from tclose.passes.microaggregate.losses import Losses, Pair, compared_columns
from tclose.passes.microaggregate.region_classes import (
    RegionClasses,
    RegionClusters,
    cluster_region,
    release_region,
)
from tclose.passes.microaggregate.region_records import RegionRecords
from tclose.passes.microaggregate.representatives import group_classes, represented
from tclose.passes.microaggregate.search.rounds import Round
from tclose.passes.microaggregate.unions.cluster_persons import cluster_persons
from tclose.passes.microaggregate.unions.cluster_series import SeriesUnits, cluster_series
from tclose.passes.persons.person_values import load_person_demand
from tclose.passes.plan.plan import PLAN, Plan, Region
from tclose.passes.plan.plan_files import (
    LACKS,
    ORIGINAL,
    PERSON,
    POSITION,
    filled_by_class,
    key_encodings,
    load_distributions,
    record_type,
    stack_codes,
)
from tclose.passes.series.link_persons import SERIES, SeriesLink
from tclose.passes.series.series_units import EARLIER, UNITS
from tclose.passes.summarise.records import JOINTS
from tclose.runtime.arrays import ArrayFile, WorkingFile
from tclose.runtime.artifacts import Artifact, FileArtifact, PendingFiles, Workspace
from tclose.runtime.tasks import Task

SPLITTERS_PER_REGION = 64


ROW_RANGES = FileArtifact("microaggregate/places", WorkingFile)
LABELS = FileArtifact("cluster/labels", ArrayFile)  # the cluster of each record of a region


@dataclass(frozen=True, eq=False)
class ClusteredRegion:
    """The result of clustering a region, but for the labels, which are in a file.

    ``counts``: of each quasi-identifier that is released as representatives, the records of each
    value int64 (v,).
    """

    n_records: int
    n_clusters: int
    n_repaired: int
    n_violating: int
    rounds: tuple[Round, ...]
    counts: tuple[Int64, ...]


@dataclass(frozen=True, eq=False)
class RegionInput:
    """A region, and where a file of the workspace has the positions of its records.

    The file has starts, then stops: int64 of the ``shape`` (partitions, S * cells) each, from the
    byte ``offset`` on. It is a part of the plan that grows with regions and partitions both.
    ``clustered``: of a region whose clusters are made; ``wanted``: then the records that it has to
    release of each value of what is released as representatives, int64 (v,) each. ``n_threads``:
    that its task may have.
    """

    region: Region
    n_records: int
    offset: int
    shape: tuple[int, int]
    clustered: ClusteredRegion | None = None
    wanted: tuple[Int64, ...] | None = None
    n_threads: int = 1


def write_row_ranges(
    workspace: Workspace, regions: Sequence[Region], row_ranges: Iterable[tuple[Int64, Int64]]
) -> list[RegionInput]:
    """Write the places of all regions to a file, for their tasks to read."""
    path = workspace.new_file(ROW_RANGES).path
    draft = path.with_name(f"{path.name}.draft")
    items = []
    with draft.open("wb") as stream:
        for region, (starts, stops) in zip(regions, row_ranges, strict=True):
            n_records, shape = int((stops - starts).sum()), (starts.shape[0], starts.shape[1])
            items.append(RegionInput(region, n_records, stream.tell(), shape))
            for rows in (starts, stops):
                stream.write(np.ascontiguousarray(rows, dtype=np.int64).data)
    draft.replace(path)
    return items


def _read_row_ranges(workspace: Workspace, item: RegionInput) -> Int64:
    """Starts and sizes: int64 (2, partitions, S * cells)."""
    path = workspace.file(ROW_RANGES, 0).path
    ends = np.memmap(path, dtype=np.int64, mode="r", offset=item.offset, shape=(2, *item.shape))
    return np.stack([ends[0], ends[1] - ends[0]])


@dataclass(frozen=True, eq=False)
class RegionResult:
    """The result of microaggregating a region.

    ``splitters``: some of its class keys, ascending, the first and the last among them;
    ``class_type``: what `read_key_range` reads them by;
    ``levels``: of each quasi-identifier, where levels were chosen for the region.
    """

    n_records: int
    n_classes: int
    n_clusters: int
    n_repaired: int
    n_violating: int
    losses: Losses
    rounds: tuple[Round, ...]
    splitters: list[tuple[Any, ...]]
    class_type: np.dtype
    levels: tuple[int, ...] | None = None


REGIONS = Artifact("regions", list[Region])
CLASS_TYPES = Artifact("class-types", list[np.dtype])
REGION_RESULTS = Artifact("region-results", list[RegionResult], version=4)


@dataclass(frozen=True, eq=False)
class _GatheredRegion:
    """The records of a region as they are clustered, encoded, and their pass-through columns."""

    records: RegionRecords
    encoded: np.ndarray
    passthrough: pa.Table
    distributions: tuple[Distribution, ...]


def _gather_region(workspace: Workspace, plan: Plan, item: RegionInput) -> _GatheredRegion:
    """Read the records of a region from the partitions."""
    release_partition = plan.release_partitions[item.region.release_partition]
    n_cells = release_partition.cells.n_cells
    starts, sizes_in = _read_row_ranges(workspace, item)
    encoded, passthrough = _gather_records(workspace, plan, (starts, sizes_in), n_cells)
    sizes = sizes_in.sum(axis=0).reshape(-1, n_cells).sum(axis=1)
    subset_starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    codes = stack_codes(encoded, plan, workspace.load_shared(JOINTS))
    distributions = load_distributions(workspace, plan)
    records = RegionRecords(
        keys=[np.ascontiguousarray(encoded[f"q{j}"]) for j in range(len(plan.encodings))],
        codes=codes,
        cells=release_partition.cells.find(codes, plan.subset_attribute),
        subset_starts=subset_starts,
        take=release_partition.subsets.take.copy(),  # read-only ones are compiled for once more
        n_clusters=item.region.n_clusters,
        others=_other_numbers(passthrough, plan, codes, distributions),
        name=(item.region.release_partition, item.region.first_cluster),
        share=encoded.size / plan.n_records,
        persons=None if plan.persons is None else encoded[PERSON],
        n_threads=item.n_threads,
        workload=workspace.load_shared(WORKLOAD),
        gaps=_find_gaps(encoded, plan),
    )
    return _GatheredRegion(records, encoded, passthrough, distributions)


def _find_gaps(encoded: np.ndarray, plan: Plan) -> Gaps:
    """Flags of encoded records that lack what their class gives them."""
    lacking = {j: encoded[f"{LACKS}{j}"].astype(bool) for j in filled_by_class(plan)}
    if not any(one.any() for one in lacking.values()):
        return NO_GAPS
    return Gaps(tuple(lacking.get(j) for j in range(len(plan.encodings))))


def microaggregate_task(
    workspace: Workspace, item: RegionInput, pending: PendingFiles
) -> RegionResult:
    """Make the classes of a region; they leave in the order of their keys."""
    plan = workspace.load_shared(PLAN)
    gathered = _gather_region(workspace, plan, item)
    if item.clustered is None:
        clusters = _cluster(workspace, plan, gathered)
    else:
        clusters = RegionClusters(
            labels=np.asarray(workspace.file(LABELS, item.region.name).read()),
            n_repaired=item.clustered.n_repaired,
            n_violating=item.clustered.n_violating,
            rounds=item.clustered.rounds,
        )
    classes = release_region(clusters, gathered.records, plan, item.wanted)
    return _write_classes(plan, item.region, gathered, classes, pending)


def _cluster(workspace: Workspace, plan: Plan, gathered: _GatheredRegion) -> RegionClusters:
    demand, series = load_person_demand(workspace), workspace.load_shared(SERIES)
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


def cluster_task(workspace: Workspace, item: RegionInput, pending: PendingFiles) -> ClusteredRegion:
    """Cluster a region, before it is decided what it releases; its labels stay in a file."""
    plan = workspace.load_shared(PLAN)
    gathered = _gather_region(workspace, plan, item)
    clusters = _cluster(workspace, plan, gathered)
    pending.new(LABELS).write(clusters.labels)
    return ClusteredRegion(
        n_records=clusters.labels.size,
        n_clusters=int(clusters.labels.max()) + 1,
        n_repaired=clusters.n_repaired,
        n_violating=clusters.n_violating,
        rounds=clusters.rounds,
        counts=_count_represented(plan, gathered.records, clusters.labels),
    )


def _count_represented(plan: Plan, records: RegionRecords, labels: Int64) -> tuple[Int64, ...]:
    """Records of each value of what is released as representatives, int64 (v,) each."""
    by_class = group_classes(labels)
    members = [(j, records.gaps.keep_known(j, by_class)[0]) for j in represented(plan)]
    return tuple(plan.encodings[j].count_categories(records.keys[j][order]) for j, order in members)


def _write_classes(
    plan: Plan,
    region: Region,
    gathered: _GatheredRegion,
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
        n_violating=clustered.n_violating,
        losses=clustered.losses,
        rounds=clustered.rounds,
        splitters=_pick_splitters(class_keys),
        class_type=class_type,
        levels=clustered.levels,
    )


def _gather_records(
    workspace: Workspace, plan: Plan, row_ranges: tuple[Int64, Int64], n_cells: int
) -> tuple[np.ndarray, pa.Table]:
    """Read the region's records and pass-through columns, by subset and then by position."""
    (starts, sizes), dtype, has_passthrough = row_ranges, record_type(plan), bool(plan.along)
    encoded, passthrough = [], []
    for index in np.flatnonzero(sizes.any(axis=1)).tolist():
        row_range = starts[index], sizes[index]
        encoded.append(workspace.file(RECORDS, index).read(dtype, *row_range))
        if has_passthrough:
            passthrough.append(workspace.file(PASSTHROUGH, index).read_rows(*row_range))
    records = np.concatenate(encoded)
    subset_of = np.repeat(np.nonzero(sizes)[1].astype(np.int32) // n_cells, sizes[sizes > 0])
    order = np.lexsort((records[POSITION], subset_of))
    table = (
        pa.Table.from_batches(passthrough).take(pa.array(order))
        if has_passthrough
        else pa.table({})
    )
    return records[order], table


def _other_numbers(
    table: pa.Table, plan: Plan, codes: Int64, distributions: tuple[Distribution, ...]
) -> tuple[Pair, ...]:
    """Pair what was read and what is released of compared columns without quasi-identifiers."""
    held = {e.column.name: a for a, e in enumerate(plan.confidential)}
    index_of = {column.name: i for i, column in enumerate(plan.passthrough)}
    pairs: list[Pair] = []
    for column in compared_columns(plan):
        if column.role is Role.QUASI_IDENTIFIER:
            continue
        if column.name in held:
            a = held[column.name]
            values = distributions[a].values[codes[a]].astype(np.float64)
            pairs.append((values, values))
        else:
            i = index_of[column.name]
            pairs.append((_numbers(table, f"{ORIGINAL}{i}"), _numbers(table, f"x{i}")))
    return tuple(pairs)


def _numbers(table: pa.Table, name: str) -> Float64:
    return to_keys(table[name].combine_chunks(), name).astype(np.float64)


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


CLUSTER_TASK = Task("cluster", "clustering", cluster_task, (LABELS,))
MICROAGGREGATE_TASK = Task(
    "microaggregate",
    "microaggregating",
    microaggregate_task,
    (CLASSES, CLASS_CODES, CLASS_PASSTHROUGH),
    version=5,
)
