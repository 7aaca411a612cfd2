"""The result of pass 1."""

from dataclasses import dataclass, field, replace

import numpy as np

from tclose.data.keys import Keys
from tclose.data.value_counts import TableSummary
from tclose.data.widths import NO_WIDTHS, PassthroughWidths
from tclose.model.input_pieces import Partition
from tclose.passes.summarise.records import Source
from tclose.passes.summarise.summarise_task import PartitionSummary
from tclose.runtime.artifacts import Artifact
from tclose.runtime.engines.engine import merge_in_tree


@dataclass(frozen=True, eq=False)
class InputSummary:
    """The summaries of pass 1, by partition and of all together.

    ``scale_keys``: of the columns whose scale is measured, sampled keys, ascending.
    """

    source: Source
    pieces: list[PartitionSummary]
    table: TableSummary
    passthrough: PassthroughWidths = NO_WIDTHS
    scale_keys: dict[str, Keys] = field(default_factory=dict)


def merge_summaries(source: Source, pieces: list[PartitionSummary]) -> InputSummary:
    """All partitions' summaries as one."""
    table = merge_in_tree(TableSummary.merge, [piece.table for piece in pieces])
    passthrough = merge_in_tree(PassthroughWidths.merge, [piece.passthrough for piece in pieces])
    scale_keys = {
        name: np.sort(np.concatenate([piece.scale_keys[name] for piece in pieces]))
        for name in source.scaled
    }
    pieces = [replace(piece, scale_keys={}) for piece in pieces]
    return InputSummary(source, pieces, table, passthrough, scale_keys)


INPUT_SUMMARY = Artifact("summary", InputSummary, version=2)
PARTITIONS = Artifact("partitions", tuple[Partition, ...])
