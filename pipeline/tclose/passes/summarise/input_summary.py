"""The result of pass 1."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tclose.data.keys import Keys
from tclose.data.value_counts import ColumnSummary, TableSummary
from tclose.data.widths import NO_WIDTHS, PassthroughWidths
from tclose.errors import DataError
from tclose.model.array_types import Int64
from tclose.model.attributes import Column
from tclose.model.grouping import ROOT
from tclose.model.input_pieces import Partition
from tclose.passes.summarise.records import DatesAhead, Source
from tclose.passes.summarise.streaming import join_samples
from tclose.passes.summarise.summarise_task import PartitionSummary
from tclose.runtime.artifacts.artifacts import Artifact
from tclose.runtime.tasks import merge_in_tree


@dataclass(frozen=True, eq=False)
class InputSummary:
    """The summaries of pass 1, by partition and of all together.

    ``scale_keys``: of the columns whose scale is measured, sampled keys, ascending; ``sampled``: of
    the deciding columns, a number for each value of some records, equal where values are;
    ``carried``: the same of the others; ``ahead``: dates that are read as days to come.
    """

    source: Source
    pieces: list[PartitionSummary]
    table: TableSummary
    passthrough: PassthroughWidths = NO_WIDTHS
    scale_keys: dict[str, Keys] = field(default_factory=dict)
    sampled: dict[str, Int64] = field(default_factory=dict)
    carried: dict[str, Int64] = field(default_factory=dict)
    ahead: tuple[DatesAhead, ...] = ()


def merge_summaries(source: Source, pieces: list[PartitionSummary]) -> InputSummary:
    """All partitions' summaries as one."""
    table = merge_in_tree(TableSummary.merge, [piece.table for piece in pieces])
    passthrough = merge_in_tree(PassthroughWidths.merge, [piece.passthrough for piece in pieces])
    scale_keys = {
        name: np.sort(np.concatenate([piece.scale_keys[name] for piece in pieces]))
        for name in source.scaled
    }
    sampled = join_samples([piece.sampled for piece in pieces])
    carried = join_samples([piece.carried for piece in pieces])
    pieces = [replace(piece, scale_keys={}, sampled={}, carried={}) for piece in pieces]
    return InputSummary(source, pieces, table, passthrough, scale_keys, sampled, carried)


def forget_left_out(summary: InputSummary, partitions: Sequence[Partition]) -> InputSummary:
    """The summary without the records that are left out: no value of theirs is missing."""
    reading, table = summary.source.reading, summary.table
    n_left_out = sum(partition.left_out.size for partition in partitions)
    if reading.hidden is None or not n_left_out:
        return summary
    of_hidden = table.columns[reading.hidden]
    counted = replace(of_hidden, n_missing=of_hidden.n_missing - n_left_out)
    columns = table.columns | {reading.hidden: counted}
    table = replace(table, n_read=table.n_read - n_left_out, columns=columns)
    return replace(summary, table=table)


def grow_taxonomies(summary: InputSummary) -> InputSummary:
    """The summary with the taxonomies of grouped columns, made of the values that were counted.

    Raises
    ------
    DataError
        A value could be taken for the name of a group.
    """
    counted = summary.table.columns
    columns = tuple(_group(c, counted.get(c.name)) for c in summary.source.columns)
    return replace(summary, source=replace(summary.source, columns=columns))


def _group(column: Column, counted: ColumnSummary | None) -> Column:
    grouping = column.attribute.grouping
    if grouping is None or counted is None:
        return column
    texts = sorted(str(value) for value in counted.categories if value is not None)
    if not all(text.strip() for text in texts):
        kind = "empty values" if "" in texts else "values of blanks alone"
        raise DataError(
            f"column {column.name!r}: has {kind}, which are in no group; store them as "
            "missing, or write them otherwise"
        )
    n_alike = sum(text.endswith(ROOT) for text in texts)
    if n_alike:
        raise DataError(
            f"column {column.name!r}: {n_alike:,} of its values end in {ROOT!r}, as names of "
            "groups do; write them otherwise, or give a taxonomy"
        )
    rows = tuple(map(grouping.chain, texts))
    return replace(column, attribute=replace(column.attribute, taxonomy=rows))


INPUT_SUMMARY = Artifact("summary", InputSummary, version=6)
PARTITIONS = Artifact("partitions", tuple[Partition, ...], version=4)
