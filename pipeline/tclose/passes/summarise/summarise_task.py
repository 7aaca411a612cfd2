"""Pass 1: what is in the input, partition by partition, and its confidential values merged."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.files.input_partitions import Reading, read_partition
from tclose.data.files.text_formats import TextFormat, count_ahead, rewrite_texts
from tclose.data.files.type_inference import TextCounts, count_texts
from tclose.data.keys import Keys, to_keys
from tclose.data.value_counts import (
    TableSummary,
    ValueCounts,
    confidential_keys,
    count_values,
    merge_counts,
    sampled_rows,
    summarise_table,
)
from tclose.data.widths import NO_WIDTHS, PassthroughWidths
from tclose.model.array_types import Int64
from tclose.model.input_pieces import Partition
from tclose.passes.compare.record_digests import RecordDigest
from tclose.passes.persons.person_keys import (
    PERSON_HASHES,
    PERSON_PLACES,
    PersonKey,
    hash_partition,
    list_persons,
)
from tclose.passes.summarise.records import (
    Source,
    kept_positions,
    split_release_partitions,
    write_counts,
)
from tclose.passes.summarise.streaming import sample_values, stream_partition
from tclose.privacy.joint import number_combinations
from tclose.runtime.artifacts.arrays import ArrayFile, TableFile
from tclose.runtime.artifacts.artifacts import FileArtifact, PendingFiles, Workspace
from tclose.runtime.tasks import Task


def infer_task(
    _: Workspace, item: tuple[Partition, Reading], __: PendingFiles
) -> tuple[int, dict[str, TextCounts]]:
    """Records of a CSV chunk, and how the texts of each column read."""
    return count_types(*item)


def count_types(partition: Partition, reading: Reading) -> tuple[int, dict[str, TextCounts]]:
    """Records of a CSV chunk that is read as texts, and how those of each column read."""
    table = read_partition(partition, reading)
    formats = dict(reading.formats)
    today = datetime.now(UTC).date()
    counts = {}
    for name in table.column_names:
        text_format = formats.get(name, TextFormat())
        counted = count_texts(rewrite_texts(table[name], text_format))
        n_ahead = count_ahead(table[name], text_format, today)
        n_names = pc.sum(pc.equal(table[name], name)).as_py() or 0
        counts[name] = replace(counted, n_ahead=n_ahead, n_names=n_names)
    return len(table), counts


VALUE_COUNTS = FileArtifact("summarise/counts", ArrayFile)  # by attribute
JOINT_COUNTS = FileArtifact("summarise/joint", ArrayFile)  # by joint attribute
SAMPLE = FileArtifact("summarise/sample", TableFile)
MERGED_COUNTS = FileArtifact("distribute/counts", ArrayFile)
Spans = dict[tuple[Any, ...], tuple[int, int]]


@dataclass(frozen=True, eq=False)
class PartitionSummary:
    """The summary of a partition by pass 1.

    ``spans``: per confidential attribute and release partition, which rows of the counts file are
    its; ``joint_spans``: the same per joint attribute; ``digest``: of the records that are
    complete; ``passthrough``: widths of the passthrough columns; ``scale_keys``: sampled keys of
    the columns whose scale is measured, by name; ``sampled``: of the deciding columns, a number for
    each sampled value, equal where values are, by name: int64 (n,); ``carried``: the same of the
    passthrough columns.
    """

    table: TableSummary
    spans: tuple[Spans, ...]
    joint_spans: tuple[Spans, ...] = ()
    digest: RecordDigest | None = None
    passthrough: PassthroughWidths = NO_WIDTHS
    scale_keys: dict[str, Keys] = field(default_factory=dict)
    sampled: dict[str, Int64] = field(default_factory=dict)
    carried: dict[str, Int64] = field(default_factory=dict)


def summarise_task(
    workspace: Workspace,
    item: tuple[Partition, Source, PersonKey | None],
    pending: PendingFiles,
) -> PartitionSummary:
    """Pass 1 on a partition: its summary, the counts of confidential values, and its sample."""
    partition, source, key = item
    streamed = stream_partition(workspace, partition, source)
    table = streamed.held
    summary, records = summarise_table(table, source.columns, source.partition_columns)
    release_partitions = split_release_partitions(records, source.partition_columns)
    spans, joint_spans = [], []
    keys = {c.name: confidential_keys(records, c) for c in source.confidential}
    for a, of_column in enumerate(keys.values()):
        counted = {
            release_partition: count_values(of_column[rows])
            for release_partition, rows in release_partitions.items()
        }
        spans.append(write_counts(counted, pending.new(VALUE_COUNTS, a)))
    for j, attribute in enumerate(source.joint):
        parts = [keys[name] for name in attribute.combines]
        joint_spans.append(_write_joint(parts, release_partitions, pending.new(JOINT_COUNTS, j)))
    positions = kept_positions(table, source.checked, partition.first_position)
    if source.person is not None and key is not None:
        hashed = hash_partition(partition, records, positions, source.person, key.content)
        persons, places = list_persons(*hashed)
        pending.new(PERSON_HASHES).write(persons)
        pending.new(PERSON_PLACES).write(places)
        records = records.drop_columns([source.person.name])
    if source.sample_share > 0:
        rows = sampled_rows(positions, source.seed, source.sample_share)
        pending.new(SAMPLE).write(records.take(pa.array(rows)))
    return PartitionSummary(
        summary, tuple(spans), tuple(joint_spans), streamed.digest, streamed.passthrough,
        _sample_keys(records, positions, source), sample_values(records, positions, source),
        streamed.carried,
    )  # fmt: skip


def _sample_keys(records: pa.Table, positions: Int64, source: Source) -> dict[str, Keys]:
    """Sample the keys that scales are measured on; records are drawn by position and seed."""
    if not source.scaled:
        return {}
    is_whole = source.scale_share >= 1
    rows = (
        np.arange(positions.size)
        if is_whole
        else sampled_rows(positions, source.seed, source.scale_share)
    )
    sample = records.select(source.scaled).take(pa.array(rows))
    return {name: to_keys(sample[name].combine_chunks(), name) for name in source.scaled}


def _write_joint(
    parts: list[Keys], release_partitions: dict[tuple[Any, ...], Int64], file: ArrayFile
) -> Spans:
    """Count combinations of each release partition; a part's code is the index of its value there.

    The file holds int64 (p + 1, combinations): the parts' places, and records of each.
    """
    counted, spans, filled = [np.empty((len(parts) + 1, 0), dtype=np.int64)], {}, 0
    for release_partition, rows in release_partitions.items():
        placed = [np.unique(keys[rows], return_inverse=True) for keys in parts]
        codes = np.array([codes for _, codes in placed], dtype=np.int64)
        combinations, counts = number_combinations(codes, [values.size for values, _ in placed])
        counted.append(np.vstack([combinations.parts(), counts]))
        spans[release_partition] = (filled, filled + counts.size)
        filled += counts.size
    file.write(np.concatenate(counted, axis=1))
    return spans


@dataclass(frozen=True)
class CountsSlice:
    """Rows of a partition's counts file."""

    index: int
    start: int
    stop: int


@dataclass(frozen=True)
class DistributeInput:
    """A range of values of one attribute, to be merged from all partitions."""

    attribute: int
    slices: tuple[CountsSlice, ...]
    low: int | float | None
    high: int | float | None


def distribute_task(workspace: Workspace, item: DistributeInput, pending: PendingFiles) -> int:
    """Merge the counts of a range of values; returns how many distinct ones there are."""
    pieces = []
    for part in item.slices:
        counts = workspace.file(VALUE_COUNTS, part.index, item.attribute)
        rows = counts.read()[part.start : part.stop]
        first = 0 if item.low is None else np.searchsorted(rows["value"], item.low)
        last = rows.size if item.high is None else np.searchsorted(rows["value"], item.high)
        pieces.append(ValueCounts(rows["value"][first:last], rows["count"][first:last]))
    merged = merge_counts(pieces)
    write_counts({(): merged}, pending.new(MERGED_COUNTS))
    return merged.values.size


INFER_TASK = Task("infer", "finding types", infer_task, version=2)
SUMMARISE_TASK = Task(
    "summarise",
    "summarising",
    summarise_task,
    (VALUE_COUNTS, JOINT_COUNTS, SAMPLE, PERSON_HASHES, PERSON_PLACES),
    version=5,
)
DISTRIBUTE_TASK = Task("distribute", "counting values", distribute_task, (MERGED_COUNTS,))
