"""The counts of every confidential attribute, merged range by range into distributions."""

from itertools import pairwise
from typing import Any

import numpy as np

from tclose.data.encodings import make_encoding
from tclose.data.keys import to_values
from tclose.data.value_counts import ColumnSummary
from tclose.model.attributes import Column
from tclose.model.column_terms import Kind
from tclose.model.distribution import make_distribution
from tclose.passes.summarise.input_summary import InputSummary
from tclose.passes.summarise.records import DISTRIBUTIONS
from tclose.passes.summarise.summarise_task import (
    DISTRIBUTE_TASK,
    MERGED_COUNTS,
    VALUE_COUNTS,
    CountsSlice,
    DistributeInput,
)
from tclose.runtime.artifacts.artifacts import Workspace
from tclose.runtime.pipeline import PassContext

MERGED_VALUES = 4_000_000


def distribute(context: PassContext, summary: InputSummary) -> None:
    """Merge the counts of every confidential attribute, range by range, into distributions."""
    workspace = context.workspace
    items = [
        item
        for attribute, column in enumerate(summary.source.confidential)
        if column.kind is not Kind.NOMINAL
        for item in _range_items(workspace, summary, attribute)
    ]
    for attribute, column in enumerate(summary.source.confidential):
        if column.kind is Kind.NOMINAL:
            _write_nominal(workspace, attribute, column, summary.table.columns[column.name])
    if not items:
        return
    sizes = context.map(DISTRIBUTE_TASK, items)
    for attribute in range(len(summary.source.confidential)):
        parts = [i for i, item in enumerate(items) if item.attribute == attribute]
        if parts:
            _join_ranges(workspace, attribute, parts, [sizes[i] for i in parts])


def _write_nominal(
    workspace: Workspace, attribute: int, column: Column, summary: ColumnSummary
) -> None:
    """Write the distribution of nominal values, which pass 1 has counted, in their order."""
    categories = make_encoding(column, summary).categories
    assert categories is not None
    counts = np.array([summary.categories[v] for v in to_values(categories)], dtype=np.int64)
    distribution = make_distribution(np.arange(counts.size), counts)
    workspace.new_file(DISTRIBUTIONS, attribute).write(distribution)


def _range_items(
    workspace: Workspace, summary: InputSummary, attribute: int
) -> list[DistributeInput]:
    """Ranges of about equal numbers of entries; where they are cut changes no result."""
    slices = tuple(
        CountsSlice(index, start, stop)
        for index, piece in enumerate(summary.pieces)
        for start, stop in piece.spans[attribute].values()
    )
    n_entries = sum(part.stop - part.start for part in slices)
    n_ranges = max(1, -(-n_entries // MERGED_VALUES))
    cuts: list[Any] = [None]
    if n_ranges > 1:
        picked = np.sort(np.concatenate([_pick(workspace, attribute, part) for part in slices]))
        cuts += [picked[picked.size * i // n_ranges].item() for i in range(1, n_ranges)]
    cuts.append(None)
    return [DistributeInput(attribute, slices, low, high) for low, high in pairwise(cuts)]


def _pick(workspace: Workspace, attribute: int, part: CountsSlice) -> np.ndarray:
    counts = workspace.file(VALUE_COUNTS, part.index, attribute).read()
    return np.array(counts["value"][part.start : part.stop : 1024])


def _join_ranges(workspace: Workspace, attribute: int, parts: list[int], sizes: list[int]) -> None:
    """Write a distribution's arrays part by part; memory stays at one part."""
    distribution = workspace.new_file(DISTRIBUTIONS, attribute)
    dtypes: dict[str, Any] = {
        "values": workspace.file(MERGED_COUNTS, parts[0]).read()["value"].dtype,
        "cumulative": np.int64,
        "prefix": np.int64,
    }
    maps = {
        part: distribution.part(part).map_new(dtype, (sum(sizes) + (part == "prefix"),))
        for part, dtype in dtypes.items()
    }
    filled, records, work = 0, 0, 0
    for index in parts:
        rows = workspace.file(MERGED_COUNTS, index).read()
        stop = filled + rows.size
        maps["values"][filled:stop] = rows["value"]
        cumulative = np.cumsum(rows["count"], out=maps["cumulative"][filled:stop])
        cumulative += records
        prefix = np.cumsum(cumulative, out=maps["prefix"][filled + 1 : stop + 1])
        prefix += work
        if rows.size:
            filled, records, work = stop, int(cumulative[-1]), int(prefix[-1])
    for array in maps.values():
        array.flush()
