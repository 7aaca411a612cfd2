"""Registers: read back as they were written, and refused where they are not what was published."""

import hashlib
import io
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tclose.errors import OutputError
from tclose.model.distribution import TreeMetric
from tclose.releases.manifest.inside_sections import SeriesEntry
from tclose.releases.series.register_file import (
    Centre,
    ReleasedPersons,
    ValueSpace,
    load_register,
    read_register,
    write_register,
)
from tclose.releases.series.series_history import SeriesRelease

pytestmark = pytest.mark.every_case  # each takes milliseconds

HASHES = np.array([[1, 2**64 - 1], [2**63, 0], [1, 7]], dtype=np.uint64)
TREE = TreeMetric(
    paths=np.array([[1, 0], [2, 0]]),
    numerators=np.array([0, 1, 1]),
    denominator=2,
    below=np.array([3, 1, 2]),
)


def register_of(n: int = 3, **changes: Any) -> ReleasedPersons:
    """A register of the first of three rows, with a numeric and a nominal attribute."""
    codes = np.array([[0, 2, 2], [1, 0, 1]])[:, :n]
    made = ReleasedPersons(
        "people/a1",
        HASHES[:n],
        np.array([0, 0, 1])[:n],
        ("pay", "job"),
        (Fraction(1, 10), Fraction(1, 3)),
        codes,
        (ValueSpace(4), ValueSpace(2, TREE)),
    )
    return replace(made, **changes)


def test_rows_are_read_back_in_their_order() -> None:
    written = register_of()
    found = read_register(write_register(written))
    for name in ("release", "attributes", "limits", "key_id", "centres"):
        assert getattr(found, name) == getattr(written, name)
    for name in ("hashes", "classes", "codes"):
        assert getattr(found, name).tolist() == getattr(written, name).tolist()
    assert found.hashes.dtype == np.uint64
    assert found.stale.size == 0
    assert found.forgotten.shape == (0, 2)


def test_tables_are_counted_from_the_rows() -> None:
    pay, job = read_register(write_register(register_of())).tables
    assert (pay.values.tolist(), pay.cumulative.tolist()) == ([0, 1, 2, 3], [1, 1, 3, 3])
    assert pay.prefix.tolist() == [0, 1, 2, 5, 8]
    assert pay.metric is None
    assert job.metric is not None
    assert job.metric.denominator == 2
    for name in ("paths", "numerators", "below"):
        assert getattr(job.metric, name).tolist() == getattr(TREE, name).tolist()


def test_what_is_not_always_there_is_read_back() -> None:
    centres = (Centre("age", "median", ()), Centre("sex", None, ("0a", "0b")))
    written = register_of(
        forgotten=HASHES[1:], key_id="0123", stale=np.array([0, 2, 0]), centres=centres
    )
    found = read_register(write_register(written))
    assert found.forgotten.tolist() == HASHES[1:].tolist()
    assert (found.key_id, found.stale.tolist(), found.centres) == ("0123", [0, 2, 0], centres)


def test_no_row_that_is_held_is_as_none_was_told() -> None:
    none_held = register_of(stale=np.zeros(3, dtype=np.int64))
    assert write_register(none_held) == write_register(register_of())


def test_a_register_may_be_empty() -> None:
    found = read_register(write_register(register_of(0)))
    assert found.hashes.shape == (0, 2)
    assert found.codes.shape == (2, 0)
    assert [table.cumulative.tolist() for table in found.tables] == [[0] * 4, [0] * 2]


def test_a_register_may_have_no_attribute() -> None:
    bare = register_of(attributes=(), limits=(), codes=np.empty((0, 3), np.int64), spaces=())
    found = read_register(write_register(bare))
    assert found.codes.shape == (0, 3)
    assert found.classes.tolist() == [0, 0, 1]


def test_the_same_persons_have_the_same_bytes() -> None:
    assert write_register(register_of()) == write_register(register_of())
    others = register_of(classes=np.array([0, 1, 1]))
    assert write_register(others) != write_register(register_of())


def rewrite(content: bytes, *, without: str = "", **about: Any) -> bytes:
    """A register whose description or columns somebody has changed."""
    table = pq.read_table(io.BytesIO(content))
    described = json.loads(table.schema.metadata[b"tclose"]) | about
    if without:
        table = table.drop_columns([without])
    sink = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({b"tclose": json.dumps(described)}), sink)
    return sink.getvalue()


def plain_table() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no register"),
        (b"PAR1 and something else PAR1", "is no register"),
        (plain_table(), "is no register"),
        (rewrite(write_register(register_of()), version=2), "is of version 2"),
        (rewrite(write_register(register_of()), without="class"), "is no register"),
        (rewrite(write_register(register_of()), without="value1"), "is no register"),
        (rewrite(write_register(register_of()), attributes=[{}]), "is no register"),
    ],
)
def test_what_is_no_register(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_register(content)


def published(folder: Path, content: bytes, digest: str | None = None) -> SeriesRelease:
    """A release whose register has these bytes, and whose manifest says this digest."""
    place = folder / "people" / "a1"
    (place / "internal").mkdir(parents=True)
    (place / "internal" / "register.parquet").write_bytes(content)
    entry = SeriesEntry(
        series="panel", number=1, k=2, t={}, window=2, departures="report",
        register_sha256=digest or hashlib.sha256(content).hexdigest(),
    )  # fmt: skip
    return SeriesRelease(place, entry)


def test_the_register_of_a_release_is_found(tmp_path: Path) -> None:
    found = load_register(published(tmp_path, write_register(register_of())))
    assert found.classes.tolist() == [0, 0, 1]


def test_a_register_that_is_not_there_is_refused(tmp_path: Path) -> None:
    release = published(tmp_path, b"")
    (release.place / "internal" / "register.parquet").unlink()
    where = r"release people/a1: internal/register\.parquet"
    with pytest.raises(OutputError, match=f"{where} is missing or cannot be read; put it back"):
        load_register(release)


def test_a_register_that_was_changed_is_refused(tmp_path: Path) -> None:
    release = published(tmp_path, write_register(register_of()), digest="0" * 64)
    with pytest.raises(OutputError, match="is not as it was published; put it back"):
        load_register(release)


def test_a_register_of_another_version_names_who_reads_it(tmp_path: Path) -> None:
    release = published(tmp_path, rewrite(write_register(register_of()), version=9))
    with pytest.raises(OutputError, match="is of version 9; read it by the version that wrote it"):
        load_register(release)
