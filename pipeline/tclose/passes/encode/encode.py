"""The encode pass: every record's place, each partition sorted by it once."""

import numpy as np

from tclose.errors import VerificationError
from tclose.passes.encode.encode_task import ENCODE_TASK, HISTOGRAM, EncodeInput
from tclose.passes.plan.plan import PLAN
from tclose.passes.plan.plan_files import BUCKETED_VALUES
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
    if int(histogram.sum()) != context.read(PLAN).n_records:
        raise VerificationError("records were lost between two passes; run again")
    context.write(HISTOGRAM, histogram)


ENCODE = Pass(
    "encode",
    "Give every record its subset, leaf and keys.",
    reads=(PLAN, JOINTS, DISTRIBUTIONS, BUCKETED_VALUES, SOURCE, PARTITIONS),
    writes=(HISTOGRAM,),
    tasks=(ENCODE_TASK,),
    work=encode_records,
)
