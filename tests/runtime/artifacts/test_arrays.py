"""Working tables on disk: class keys of both kinds, and distributions that are replaced."""

import errno
import gc
import os
import resource
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psutil
import pyarrow as pa
import pytest

from tclose.model.distribution import make_distribution
from tclose.runtime.artifacts.arrays import (
    ArrayFile,
    ColumnsFile,
    DistributionFile,
    RecordsFile,
    TableFile,
    key_array,
)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([3, -1, 2**62], "i"),
        ([0.5, -0.25], "f"),
        (["[1, 2]", "é", '"a\\u0000"', ""], "U"),
        ([], "i"),
        (pa.array([], pa.string()), "U"),
    ],
)
def test_class_keys_are_numbers_or_texts(values, kind, tmp_path):
    array = values if isinstance(values, pa.Array) else pa.array(values, None if values else "i8")
    file = TableFile(tmp_path / "classes")
    file.write(pa.table({"k0": array}))
    keys = key_array(file.read(), "k0")
    assert keys.dtype.kind == kind
    assert keys.tolist() == array.to_pylist()


@pytest.mark.parametrize("pieces", [[], [[]], [[1, -2], [], [2**62]]])
@pytest.mark.parametrize("is_narrow", [False, True])
def test_pieces_of_an_array_are_read_as_one(pieces, is_narrow, tmp_path):
    """Of the type that holds all, where those of some are narrow."""
    file = ArrayFile(tmp_path / "joined")
    types = [np.int32 if is_narrow and max(p, default=0) < 2**31 else np.int64 for p in pieces]
    file.write_pieces([np.array(p, dtype) for p, dtype in zip(pieces, types, strict=True)])
    joined = file.read()
    assert joined.dtype == (np.int64 if np.int64 in types else np.int32)
    assert joined.tolist() == [number for piece in pieces for number in piece]


@pytest.fixture
def threads_that_alternate() -> Iterator[None]:
    """Memory is collected all the time, and another thread goes on whenever it is."""

    def let_others_go_on(phase, info):
        del phase, info
        time.sleep(0)

    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    gc.callbacks.append(let_others_go_on)
    gc.set_threshold(10)
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*thresholds)
    gc.callbacks.remove(let_others_go_on)


@pytest.mark.usefixtures("threads_that_alternate")
def test_threads_read_side_by_side(tmp_path):
    """Python's syntax trees, by which numpy reads a header, must not be made in two at once."""
    file = ArrayFile(tmp_path / "array")
    file.write(np.arange(5))
    with ThreadPoolExecutor(3) as threads:
        sums = list(threads.map(lambda _: int(file.read().sum()), range(600)))
    assert sums == [10] * 600


@pytest.fixture
def short_files() -> Iterator[None]:
    """Files of at most 4 kB, beyond which nothing can be written."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("short_files")
def test_array_that_is_not_written_whole_says_why(tmp_path):
    file = ArrayFile(tmp_path / "array")
    for write in (file.write, lambda array: file.write_pieces([array, array])):
        with pytest.raises(OSError, match="File too large") as error:
            write(np.arange(10_000))
        assert (error.value.errno, error.value.filename) == (errno.EFBIG, str(tmp_path))


def test_texts_of_several_pieces_sort_as_the_release_does():
    pieces = pa.chunked_array([["b", "[2, 3]"], ["[10, 11]", "ab"]])
    keys = key_array(pa.table({"k0": pieces}), "k0")
    assert keys[np.argsort(keys)].tolist() == sorted(pieces.to_pylist())


@pytest.mark.parametrize(
    ("starts", "sizes", "rows"),
    [
        ([2], [3], [2, 3, 4]),
        ([7, 0, 4], [2, 1, 0], [7, 8, 0]),
        ([0, 9], [0, 0], []),
    ],
)
def test_ranges_of_rows_are_copies(starts, sizes, rows, tmp_path):
    texts = [str(i) for i in range(9)]
    file = TableFile(tmp_path / "table")
    file.write(pa.table({"a": range(9), "b": texts}))
    found = file.read_rows(np.array(starts), np.array(sizes))
    file.path.write_bytes(b"\0" * file.path.stat().st_size)
    assert found.to_pydict() == {"a": rows, "b": [texts[i] for i in rows]}


class TestRecords:
    DTYPE = np.dtype([("position", "i8"), ("q0", "f8")])

    def written(self, tmp_path, n_records):
        records = np.empty(n_records, dtype=self.DTYPE)
        records["position"] = np.arange(n_records)
        records["q0"] = np.arange(n_records) / 4
        RecordsFile(tmp_path / "records").write(records)
        return records

    def test_ranges_come_back(self, tmp_path):
        records = self.written(tmp_path, 9)
        file = RecordsFile(tmp_path / "records")
        found = file.read(self.DTYPE, np.array([7, 3, 0]), np.array([2, 0, 1]))
        assert found.tolist() == records[[7, 8, 0]].tolist()

    def test_of_none(self, tmp_path):
        self.written(tmp_path, 0)
        assert (tmp_path / "records").read_bytes() == b""

    def test_shorter_file_is_no_file(self, tmp_path):
        self.written(tmp_path, 9)
        file = RecordsFile(tmp_path / "records")
        with pytest.raises(OSError, match="shorter"):
            file.read(self.DTYPE, np.array([7]), np.array([3]))


def test_distribution_comes_back(tmp_path):
    made = make_distribution(np.array([-0.5, 1.25, 7]), np.array([2, 1, 4]))
    file = DistributionFile(tmp_path / "distribution")
    file.write(made)
    found = file.read()
    assert found.values.tolist() == [-0.5, 1.25, 7]
    assert found.cumulative.tolist() == [2, 3, 7]
    assert found.prefix.tolist() == [0, 2, 5, 12]
    assert found.counts.tolist() == [2, 1, 4]
    assert not found.values.flags.writeable


def test_distribution_that_is_replaced_leaves_its_readers_what_they_had(tmp_path):
    """Units of work have mapped the values when buckets take their place."""
    file, other = DistributionFile(tmp_path / "distribution"), DistributionFile(tmp_path / "other")
    file.write(make_distribution(np.arange(1000), np.ones(1000, np.int64)))
    before = file.read()
    file.write(make_distribution(np.arange(2), np.array([400, 600])))
    assert before.values[-1] == 999
    assert before.cumulative[-1] == 1000
    assert file.read().cumulative.tolist() == [400, 1000]
    other.write(file.read())
    assert other.read().counts.tolist() == [400, 600]


def test_files_that_are_mapped_are_not_open(tmp_path):
    """A task may read one of each piece of the table, of which there are thousands."""
    ArrayFile(tmp_path / "array").write(np.arange(5))
    ColumnsFile(tmp_path / "columns").write([np.arange(5)])
    before = psutil.Process().num_fds()
    arrays = [ArrayFile(tmp_path / "array").read() for _ in range(5)]
    arrays += [ColumnsFile(tmp_path / "columns").map(np.dtype([("a", "i8")]))["a"]]
    assert psutil.Process().num_fds() == before
    for array in arrays:
        assert array.tolist() == [0, 1, 2, 3, 4]
        assert not array.flags.writeable


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.zeros((2, 0), dtype=np.uint64),
        np.array(5),
        np.array([(1, 0.5), (2, -1.0)], dtype=[("value", "i4"), ("count", "f8")]),
    ],
    ids=["rows", "columns", "empty", "number", "fields"],
)
def test_arrays_come_back(array, tmp_path):
    file = ArrayFile(tmp_path / "array")
    file.write(array)
    found = file.read()
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.flags.f_contiguous == array.flags.f_contiguous
    assert found.tolist() == array.tolist()


def test_array_that_is_shorter_than_it_was_written_is_none(tmp_path):
    file = ArrayFile(tmp_path / "array")
    file.write(np.arange(5))
    os.truncate(file.path, file.path.stat().st_size - 1)
    with pytest.raises(OSError, match="shorter"):
        file.read()
