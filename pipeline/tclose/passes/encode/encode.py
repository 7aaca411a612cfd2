"""The encode pass: every record's place, each partition sorted by it once."""

import numpy as np

from tclose.errors import VerificationError
from tclose.passes.encode.encode_task import ENCODE_TASK, HISTOGRAM, EncodeInput
from tclose.passes.persons.person_keys import PERSON_HASHES, PERSON_PLACES
from tclose.passes.persons.person_numbers import NUMBERED
from tclose.passes.persons.person_values import PERSON_SHARES, WEIGH_TASK, merge_person_values
from tclose.passes.plan.plan import PLAN
from tclose.passes.plan.plan_files import BUCKETED_VALUES
from tclose.passes.series.series_units import UNITS
from tclose.passes.summarise.input_summary import PARTITIONS
from tclose.passes.summarise.records import DISTRIBUTIONS, JOINTS, SOURCE
from tclose.runtime.pipeline import Pass, PassContext


def encode_records(context: PassContext) -> None:
    """Encode all partitions, and count the records of each bin.

    Raises
    ------
    VerificationError
        There are not as many records as were planned for.
    """
    partitions = context.read(PARTITIONS)
    counts = context.map(
        ENCODE_TASK,
        [EncodeInput(number, partition) for number, partition in enumerate(partitions)],
        sizes=[partition.n_records for partition in partitions],
    )
    histogram = np.array(counts, dtype=np.int64)
    plan = context.read(PLAN)
    if int(histogram.sum()) != plan.n_records:
        raise VerificationError("records were lost between two passes; run again")
    if plan.persons is not None:
        merge_person_values(context, plan, len(partitions))
    context.write(HISTOGRAM, histogram)


ENCODE = Pass(
    "encode",
    "Give every record its subset, leaf and keys.",
    reads=(
        PLAN,
        JOINTS,
        DISTRIBUTIONS,
        BUCKETED_VALUES,
        SOURCE,
        PARTITIONS,
        PERSON_HASHES,
        PERSON_PLACES,
        NUMBERED,
        UNITS,
    ),
    writes=(HISTOGRAM, PERSON_SHARES),
    tasks=(ENCODE_TASK, WEIGH_TASK),
    work=encode_records,
    version=2,
)
