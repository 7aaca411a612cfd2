"""Pass 1: what is in the input, partition by partition, and its confidential values merged."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.execution.units.shared import Source, kept_positions, split_domains, write_counts
from pipeline.model import Int64, Partition
from pipeline.stages.combinations import number_combinations
from pipeline.stages.keys import Keys
from pipeline.stages.summarise import (
    TableSummary,
    ValueCounts,
    confidential_keys,
    count_values,
    merge_counts,
    sampled_rows,
    summarise_table,
)
from pipeline.storage.partitions import Reading, read_partition
from pipeline.storage.tables import read_array, write_table
from pipeline.storage.text_types import TextCounts, count_texts
from pipeline.storage.workspace import Drafts, Workspace


def infer_unit(
    _: Workspace, item: tuple[Partition, Reading], __: Drafts
) -> tuple[int, dict[str, TextCounts]]:
    """Records of a CSV chunk, and how the texts of each column read."""
    partition, reading = item
    table = read_partition(partition, reading)
    counts = {name: count_texts(table[name]) for name in table.column_names}
    return len(table), counts


Spans = dict[tuple[Any, ...], tuple[int, int]]


@dataclass(frozen=True, eq=False)
class PartitionSummary:
    """What pass 1 found in a partition.

    ``spans``: per confidential attribute and domain, which rows of the counts file are its;
    ``joint_spans``: the same per joint attribute.
    """

    table: TableSummary
    spans: tuple[Spans, ...]
    joint_spans: tuple[Spans, ...] = ()


def summarise_unit(
    _: Workspace, item: tuple[Partition, Source], drafts: Drafts
) -> PartitionSummary:
    """Pass 1 on a partition: its summary, the counts of confidential values, and its sample."""
    partition, source = item
    table = read_partition(partition, source.reading)
    summary, kept = summarise_table(table, source.columns, source.hard)
    domains = split_domains(kept, source.hard)
    spans, joint_spans = [], []
    keys = {c.name: confidential_keys(kept, c) for c in source.confidential}
    for a, of_column in enumerate(keys.values()):
        counted = {domain: count_values(of_column[rows]) for domain, rows in domains.items()}
        spans.append(write_counts(counted, drafts.new(f"counts{a}")))
    for j, attribute in enumerate(source.joint):
        parts = [keys[name] for name in attribute.combines]
        joint_spans.append(_write_joint(parts, domains, drafts.new(f"joint{j}")))
    if source.sample_share > 0:
        positions = kept_positions(table, source.checked, partition.first_position)
        rows = sampled_rows(positions, source.seed, source.sample_share)
        write_table(kept.take(pa.array(rows)), drafts.new("sample"))
    return PartitionSummary(summary, tuple(spans), tuple(joint_spans))


def _write_joint(parts: list[Keys], domains: dict[tuple[Any, ...], Int64], path: Path) -> Spans:
    """Count combinations domain by domain; a part is told by its place among the domain's values.

    The file holds int64 (p + 1, combinations): the parts' places, and records of each.
    """
    counted, spans, filled = [np.empty((len(parts) + 1, 0), dtype=np.int64)], {}, 0
    for domain, rows in domains.items():
        placed = [np.unique(keys[rows], return_inverse=True) for keys in parts]
        codes = np.array([codes for _, codes in placed], dtype=np.int64)
        found, counts = number_combinations(codes, [values.size for values, _ in placed])
        counted.append(np.vstack([found.parts(), counts]))
        spans[domain] = (filled, filled + counts.size)
        filled += counts.size
    with path.open("wb") as stream:
        np.save(stream, np.concatenate(counted, axis=1))
    return spans


@dataclass(frozen=True)
class CountsSlice:
    """Rows of a partition's counts file."""

    index: int
    start: int
    stop: int


@dataclass(frozen=True)
class DistributeItem:
    """A range of values of one attribute, to be merged from all partitions."""

    attribute: int
    slices: tuple[CountsSlice, ...]
    low: int | float | None
    high: int | float | None


def distribute_unit(workspace: Workspace, item: DistributeItem, drafts: Drafts) -> int:
    """Merge the counts of a range of values; returns how many distinct ones there are."""
    pieces = []
    for part in item.slices:
        path = workspace.unit("summarise", part.index).path(f"counts{item.attribute}")
        rows = read_array(path)[part.start : part.stop]
        first = 0 if item.low is None else np.searchsorted(rows["value"], item.low)
        last = rows.size if item.high is None else np.searchsorted(rows["value"], item.high)
        pieces.append(ValueCounts(rows["value"][first:last], rows["count"][first:last]))
    merged = merge_counts(pieces)
    write_counts({(): merged}, drafts.new("counts"))
    return merged.values.size
