"""What pass 1 found."""

from dataclasses import dataclass

from pipeline.execution.engine import merge_in_tree
from pipeline.execution.units.reading import PartitionSummary
from pipeline.execution.units.shared import Source
from pipeline.stages.summarise import TableSummary


@dataclass(frozen=True, eq=False)
class Findings:
    """What pass 1 found, partition by partition and all together."""

    source: Source
    pieces: list[PartitionSummary]
    table: TableSummary


def merge_summaries(source: Source, pieces: list[PartitionSummary]) -> Findings:
    """All partitions' summaries as one."""
    table = merge_in_tree(TableSummary.merge, [piece.table for piece in pieces])
    return Findings(source, pieces, table)
