"""The units of work of each pass: read a piece, call the stage, leave its files.

A unit gets the workspace, an item and drafts for its files, and returns a small value. What it does
depends on nothing else, so a unit can be done anywhere, twice, or again.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.errors import VerificationError
from pipeline.kernels.subsets import assign_subsets
from pipeline.model import Column, Distribution, Float64, Int64, Partition, Role
from pipeline.stages.keys import Encoding, Keys
from pipeline.stages.microaggregate import RegionRecords, find_changes, microaggregate_region
from pipeline.stages.plan import Plan, Region, bin_records
from pipeline.stages.summarise import (
    TableSummary,
    ValueCounts,
    checked_columns,
    complete_records,
    confidential_keys,
    count_values,
    merge_counts,
    sampled_rows,
    scale_columns,
    summarise_table,
)
from pipeline.stages.verify import ClassChecks, check_classes
from pipeline.settings import InputSettings
from pipeline.storage import csv_files
from pipeline.storage.inputs import FileContent, Reading, inspect_file, read_partition
from pipeline.storage.releases import file_sha256
from pipeline.storage.tables import (
    column_array,
    read_array,
    read_distribution,
    read_table,
    write_table,
)
from pipeline.storage.workspace import Drafts, Workspace

ROW_GROUP_ROWS = 131_072
SPLITTERS_PER_REGION = 64
POSITION = "position"


def inspect_unit(_: Workspace, item: tuple[str, InputSettings], __: Drafts) -> FileContent:
    """Digest, format and columns of one file."""
    path, settings = item
    return inspect_file(path, settings)


def infer_unit(
    _: Workspace, item: tuple[Partition, Reading], __: Drafts
) -> tuple[int, dict[str, csv_files.TextCounts]]:
    """Records of a CSV chunk, and how the texts of each column read."""
    partition, reading = item
    table = read_partition(partition, reading)
    counts = {name: csv_files.count_texts(table[name]) for name in table.column_names}
    return len(table), counts


@dataclass(frozen=True)
class Source:
    """How records are read and what is taken of them: the same for every partition."""

    reading: Reading
    columns: tuple[Column, ...]
    hard: tuple[str, ...]
    sample_share: float
    seed: int

    @property
    def checked(self) -> tuple[Column, ...]:
        """The columns in which a record needs a value."""
        return checked_columns(self.columns, self.hard)

    @property
    def confidential(self) -> tuple[Column, ...]:
        """The confidential attributes, in the policy's order."""
        return tuple(c for c in self.columns if c.role is Role.CONFIDENTIAL)


@dataclass(frozen=True, eq=False)
class PartitionSummary:
    """What pass 1 found in a partition.

    ``spans``: per confidential attribute and domain, which rows of the counts file are its.
    """

    table: TableSummary
    spans: tuple[dict[tuple[Any, ...], tuple[int, int]], ...]


def split_domains(table: pa.Table, hard: tuple[str, ...]) -> dict[tuple[Any, ...], Int64]:
    """Rows of each combination of hard partition values, ascending."""
    if not hard:
        return {(): np.arange(len(table))}
    found: dict[tuple[Any, ...], list[int]] = {}
    codes = np.zeros(len(table), dtype=np.int64)
    levels: list[list[Any]] = []
    for name in hard:
        column = table[name].combine_chunks().dictionary_encode()
        levels.append(column.dictionary.to_pylist())
        codes = codes * max(len(levels[-1]), 1) + column.indices.to_numpy(zero_copy_only=False)
    present, inverse = np.unique(codes, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    pieces = np.split(order, np.cumsum(np.bincount(inverse, minlength=present.size))[:-1])
    for code, rows in zip(present.tolist(), pieces, strict=True):
        key = []
        for values in levels[::-1]:
            code, level = divmod(code, max(len(values), 1))
            key.append(values[level])
        found[tuple(key[::-1])] = rows
    return found


def summarise_unit(
    _: Workspace, item: tuple[Partition, Source], drafts: Drafts
) -> PartitionSummary:
    """Pass 1 on a partition: its summary, the counts of confidential values, and its sample."""
    partition, source = item
    table = read_partition(partition, source.reading)
    summary, kept = summarise_table(table, source.columns, source.hard)
    domains = split_domains(kept, source.hard)
    spans = []
    for a, column in enumerate(source.confidential):
        keys = confidential_keys(kept, column)
        counted = {domain: count_values(keys[rows]) for domain, rows in domains.items()}
        spans.append(_write_counts(counted, drafts.new(f"counts{a}")))
    if source.sample_share > 0:
        positions = kept_positions(table, source.checked, partition.first_position)
        rows = sampled_rows(positions, source.seed, source.sample_share)
        write_table(kept.take(pa.array(rows)), drafts.new("sample"))
    return PartitionSummary(summary, tuple(spans))


def _write_counts(
    counted: dict[tuple[Any, ...], ValueCounts], path: Path
) -> dict[tuple[Any, ...], tuple[int, int]]:
    spans, filled = {}, 0
    for domain, counts in counted.items():
        spans[domain] = (filled, filled + counts.values.size)
        filled += counts.values.size
    values = [counts.values for counts in counted.values()]
    dtype = [("value", values[0].dtype if values else np.int64), ("count", np.int64)]
    rows = np.empty(filled, dtype=dtype)
    for (start, stop), counts in zip(spans.values(), counted.values(), strict=True):
        rows["value"][start:stop] = counts.values
        rows["count"][start:stop] = counts.counts
    with open(path, "wb") as stream:
        np.save(stream, rows)
    return spans


def kept_positions(table: pa.Table, checked: tuple[Column, ...], first: int) -> Int64:
    """Positions in the whole input of a partition's complete records."""
    mask = complete_records(table, checked)
    if mask is None:
        return np.arange(first, first + len(table))
    return first + np.flatnonzero(mask.to_numpy())


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
    _write_counts({(): merged}, drafts.new("counts"))
    return merged.values.size


@lru_cache(maxsize=4)
def _load_cached(root: Path, name: str, _stamp: int) -> Any:
    return Workspace(root).load(name)


def load_shared(workspace: Workspace, name: str) -> Any:
    """A value that all units of a pass need; read once per process."""
    stamp = (workspace.root / "values" / f"{name}.record").stat().st_mtime_ns
    return _load_cached(workspace.root, name, stamp)


def load_distributions(workspace: Workspace, plan: Plan) -> tuple[Distribution, ...]:
    """The table's distributions, mapped from disk."""
    stems = (workspace.path("values", f"distribution{a}") for a in range(len(plan.confidential)))
    return tuple(read_distribution(stem) for stem in stems)


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
    codes = [
        np.searchsorted(d.values, confidential_keys(kept, e.column)).astype(np.int64)
        for d, e in zip(load_distributions(workspace, plan), plan.confidential, strict=True)
    ]
    bins = _find_bins(plan, source, item.index, kept, keys, codes)
    order = np.argsort(bins, kind="stable")
    columns = {POSITION: positions[order]}
    columns |= {f"q{j}": column[order] for j, column in enumerate(keys)}
    columns |= {f"c{a}": column[order] for a, column in enumerate(codes)}
    carried = kept.select([c.name for c in plan.carried]).take(pa.array(order))
    arrays = [pa.array(column) for column in columns.values()] + carried.columns
    names = list(columns) + [f"x{i}" for i in range(len(plan.carried))]
    write_table(pa.table(arrays, names=names), drafts.new("records"))
    return np.bincount(bins, minlength=plan.n_bins)


def _find_bins(
    plan: Plan, source: Source, index: int, kept: pa.Table, keys: list[Keys], codes: list[Int64]
) -> Int64:
    numeric, nominal, _ = scale_columns(list(plan.encodings), keys)
    rows_of = split_domains(kept, source.hard)
    bins = np.empty(len(kept), dtype=np.int64)
    for domain in plan.domains:
        rows = rows_of.get(domain.key)
        if rows is None or not rows.size:
            continue
        subsets = domain.subsets
        if codes:
            of_record = assign_subsets(
                codes[plan.primary][rows],
                subsets.cut_codes,
                subsets.cut_ranks,
                subsets.tie_codes,
                subsets.tie_rule,
                subsets.tie_seen[index],
            )
        else:
            of_record = np.zeros(rows.size, dtype=np.int32)
        bins[rows] = bin_records(domain, of_record, numeric[:, rows], nominal[:, rows])
    return bins


@dataclass(frozen=True, eq=False)
class RegionItem:
    """A region and where its records stand: ``starts``, ``stops`` int64 (partitions, S)."""

    region: Region
    starts: Int64
    stops: Int64


@dataclass(frozen=True, eq=False)
class RegionResult:
    """What microaggregation made of a region; ``splitters``: some of its class keys, ascending."""

    n_records: int
    n_classes: int
    n_repaired: int
    n_above: int
    losses: Float64
    splitters: list[tuple[Any, ...]]


def microaggregate_unit(workspace: Workspace, item: RegionItem, drafts: Drafts) -> RegionResult:
    """Make the classes of a region; they leave in the order of their keys."""
    plan: Plan = load_shared(workspace, "plan")
    domain = plan.domains[item.region.domain]
    table = _gather_region(workspace, item)
    sizes = (item.stops - item.starts).sum(axis=0)
    subset_starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    records = RegionRecords(
        keys=[column_array(table, f"q{j}") for j in range(len(plan.encodings))],
        codes=_stack_codes(table, plan),
        subset_starts=subset_starts,
        take=domain.subsets.take,
        extras=sizes - item.region.n_clusters * domain.subsets.take,
        n_clusters=item.region.n_clusters,
    )
    made = microaggregate_region(records, plan, load_distributions(workspace, plan))
    class_keys = _key_columns(plan, domain.hard_codes, made.released)
    class_sizes = np.diff(made.starts)
    classes = {f"k{j}": column for j, column in enumerate(class_keys)} | {"size": class_sizes}
    write_table(pa.table(classes), drafts.new("classes"))
    wanted = [name for name in table.column_names if name[0] in "cx"]
    rows = table.select(wanted).take(pa.array(made.order)) if wanted else None
    if rows is not None:
        write_table(rows, drafts.new("rows"))
    return RegionResult(
        n_records=len(table),
        n_classes=class_sizes.size,
        n_repaired=made.n_repaired,
        n_above=made.n_above,
        losses=made.losses,
        splitters=_pick_splitters(class_keys),
    )


def _gather_region(workspace: Workspace, item: RegionItem) -> pa.Table:
    """The region's records, subset by subset, within a subset by position."""
    pieces, subset_of = [], []
    for index in range(item.starts.shape[0]):
        if (item.starts[index] == item.stops[index]).all():
            continue
        table = read_table(workspace.unit("encode", index).path("records"))
        for s, (start, stop) in enumerate(zip(item.starts[index], item.stops[index], strict=True)):
            if start < stop:
                pieces.append(table.slice(start, stop - start))
                subset_of.append(np.full(stop - start, s, dtype=np.int32))
    table = pa.concat_tables(pieces).combine_chunks()
    order = np.lexsort((column_array(table, POSITION), np.concatenate(subset_of)))
    return table.take(pa.array(order)).combine_chunks()


def _stack_codes(table: pa.Table, plan: Plan) -> Int64:
    columns = [column_array(table, f"c{a}") for a in range(len(plan.confidential))]
    return np.array(columns, dtype=np.int64).reshape(len(columns), len(table))


def key_encodings(plan: Plan) -> list[Encoding]:
    """What a class is told by, in the release's order: partition columns, then the other QIs."""
    by_name = {e.column.name: e for e in (*plan.hard, *plan.encodings)}
    first = [by_name[name] for name in plan.partition_by]
    return first + [e for e in plan.encodings if e.column.name not in plan.partition_by]


def _key_columns(plan: Plan, hard_codes: tuple[int, ...], released: list[Keys]) -> list[Keys]:
    n_classes = released[0].size
    columns = {e.column.name: k for e, k in zip(plan.encodings, released, strict=True)}
    for encoding, code in zip(plan.hard, hard_codes, strict=True):
        columns[encoding.column.name] = np.full(n_classes, code, dtype=np.int64)
    return [columns[e.column.name] for e in key_encodings(plan)]


def _pick_splitters(columns: list[Keys]) -> list[tuple[Any, ...]]:
    n_classes = columns[0].size
    n_picked = min(SPLITTERS_PER_REGION, n_classes)
    picked = [n_classes * i // n_picked for i in range(n_picked)]
    return [tuple(column[i].item() for column in columns) for i in picked]


@dataclass(frozen=True)
class StretchItem:
    """A stretch of the release: the classes whose key is from ``low`` on and before ``high``."""

    low: tuple[Any, ...] | None
    high: tuple[Any, ...] | None
    regions: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class StretchResult:
    """What verification found in a stretch, and what rows it has for each output folder.

    ``segments``: (codes of the partition columns, rows), in order; ``first`` and ``last`` class key.
    """

    checks: ClassChecks | None
    segments: list[tuple[tuple[int | float, ...], int]]
    first: tuple[Any, ...] | None
    last: tuple[Any, ...] | None


def verify_unit(workspace: Workspace, item: StretchItem, drafts: Drafts) -> StretchResult:
    """Sort a stretch into the release's order, check its classes, write its rows as released."""
    plan: Plan = load_shared(workspace, "plan")
    classes, rows = _gather_stretch(workspace, plan, item)
    if not len(classes):
        return StretchResult(None, [], None, None)
    keys = [column_array(classes, f"k{j}") for j in range(len(key_encodings(plan)))]
    by_keys = np.lexsort(keys[::-1])
    changed = find_changes([column[by_keys] for column in keys])
    class_of = np.empty(len(classes), dtype=np.int64)
    class_of[by_keys] = np.cumsum(changed) - 1
    of_row = np.repeat(class_of, column_array(classes, "size"))
    order = _canonical_order(of_row, rows, plan)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(of_row))])
    if rows is not None:
        rows = rows.take(pa.array(order))
    class_keys = [column[by_keys][changed] for column in keys]
    codes = _stack_codes(rows, plan) if rows is not None else np.empty((0, of_row.size), np.int64)
    checks = check_classes(starts, codes, load_distributions(workspace, plan), plan.max_emds)
    for a in range(len(plan.confidential)):
        counted = {(): count_values(codes[a])}
        _write_counts(counted, drafts.new(f"counts{a}"))
    table = _released_table(plan, class_keys, starts, rows, codes, workspace)
    write_table(table, drafts.new("released"))
    ends = [tuple(column[i].item() for column in class_keys) for i in (0, -1)]
    return StretchResult(checks, _segments(plan, class_keys, starts), ends[0], ends[1])


def _gather_stretch(
    workspace: Workspace, plan: Plan, item: StretchItem
) -> tuple[pa.Table, pa.Table | None]:
    classes, rows = [], []
    n_keys = len(key_encodings(plan))
    for region in item.regions:
        unit = workspace.unit("microaggregate", region)
        table = read_table(unit.path("classes"))
        columns = [column_array(table, f"k{j}") for j in range(n_keys)]
        first = _first_at_least(columns, item.low) if item.low else 0
        last = _first_at_least(columns, item.high) if item.high else len(table)
        if first >= last:
            continue
        ends = np.cumsum(column_array(table, "size"))
        begin = int(ends[first - 1]) if first else 0
        classes.append(table.slice(first, last - first))
        if unit.path("rows").exists():
            rows.append(read_table(unit.path("rows")).slice(begin, int(ends[last - 1]) - begin))
    if not classes:
        return table.slice(0, 0), None
    return (
        pa.concat_tables(classes).combine_chunks(),
        pa.concat_tables(rows).combine_chunks() if rows else None,
    )


def _first_at_least(columns: list[Keys], key: tuple[Any, ...]) -> int:
    """Position of the first row whose key is not below ``key``: binary search."""
    low, high = 0, columns[0].size
    while low < high:
        middle = (low + high) // 2
        if tuple(column[middle].item() for column in columns) < key:
            low = middle + 1
        else:
            high = middle
    return low


def _canonical_order(of_row: Int64, rows: pa.Table | None, plan: Plan) -> Int64:
    """Rows by class, confidential values, then what is carried: by released values alone."""
    if rows is None:
        return np.argsort(of_row, kind="stable")
    last = [
        pc.rank(rows[f"x{i}"].combine_chunks(), tiebreaker="dense").to_numpy()
        for i in range(len(plan.carried))
    ]
    codes = [column_array(rows, f"c{a}") for a in range(len(plan.confidential))]
    return np.lexsort([*last[::-1], *codes[::-1], of_row])


def _released_table(
    plan: Plan,
    class_keys: list[Keys],
    starts: Int64,
    rows: pa.Table | None,
    codes: Int64,
    workspace: Workspace,
) -> pa.Table:
    """The rows as the release holds them, in the columns' order of the input."""
    columns: dict[str, Any] = {}
    class_of_row = pa.array(np.repeat(np.arange(starts.size - 1), np.diff(starts)))
    for encoding, keys in zip(key_encodings(plan), class_keys, strict=True):
        columns[encoding.column.name] = encoding.decode(keys).take(class_of_row)
    distributions = load_distributions(workspace, plan)
    for encoding, distribution, of_attribute in zip(
        plan.confidential, distributions, codes, strict=True
    ):
        columns[encoding.column.name] = encoding.decode(distribution.values[of_attribute])
    for i, column in enumerate(plan.carried):
        assert rows is not None
        columns[column.name] = rows[f"x{i}"]
    return pa.table({name: columns[name] for name in plan.released})


def _segments(
    plan: Plan, class_keys: list[Keys], starts: Int64
) -> list[tuple[tuple[int | float, ...], int]]:
    n_columns = len(plan.partition_by)
    if not n_columns:
        return [((), int(starts[-1]))]
    columns = class_keys[:n_columns]
    first = np.flatnonzero(find_changes(columns))
    ends = np.append(first[1:], starts.size - 1)
    return [
        (tuple(column[a].item() for column in columns), int(starts[b] - starts[a]))
        for a, b in zip(first, ends, strict=True)
    ]


@dataclass(frozen=True)
class FileItem:
    """A file of the release: its path, and the rows of stretches that it holds."""

    path: str
    pieces: tuple[tuple[int, int, int], ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class FileResult:
    """What was written."""

    path: str
    rows: int
    bytes: int
    sha256: str


def write_unit(workspace: Workspace, item: FileItem, drafts: Drafts) -> FileResult:
    """Write one Parquet file, read it back, and compare it with the rows that were verified."""
    tables = [
        read_table(workspace.unit("verify", index).path("released"))
        .select(list(item.columns))
        .slice(start, stop - start)
        for index, start, stop in item.pieces
    ]
    table = pa.concat_tables(tables)
    path = drafts.new("parquet")
    pq.write_table(table, path, row_group_size=ROW_GROUP_ROWS)
    if not pq.read_table(path, partitioning=None).equals(table):
        raise VerificationError(f"file {item.path}: does not read back as it was written")
    return FileResult(item.path, len(table), path.stat().st_size, file_sha256(path))

