"""Each record gets its subset, its place and its keys; a partition is sorted by them once."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pipeline.errors import DataError
from pipeline.execution.units.shared import (
    ORIGINAL,
    POSITION,
    Source,
    confidential_codes,
    kept_positions,
    load_distributions,
    load_joints,
    load_shared,
    record_type,
    split_domains,
)
from pipeline.kernels.subsets import assign_subsets
from pipeline.model import Int64, Partition
from pipeline.stages.combinations import append_joint
from pipeline.stages.keys import Keys
from pipeline.stages.losses import compared_columns
from pipeline.stages.methods.noise import add_noise
from pipeline.stages.places import bin_records
from pipeline.stages.plan import Plan
from pipeline.stages.scaling import scale_columns
from pipeline.stages.summarise import complete_records
from pipeline.storage.partitions import read_partition
from pipeline.storage.tables import read_distribution, write_records, write_table
from pipeline.storage.workspace import Drafts, Workspace


@dataclass(frozen=True)
class EncodeItem:
    """A partition and its place among them."""

    index: int
    partition: Partition


def encode_unit(workspace: Workspace, item: EncodeItem, drafts: Drafts) -> Int64:
    """Encode a partition's records, sorted by bin; returns how many are in each bin."""
    plan: Plan = load_shared(workspace, "plan")
    source: Source = load_shared(workspace, "source")
    table = read_partition(item.partition, source.reading)
    positions = kept_positions(table, source.checked, item.partition.first_position)
    mask = complete_records(table, source.checked)
    kept = table if mask is None else table.filter(mask)
    keys = [e.encode(kept[e.column.name].combine_chunks()) for e in plan.encodings]
    codes = _find_codes(workspace, plan, kept)
    stacked = np.array(codes, dtype=np.int64).reshape(len(codes), len(kept))
    held = append_joint(stacked, load_joints(workspace, plan))
    bins = _find_bins(plan, source, item.index, kept, keys, held)
    order = np.argsort(bins, kind="stable")
    records = np.empty(len(kept), dtype=record_type(plan))
    records[POSITION] = positions[order]
    named = {f"q{j}": column for j, column in enumerate(keys)}
    named |= {f"c{a}": column for a, column in enumerate(codes)}
    for name, encoded in named.items():
        records[name] = encoded[order]
    write_records(records, drafts.new("records"))
    if plan.carried:
        write_table(_carry(plan, kept, pa.array(order)), drafts.new("carried"))
    return np.bincount(bins, minlength=plan.n_bins)


def _carry(plan: Plan, kept: pa.Table, order: pa.Array) -> pa.Table:
    """What goes with the records; noise that is drawn here is drawn once, as a retry takes this."""
    rows, compared = {}, compared_columns(plan)
    for i, column in enumerate(plan.carried):
        values = kept[column.name].combine_chunks()
        if column in compared:
            rows[f"{ORIGINAL}{i}"] = values.take(order)
        if column.attribute.noise is not None:
            values = add_noise(values, column)
        rows[f"x{i}"] = values.take(order)
    return pa.table(rows)


def _find_codes(workspace: Workspace, plan: Plan, kept: pa.Table) -> list[Int64]:
    """Confidential values, or the buckets that are released for them, by their positions."""
    if plan.bucketing is not None and plan.method.releases_buckets:
        values = read_distribution(workspace.path("values", "source0"))
        return [plan.bucketing.of_code[confidential_codes(kept, plan.bucketing.source, values)]]
    distributions = load_distributions(workspace, plan)
    released = zip(plan.confidential[: plan.n_released], distributions, strict=False)
    return [confidential_codes(kept, *pair) for pair in released]


def _find_bins(
    plan: Plan, source: Source, index: int, kept: pa.Table, keys: list[Keys], codes: Int64
) -> Int64:
    scaled = scale_columns(list(plan.encodings), keys)
    rows_of = split_domains(kept, source.hard)
    bins = np.full(len(kept), -1, dtype=np.int64)
    for domain in plan.domains:
        rows = rows_of.get(domain.key)
        if rows is None or not rows.size:
            continue
        subsets = domain.subsets
        if subsets.take.size > 1 or domain.cells.n_cells > 1:
            of_record = assign_subsets(
                codes[plan.primary][rows],
                subsets.cut_codes,
                subsets.cut_ranks,
                subsets.tie_codes,
                subsets.tie_rule,
                subsets.tie_seen[index],
            )
            cells = domain.cells.find(codes[:, rows], plan.primary)
            of_record = (of_record * domain.cells.n_cells + cells).astype(np.int32)
        else:
            of_record = np.zeros(rows.size, dtype=np.int32)
        bins[rows] = bin_records(
            domain, of_record, scaled.numeric[:, rows], scaled.nominal[:, rows]
        )
    if (bins < 0).any():
        raise DataError("the input changed while it was read; run again when it is at rest")
    return bins
