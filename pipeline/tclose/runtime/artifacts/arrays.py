"""Working tables on disk: Arrow files, and plain arrays by rows or by columns.

All are mapped by Arrow, whose maps keep no file open: a task may read one of every piece of the
table, and there are as many pieces as files of the input, at least.
"""

import contextlib
import errno
import math
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike

from tclose.data.places.process_limits import find_cause
from tclose.model.array_types import Int64
from tclose.model.distribution import Distribution

# Numpy reads a header through Python's syntax trees, which end by a SystemError where two threads
# make some and memory is collected between (CPython before 3.11.8, its issue 106905). Numba
# makes some as it compiles, while no memory is collected.
_ONE_HEADER = threading.Lock()
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


@dataclass(frozen=True)
class WorkingFile:
    """A file of a run, by its path."""

    path: Path

    @property
    def exists(self) -> bool:
        """True if it was written: not every task has something to say."""
        return self.path.exists()


@dataclass(frozen=True)
class TableFile(WorkingFile):
    """An Arrow table, as one record batch; large ones as several."""

    def write(self, table: pa.Table) -> None:
        """Write a table as one record batch."""
        table = table.combine_chunks()
        with pa.OSFile(str(self.path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)

    def write_all(self, tables: Iterable[pa.Table]) -> None:
        """Write tables one after the other, each as record batches of its own."""
        writer = None
        with pa.OSFile(str(self.path), "wb") as sink:
            for table in tables:
                writer = writer or pa.ipc.new_file(sink, table.schema)
                writer.write_table(table.combine_chunks())
            if writer is not None:
                writer.close()

    def read(self) -> pa.Table:
        """Map the table; nothing is copied before it is used."""
        with pa.memory_map(str(self.path)) as source:
            return pa.ipc.open_file(source).read_all()

    def read_slices(self, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Rows from ``start`` to ``stop``, batch by batch.

        One batch is mapped. Of several each is read when its turn comes, and gone when it is let
        go: pages that are mapped stay in memory as long as any of them is needed.
        """
        with pa.memory_map(str(self.path)) as mapped:
            reader = pa.ipc.open_file(mapped)
            sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
            if len(sizes) == 1:
                yield reader.get_batch(0).slice(start, stop - start)
                return
        ends = np.cumsum(sizes)
        with pa.OSFile(str(self.path)) as source:
            reader = pa.ipc.open_file(source)
            for number in np.flatnonzero((ends > start) & (ends - sizes < stop)).tolist():
                first = int(ends[number]) - sizes[number]
                begin = max(0, start - first)
                batch = reader.get_batch(number)
                yield batch.slice(begin, min(stop - first, sizes[number]) - begin)

    def read_rows(self, starts: Int64, sizes: Int64) -> pa.RecordBatch:
        """Copies of ranges of rows, of starts and sizes int64 (r,), not all empty, joined.

        The map is let go at once: with what the system reads around each range, those of many
        files would count as the process's memory.
        """
        ends = np.cumsum(sizes)
        rows = np.repeat(starts - (ends - sizes), sizes) + np.arange(sizes.sum())
        with pa.memory_map(str(self.path)) as source:
            return pa.ipc.open_file(source).get_batch(0).take(pa.array(rows))


@dataclass(frozen=True)
class ArrayFile(WorkingFile):
    """An array in numpy's own format."""

    def write(self, array: np.ndarray) -> None:
        """Write an array."""
        with _naming_cause(self.path), self.path.open("wb") as stream:
            np.save(stream, array)

    def write_pieces(self, pieces: Sequence[np.ndarray]) -> None:
        """Write arrays (n,) of integers one after the other as one, of the type that holds all."""
        shape = (sum(piece.size for piece in pieces),)
        dtype = np.result_type(np.int32, *pieces)
        header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
        with _naming_cause(self.path), self.path.open("wb") as stream:
            np.lib.format.write_array_header_1_0(stream, header)
            for piece in pieces:
                piece.astype(dtype, copy=False).tofile(stream)

    def read(self) -> np.ndarray:
        """Map the array, read-only.

        Raises
        ------
        OSError
            The file is shorter than it was written.
        """
        with pa.memory_map(str(self.path)) as source:
            with _ONE_HEADER:
                version = np.lib.format.read_magic(source)
                shape, is_fortran, dtype = _HEADERS[version](source)
            data = source.read_buffer()
        if data.size < math.prod(shape) * dtype.itemsize:
            raise _too_short()
        return np.ndarray(shape, dtype, data, order="F" if is_fortran else "C")

    def map_new(self, dtype: DTypeLike, shape: tuple[int, ...]) -> np.memmap:
        """Map a new array for writing.

        Its room on disk is taken first: a write through a map that finds none ends the process.

        Raises
        ------
        OSError
            There is no room.
        """
        array = np.lib.format.open_memmap(self.path, "w+", dtype=np.dtype(dtype), shape=shape)
        with self.path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, self.path.stat().st_size)
        return array


@contextlib.contextmanager
def _naming_cause(path: Path) -> Iterator[None]:
    """Say why a file was not written whole, of which numpy says how many values alone."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise find_cause(path) from None
        raise


@dataclass(frozen=True)
class RecordsFile(WorkingFile):
    """A structured array (n,), row by row, and nothing else."""

    def write(self, records: np.ndarray) -> None:
        """Write the array."""
        with self.path.open("wb") as stream:
            stream.write(np.ascontiguousarray(records).view(np.uint8).data)

    def read(self, dtype: np.dtype, starts: Int64, sizes: Int64) -> np.ndarray:
        """Ranges of rows, of starts and sizes int64 (r,), one after the other: a read each.

        Raises
        ------
        OSError
            The file is shorter than that.
        """
        with self.path.open("rb", buffering=0) as stream:
            pieces = []
            for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
                n_bytes, offset = size * dtype.itemsize, start * dtype.itemsize
                pieces.append(os.pread(stream.fileno(), n_bytes, offset))
        records = np.frombuffer(b"".join(pieces), dtype=dtype)
        if records.size != sizes.sum():
            raise _too_short()
        return records


def _too_short() -> OSError:
    return OSError(errno.EIO, "a working file is shorter than it was written")


@dataclass(frozen=True)
class ColumnsFile(WorkingFile):
    """Arrays of one length, one after the other, and nothing else."""

    def write(self, columns: Sequence[np.ndarray]) -> None:
        """Write the arrays."""
        with self.path.open("wb") as stream:
            for column in columns:
                stream.write(np.ascontiguousarray(column).view(np.uint8).data)

    def map(self, dtype: np.dtype) -> dict[str, np.ndarray]:
        """Map the arrays: ``dtype`` has a field of each one's name and type.

        Raises
        ------
        OSError
            The file is empty, or no whole number of rows long.
        """
        n_rows, rest = divmod(self.path.stat().st_size, dtype.itemsize)
        if rest or not n_rows:
            raise OSError(errno.EIO, "a working file is not as long as it was written")
        with pa.memory_map(str(self.path)) as source:
            data = source.read_buffer()
        records, offset = {}, 0
        for name in dtype.names or ():
            records[name] = np.frombuffer(data, dtype[name], n_rows, offset)
            offset += records[name].nbytes
        return records


@dataclass(frozen=True)
class DistributionFile(WorkingFile):
    """A distribution: a file beside the path for each of its three arrays."""

    def part(self, name: str) -> ArrayFile:
        """Return the file of ``values``, ``cumulative`` or ``prefix``."""
        return ArrayFile(self.path.with_name(f"{self.path.name}.{name}.npy"))

    def read(self) -> Distribution:
        """Map the three arrays."""
        values, cumulative, prefix = (self.part(name).read() for name in _PARTS)
        return Distribution(values, cumulative, prefix)

    def write(self, distribution: Distribution) -> None:
        """Write the three arrays; never in the place of arrays that are mapped."""
        for name in _PARTS:
            array, file = np.array(getattr(distribution, name)), self.part(name)
            file.path.unlink(missing_ok=True)
            file.write(array)


_PARTS = ("values", "cumulative", "prefix")


def column_array(table: pa.Table, name: str) -> np.ndarray:
    """A column of numbers without nulls as an array, without a copy where it is one piece."""
    column = table[name]
    if column.num_chunks == 1:
        return cast(np.ndarray, column.chunk(0).to_numpy())
    return cast(np.ndarray, column.to_numpy())


def key_array(table: pa.Table, name: str) -> np.ndarray:
    """A column of class keys: numbers, or texts where they are generalised."""
    if pa.types.is_string(table.schema.field(name).type):
        return np.array(table[name].to_pylist(), dtype=np.str_)
    return column_array(table, name)


def as_bits(table: pa.Table) -> pa.Table:
    """The table with floats as integers of the same bits: NaN equals itself, -0.0 is not 0.0."""
    for i, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            bits = table[i].combine_chunks().view(f"int{field.type.bit_width}")
            table = table.set_column(i, field.name, bits)
    return table
