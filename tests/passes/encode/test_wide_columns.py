"""Referenced columns are fetched as they were written, wherever their records stand."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from tclose.passes.encode.wide_columns import (
    WIDE,
    WIDE_ENDS,
    WIDE_SIZES,
    References,
    ReferenceWriter,
)
from tclose.runtime.artifacts.artifacts import Workspace

N = 700
WHOLE = pa.table(
    {
        "x0": pa.array([None if i % 11 == 0 else f"{i}" * (i % 50) for i in range(N)]),
        "x1": pa.array(np.arange(N) / 3),
        "x2": pa.nulls(N),
        "x3": pa.array(["é" * (i % 7) for i in range(N)], pa.large_string()),
    }
)


@pytest.fixture
def references(tmp_path):
    """Three partitions, one without records, columns in two groups, batches of all sizes."""
    workspace, firsts = Workspace(tmp_path), [0, 300, 300]
    cuts = {0: [0, 1, 120, 300], 1: [300, 300], 2: [300, 550, 700]}
    for index, ends in cuts.items():
        files = workspace.task_files("encode", index)
        with files.pending_files((WIDE, WIDE_ENDS, WIDE_SIZES)) as pending:
            for group, names in enumerate((["x0", "x1"], ["x2", "x3"])):
                writer = ReferenceWriter(pending, group)
                for start, stop in pairwise(ends):
                    writer.write(WHOLE.select(names).slice(start, stop - start))
                writer.finish()
    return References(workspace, np.array(firsts))


@pytest.mark.parametrize("seed", range(5))
def test_records_come_in_the_order_asked_for(references, seed):
    rng = np.random.default_rng(seed)
    positions = rng.choice(N, rng.integers(1, N), replace=False)
    found = references.fetch(positions)
    assert found.select(WHOLE.column_names).equals(WHOLE.take(pa.array(positions)))


def test_sizes_are_those_of_the_values(references):
    sizes = references.measure(np.arange(N))
    texts = [len(v or "") for v in WHOLE["x0"].to_pylist()]
    others = [len((v or "").encode()) for v in WHOLE["x3"].to_pylist()]
    assert sizes.tolist() == [8 + a + 8 + 8 + b for a, b in zip(texts, others, strict=True)]
