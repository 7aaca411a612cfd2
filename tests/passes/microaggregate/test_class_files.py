"""Classes on disk: a key range gets its own, with their records, of keys of every kind."""

from bisect import bisect_left
from contextlib import AbstractContextManager
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable
from tclose.passes.microaggregate.aggregate_task import AGGREGATE_TASK
from tclose.passes.microaggregate.class_files import (
    CLASSES,
    StoredClasses,
    join_classes,
    read_key_range,
)
from tclose.runtime.artifacts.artifacts import PendingFiles, Workspace

pytestmark = pytest.mark.usefixtures("small_regions")

numbers = st.tuples(st.integers(-3, 3), st.sampled_from([-0.5, 0.0, 2.0**60, 1e300]))
texts = st.tuples(st.sampled_from(["", "[1, 2]", "é", '"a\\u0000"', "b"]), st.integers(0, 2))


@st.composite
def classes(draw: st.DrawFn) -> tuple[StoredClasses, list[tuple]]:
    """Classes in the order of their keys, equal ones among them; and keys to cut at."""
    of = draw(st.sampled_from([numbers, texts]))
    keys = sorted(draw(st.lists(of, min_size=1, max_size=12)))
    sizes = np.array(draw(st.lists(st.integers(1, 4), min_size=len(keys), max_size=len(keys))))
    rows = np.arange(sizes.sum())
    codes = np.array([rows + 100 * a for a in range(draw(st.integers(0, 2)))], np.int64)
    passthrough = pa.table({"x0": [str(row) for row in rows]} if draw(st.booleans()) else {})
    held = StoredClasses(
        [np.array(column) for column in zip(*keys, strict=True)],
        sizes,
        codes.reshape(-1, rows.size),
        passthrough,
    )
    return held, sorted(draw(st.lists(of, max_size=3)))


def as_rows(found: StoredClasses) -> list[tuple]:
    """Each record with its class's key."""
    keys = list(zip(*(column.tolist() for column in found.keys), strict=True))
    of_row = np.repeat(np.arange(found.sizes.size), found.sizes).tolist()
    held = [*found.codes.tolist(), *(column.to_pylist() for column in found.passthrough.columns)]
    return [(keys[c], *(column[i] for column in held)) for i, c in enumerate(of_row)]


def region_files(workspace: Workspace) -> AbstractContextManager[PendingFiles]:
    task = AGGREGATE_TASK
    return workspace.task_files(task.name, "region").pending_files(task.files)


class TestKeyRanges:
    @repeatable
    @given(classes())
    def test_every_class_is_in_the_one_that_its_key_lies_in(self, tmp_path_factory, drawn):
        held, cuts = drawn
        workspace = Workspace(tmp_path_factory.mktemp("unit"))
        with region_files(workspace) as pending:
            kind = held.write(pending)
        keys = list(zip(*(column.tolist() for column in held.keys), strict=True))
        ends = [0, *(bisect_left(keys, cut) for cut in cuts), len(keys)]
        limits, parts = [None, *cuts, None], []
        for i, (low, high) in enumerate(pairwise(limits)):
            found = read_key_range(workspace, "region", kind, (low, high), len(held.codes))
            assert (found is None) == (ends[i] == ends[i + 1])
            if found is not None:
                assert [k for k, *_ in as_rows(found)] == [
                    key
                    for c in range(ends[i], ends[i + 1])
                    for key in [keys[c]] * int(held.sizes[c])
                ]
                parts.append(found)
        assert as_rows(join_classes(parts)) == as_rows(held)


class TestDamage:
    @pytest.mark.parametrize("n_bytes", [0, 17])
    def test_a_shorter_file_is_told(self, n_bytes, tmp_path):
        workspace = Workspace(tmp_path)
        held = StoredClasses(
            [np.arange(3)], np.ones(3, np.int64), np.zeros((1, 3), np.int64), pa.table({})
        )
        with region_files(workspace) as pending:
            kind = held.write(pending)
        path = workspace.file(CLASSES, "region").path
        path.write_bytes(path.read_bytes()[:n_bytes])
        with pytest.raises(OSError, match="working file"):
            read_key_range(workspace, "region", kind, (None, None), 1)
