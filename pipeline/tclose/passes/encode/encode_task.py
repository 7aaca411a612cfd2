"""Each record gets its subset, its place and its keys; a partition is sorted by them once."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tclose.data.files.input_partitions import (
    column_groups,
    read_batches,
    read_partition,
)
from tclose.data.keys import Keys
from tclose.data.preparation.prepare_values import prepare_table
from tclose.data.value_counts import complete_records
from tclose.errors import CHANGED_INPUT, ChangedInputError
from tclose.kernels.aggregate import group_by_label
from tclose.kernels.clustering.assign_subsets import assign_subsets
from tclose.methods.dp.noise import add_noise
from tclose.methods.scaling import scale_for_search
from tclose.model.array_types import Int64
from tclose.model.input_pieces import Partition
from tclose.passes.encode.region_bins import bin_records
from tclose.passes.encode.wide_columns import WIDE, WIDE_ENDS, WIDE_SIZES, ReferenceWriter
from tclose.passes.microaggregate.losses import compared_columns
from tclose.passes.persons.person_numbers import RecordPersons, find_persons
from tclose.passes.persons.person_values import (
    PERSON_DIGEST,
    PERSON_VALUES,
    count_person_values,
    write_digest,
)
from tclose.passes.plan.plan import PLAN, Plan
from tclose.passes.plan.plan_files import (
    BUCKETED_VALUES,
    LACKS,
    ORIGINAL,
    PERSON,
    POSITION,
    confidential_codes,
    filled_by_class,
    load_distributions,
    pack_records,
)
from tclose.passes.series.series_units import load_units
from tclose.passes.summarise.records import (
    JOINTS,
    SOURCE,
    Source,
    kept_positions,
    split_release_partitions,
)
from tclose.privacy.joint import append_joint
from tclose.runtime.artifacts.arrays import RecordsFile, TableFile
from tclose.runtime.artifacts.artifacts import Artifact, FileArtifact, PendingFiles, Workspace
from tclose.runtime.tasks import Task

HISTOGRAM = Artifact("histogram", np.ndarray)
RECORDS = FileArtifact("encode/records", RecordsFile, version=2)
PASSTHROUGH = FileArtifact("encode/passthrough", TableFile)


@dataclass(frozen=True)
class EncodeInput:
    """A partition and its place among them."""

    index: int
    partition: Partition


def encode_task(workspace: Workspace, item: EncodeInput, pending: PendingFiles) -> Int64:
    """Encode a partition's records, sorted by bin; returns how many are in each bin."""
    plan = workspace.load_shared(PLAN)
    source = workspace.load_shared(SOURCE)
    with_gaps = _read_partition(plan, source, item.partition, pending)
    table = prepare_table(with_gaps, source.reading.filled_by_class)
    positions = kept_positions(table, source.checked, item.partition.first_position)
    mask = complete_records(table, source.checked)
    complete_rows = table if mask is None else table.filter(mask)
    keys = [e.encode(complete_rows[e.column.name].combine_chunks()) for e in plan.encodings]
    codes = _find_codes(workspace, plan, complete_rows)
    stacked = np.array(codes, dtype=np.int64).reshape(len(codes), len(complete_rows))
    held = append_joint(stacked, workspace.load_shared(JOINTS))
    of_records, units = None, None
    if plan.persons is not None and source.person is not None:
        of_records = find_persons(workspace, plan.persons, item.index, len(complete_rows))
        _write_persons(of_records, held, pending)
        units = load_units(workspace, plan, of_records.numbers)
    bins = _find_bins(plan, source, item.index, complete_rows, (keys, held, positions, units))
    order, bin_starts = group_by_label(bins, plan.n_bins)
    named: dict[str, Keys] = {POSITION: positions}
    named |= {f"q{j}": column for j, column in enumerate(keys)}
    named |= {f"c{a}": column for a, column in enumerate(codes)}
    named |= _find_gaps(plan, with_gaps, mask)
    if of_records is not None:
        named[PERSON] = of_records.numbers
    records = pack_records(plan, named)
    pending.new(RECORDS).write(records.take(order))
    if plan.along:
        pending.new(PASSTHROUGH).write(_order_passthrough(plan, complete_rows, pa.array(order)))
    counts: Int64 = np.diff(bin_starts)
    return counts


def _find_gaps(plan: Plan, table: pa.Table, mask: pa.ChunkedArray | None) -> dict[str, Keys]:
    """Flags of complete records that lack what their class gives them, by `record_type`'s names."""
    lacking = {}
    for j in filled_by_class(plan):
        of_column = table[plan.encodings[j].column.name].is_null()
        flags = of_column if mask is None else of_column.filter(mask)
        lacking[f"{LACKS}{j}"] = flags.to_numpy().astype(np.int64)
    return lacking


def _write_persons(of_records: RecordPersons, codes: Int64, pending: PendingFiles) -> None:
    """Keep what the table over persons is made of, and the digest of who has which values."""
    write_digest(of_records.numbers, codes, pending.new(PERSON_DIGEST))
    for a, counted in enumerate(count_person_values(codes, of_records.n_records)):
        pending.new(PERSON_VALUES, a).write(counted)


def _read_partition(
    plan: Plan, source: Source, partition: Partition, pending: PendingFiles
) -> pa.Table:
    """The partition without what is referenced, which is written as it comes; with its gaps."""
    reading = source.reading.with_gaps()
    file_columns = {plan.passthrough[i].name: f"x{i}" for i in plan.referenced}
    if not file_columns:
        return read_partition(partition, reading)
    columns: dict[str, pa.ChunkedArray] = {}
    n_written = 0
    for group in column_groups(partition, reading):
        names, pieces = [name for name in group.names if name in file_columns], []
        references = ReferenceWriter(pending, n_written) if names else None
        for table in read_batches(partition, group):
            pieces.append(table.drop_columns(names))
            if references:
                references.write(
                    table.select(names).rename_columns([file_columns[n] for n in names])
                )
        if references:
            references.finish()
            n_written += 1
        held = pa.concat_tables(pieces)
        columns |= {name: held[name] for name in held.column_names}
    return pa.table(columns)


def _order_passthrough(plan: Plan, complete_rows: pa.Table, order: pa.Array) -> pa.Table:
    """Return the records' passthrough columns and noise, which a retry does not draw again."""
    rows, compared = {}, compared_columns(plan)
    for i in plan.along:
        column = plan.passthrough[i]
        values = complete_rows[column.name].combine_chunks()
        if column in compared:
            rows[f"{ORIGINAL}{i}"] = values.take(order)
        if column.attribute.noise is not None:
            values = add_noise(values, column)
        rows[f"x{i}"] = values.take(order)
    return pa.table(rows)


def _find_codes(workspace: Workspace, plan: Plan, complete_rows: pa.Table) -> list[Int64]:
    """Confidential values, or the buckets that are released for them, by their positions."""
    if plan.bucketing is not None and plan.method.releases_buckets:
        values = workspace.file(BUCKETED_VALUES, 0).read()
        return [
            plan.bucketing.of_code[confidential_codes(complete_rows, plan.bucketing.source, values)]
        ]
    distributions = load_distributions(workspace, plan)
    released = zip(plan.confidential[: plan.n_released], distributions, strict=False)
    return [confidential_codes(complete_rows, *pair) for pair in released]


def _find_bins(
    plan: Plan,
    source: Source,
    index: int,
    complete_rows: pa.Table,
    encoded: tuple[list[Keys], Int64, Int64, Int64 | None],
) -> Int64:
    """Bin of each complete record.

    ``encoded``: keys, codes, positions; units where regions are of them.
    """
    keys, codes, positions, units = encoded
    scaled = scale_for_search(list(plan.encodings), keys)
    rows_of = split_release_partitions(complete_rows, source.partition_columns)
    bins = np.full(len(complete_rows), -1, dtype=np.int64)
    for release_partition in plan.release_partitions:
        rows = rows_of.get(release_partition.key)
        if rows is None or not rows.size:
            continue
        subsets = release_partition.subsets
        if subsets.take.size > 1 or release_partition.cells.n_cells > 1:
            of_record = assign_subsets(
                codes[plan.subset_attribute][rows],
                subsets.cut_codes,
                subsets.cut_ranks,
                subsets.tie_codes,
                subsets.tie_rule,
                subsets.tie_seen[index],
            )
            cells = release_partition.cells.find(codes[:, rows], plan.subset_attribute)
            of_record = (of_record * release_partition.cells.n_cells + cells).astype(np.int32)
        else:
            of_record = np.zeros(rows.size, dtype=np.int32)
        bins[rows] = bin_records(
            release_partition,
            of_record,
            scaled.numeric[:, rows],
            scaled.nominal[:, rows],
            positions[rows],
            None if units is None else units[rows],
        )
    if (bins < 0).any():
        raise ChangedInputError(CHANGED_INPUT)
    return bins


ENCODE_TASK = Task(
    "encode",
    "placing records",
    encode_task,
    (RECORDS, PASSTHROUGH, WIDE, WIDE_ENDS, WIDE_SIZES, PERSON_VALUES, PERSON_DIGEST),
)
