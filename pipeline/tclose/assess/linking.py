"""The intruder of a sample: their records linked to the rows that verification made of it."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tclose.assess.covering import measure_covering
from tclose.assess.linkage import measure_linkage
from tclose.assess.sample import Sample
from tclose.passes.plan.plan import PLAN
from tclose.passes.verify.key_range_task import KEY_RANGES, RELEASED
from tclose.runtime.artifacts.arrays import column_array
from tclose.runtime.run import Run


def read_verified_rows(run: Run) -> Iterator[pa.Table]:
    """The rows that verification made, in batches, in the release's order."""
    for index in range(len(run.workspace.load(KEY_RANGES))):
        rows = run.workspace.file(RELEASED, index)
        if rows.exists:
            yield rows.read()


def link_attackers(run: Run, sample: Sample) -> float:
    """Record-linkage risk of a run of a sample, whose rows are told by their numbers."""
    encodings = run.workspace.load(PLAN).encodings
    names = [encoding.column.name for encoding in encodings]
    pieces = [table.select([*names, sample.number]) for table in read_verified_rows(run)]
    released = pa.concat_tables(pieces).combine_chunks()
    if any(encoding.generalised for encoding in encodings):
        return measure_covering(sample.originals, released, encodings)
    numbers = column_array(released, sample.number)
    by_number = np.argsort(numbers)
    own = by_number[np.searchsorted(numbers, sample.attackers, sorter=by_number)]
    return measure_linkage(sample.originals, own, released, encodings)
