"""The adversary of a sample: his records linked to the rows that verification made of it."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from pipeline.execution.run import Run
from pipeline.execution.sample import Sample
from pipeline.stages.covering import measure_covering
from pipeline.stages.linkage import measure_linkage
from pipeline.storage.tables import column_array, read_table


def read_rows(run: Run) -> Iterator[pa.Table]:
    """The rows that verification made, stretch by stretch, in the release's order."""
    for index in range(len(run.workspace.load("stretches"))):
        path = run.workspace.unit("verify", index).path("released")
        if path.exists():
            yield read_table(path)


def link_attackers(run: Run, sample: Sample) -> float:
    """Record-linkage risk of a run of a sample, whose rows are told by their numbers."""
    encodings = run.workspace.load("plan").encodings
    names = [encoding.column.name for encoding in encodings]
    pieces = [table.select([*names, sample.number]) for table in read_rows(run)]
    released = pa.concat_tables(pieces).combine_chunks()
    if any(encoding.generalised for encoding in encodings):
        return measure_covering(sample.originals, released, encodings)
    numbers = column_array(released, sample.number)
    by_number = np.argsort(numbers)
    own = by_number[np.searchsorted(numbers, sample.attackers, sorter=by_number)]
    return measure_linkage(sample.originals, own, released, encodings)
