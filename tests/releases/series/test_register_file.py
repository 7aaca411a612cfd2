"""A register has what was written, is the same for the same persons, and nothing else is one."""

import io
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest

from tclose.model.distribution import TreeMetric
from tclose.releases.series.register_file import (
    Centre,
    ReleasedPersons,
    read_register,
    tabulate,
    write_register,
)

METRIC = TreeMetric(np.array([[0, 2], [1, 2]]), np.array([1, 1, 2]), 4, np.array([1, 1, 3]))
CODES = np.array([[0, 2, 1, 1], [1, 0, 1, 1]])


def persons() -> ReleasedPersons:
    return ReleasedPersons(
        "people 0123",
        np.array([[9, 2**64 - 1], [0, 1], [9, 3], [7, 7]], dtype=np.uint64),
        np.array([0, 0, 1, 1]),
        ("pay", "job"),
        (Fraction(1, 3), Fraction(1, 10)),
        CODES,
        (tabulate(CODES[0], 4), tabulate(CODES[1], 2, METRIC)),
    )


def full() -> ReleasedPersons:
    return replace(
        persons(),
        forgotten=np.array([[5, 6]], dtype=np.uint64),
        key_id="00ff00ff00ff00ff",
        stale=np.array([0, 0, 2, 0]),
        centres=(Centre("age", None, ()), Centre("sex", "mode", ("ab", "cd"))),
    )


@pytest.mark.parametrize("written", [persons(), full()], ids=["least", "all"])
def test_what_is_read_is_what_was_written(written: ReleasedPersons) -> None:
    content = write_register(written)
    there = read_register(content)
    for field in fields(ReleasedPersons):
        if field.name != "tables":
            before, after = getattr(written, field.name), getattr(there, field.name)
            assert np.array_equal(before, after), field.name
    for before, after in zip(written.tables, there.tables, strict=True):
        assert after.cumulative.tolist() == before.cumulative.tolist()
    assert there.tables[0].metric is None
    metric = there.tables[1].metric
    assert metric is not None
    assert metric.paths.tolist() == METRIC.paths.tolist()
    assert (metric.denominator, metric.numerators.tolist()) == (4, [1, 1, 2])
    assert write_register(there) == content


def test_the_table_is_of_all_rows_and_of_values_that_none_has() -> None:
    table = tabulate(np.array([2, 0, 2]), 5)
    assert table.cumulative.tolist() == [1, 1, 3, 3, 3]
    assert table.prefix.tolist() == [0, 1, 2, 5, 8, 11]


def rewritten(about: bytes | None) -> bytes:
    """A register that says something else of itself."""
    table = pq.read_table(io.BytesIO(write_register(persons())))
    sink = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(about and {b"tclose": about}), sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no register"),
        (b"nothing", "is no register"),
        (rewritten(None), "is no register"),
        (rewritten(b'{"version": 2}'), "is of version 2"),
        (rewritten(b'{"version": 1}'), "is no register"),
        (rewritten(b'{"version": 1, "release": "a", "attributes": [{"name": "pay"}]}'),
         "is no register"),
    ],
    ids=["empty", "no Parquet", "no metadata", "later", "no attributes", "no t"],
)  # fmt: skip
def test_anything_else_is_no_register(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_register(content)
