"""The records of a region, gathered from the partitions by the positions that a file has."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import pyarrow as pa

from tclose.data.key_rows import sort_rows
from tclose.data.keys import to_keys
from tclose.model.array_types import Float64, Int64
from tclose.model.column_terms import Role
from tclose.model.distribution import Distribution
from tclose.passes.encode.encode_task import PASSTHROUGH, RECORDS
from tclose.passes.microaggregate.analyses.workload import WORKLOAD
from tclose.passes.microaggregate.gaps import NO_GAPS, Gaps
from tclose.passes.microaggregate.losses import Pair, compared_columns
from tclose.passes.microaggregate.region_records import RegionRecords
from tclose.passes.plan.plan import Plan, Region
from tclose.passes.plan.plan_files import (
    LACKS,
    ORIGINAL,
    PERSON,
    POSITION,
    filled_by_class,
    load_distributions,
    record_type,
    stack_codes,
    unpack_keys,
)
from tclose.passes.summarise.records import JOINTS
from tclose.runtime.artifacts.arrays import WorkingFile
from tclose.runtime.artifacts.artifacts import FileArtifact, Workspace

ROW_RANGES = FileArtifact("microaggregate/places", WorkingFile)

# Of a region that a thread is started for: fewer are searched hundreds of times within a second,
# and starting threads each time takes as long as searching.
RECORDS_PER_THREAD = 500


@dataclass(frozen=True, eq=False)
class RegionInput:
    """A region, and where a file of the workspace has the positions of its records.

    The file has starts, then stops: int64 of the ``shape`` (partitions, S * cells) each, from the
    byte ``offset`` on. It is a part of the plan that grows with regions and partitions both.
    ``sample_step``: of how many classes one is sampled; none if that is 0. ``n_threads``: that its
    task may have.
    """

    region: Region
    n_records: int
    offset: int
    shape: tuple[int, int]
    sample_step: int = 0
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


def _map_row_ranges(workspace: Workspace, item: RegionInput) -> Int64:
    """Starts and stops of a region: int64 (2, partitions, S * cells), in a mapped file."""
    ends = np.memmap(workspace.file(ROW_RANGES, 0).path, dtype=np.int64, mode="r")
    first = item.offset // ends.itemsize
    return ends[first : first + 2 * prod(item.shape)].reshape(2, *item.shape)


@dataclass(frozen=True, eq=False)
class GatheredRegion:
    """The records of a region as they are clustered, encoded, and their pass-through columns."""

    records: RegionRecords
    encoded: np.ndarray
    passthrough: pa.Table
    distributions: tuple[Distribution, ...]


def gather_region(
    workspace: Workspace, plan: Plan, item: RegionInput, *, along: bool = True
) -> GatheredRegion:
    """Read the records of a region from the partitions, and the columns that go along with them."""
    release_partition = plan.release_partitions[item.region.release_partition]
    n_cells = release_partition.cells.n_cells
    starts, stops = _map_row_ranges(workspace, item)
    sizes_in = stops - starts
    encoded, passthrough = _gather_records(
        workspace, plan, (starts, sizes_in), n_cells, along=along
    )
    sizes = sizes_in.sum(axis=0).reshape(-1, n_cells).sum(axis=1)
    subset_starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    codes = stack_codes(encoded, plan, workspace.load_shared(JOINTS))
    distributions = load_distributions(workspace, plan)
    records = RegionRecords(
        keys=unpack_keys(encoded, plan),
        codes=codes,
        cells=release_partition.cells.find(codes, plan.subset_attribute),
        subset_starts=subset_starts,
        take=release_partition.subsets.take.copy(),  # read-only ones are compiled for once more
        n_clusters=item.region.n_clusters,
        others=_other_numbers(passthrough, plan, codes, distributions) if along else (),
        name=(item.region.release_partition, item.region.first_cluster),
        share=encoded.size / plan.n_records,
        persons=None if plan.persons is None else encoded[PERSON],
        n_threads=min(item.n_threads, 1 + encoded.size // RECORDS_PER_THREAD),
        workload=workspace.load_shared(WORKLOAD),
        gaps=_find_gaps(encoded, plan),
    )
    return GatheredRegion(records, encoded, passthrough, distributions)


def _find_gaps(encoded: np.ndarray, plan: Plan) -> Gaps:
    """Flags of encoded records that lack what their class gives them."""
    lacking = {j: encoded[f"{LACKS}{j}"].astype(bool) for j in filled_by_class(plan)}
    if not any(one.any() for one in lacking.values()):
        return NO_GAPS
    return Gaps(tuple(lacking.get(j) for j in range(len(plan.encodings))))


def _gather_records(
    workspace: Workspace,
    plan: Plan,
    row_ranges: tuple[Int64, Int64],
    n_cells: int,
    *,
    along: bool,
) -> tuple[np.ndarray, pa.Table]:
    """Read the region's records and pass-through columns, by subset and then by position."""
    (starts, sizes), dtype = row_ranges, record_type(plan)
    has_passthrough = along and bool(plan.along)
    encoded, passthrough = [], []
    for index in np.flatnonzero(sizes.any(axis=1)).tolist():
        row_range = starts[index], sizes[index]
        encoded.append(workspace.file(RECORDS, index).read(dtype, *row_range))
        if has_passthrough:
            passthrough.append(workspace.file(PASSTHROUGH, index).read_rows(*row_range))
    records = np.concatenate(encoded)
    subset_of = np.repeat(np.nonzero(sizes)[1] // n_cells, sizes[sizes > 0])
    positions = np.ascontiguousarray(records[POSITION])
    order = sort_rows([subset_of, positions])
    table = (
        pa.Table.from_batches(passthrough).take(pa.array(order))
        if has_passthrough
        else pa.table({})
    )
    return records.take(order), table  # records[order] takes many times as long


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
