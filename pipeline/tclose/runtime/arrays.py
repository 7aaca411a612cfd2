"""Working tables on disk: Arrow files, and plain arrays by rows or by columns."""

import errno
import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike

from tclose.model import Distribution, Int64


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table as one record batch."""
    table = table.combine_chunks()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def read_table(path: Path) -> pa.Table:
    """Map a table that `write_table` wrote; nothing is copied before it is used."""
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).read_all()


def read_slices(path: Path, start: int, stop: int) -> Iterator[pa.RecordBatch]:
    """Rows of a table's file from ``start`` to ``stop``, batch by batch.

    One batch is mapped. Of several each is read when its turn comes, and gone when it is let go:
    pages that are mapped stay in memory as long as any of them is needed.
    """
    with pa.memory_map(str(path)) as mapped:
        reader = pa.ipc.open_file(mapped)
        sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
        if len(sizes) == 1:
            yield reader.get_batch(0).slice(start, stop - start)
            return
    ends = np.cumsum(sizes)
    with pa.OSFile(str(path)) as source:
        reader = pa.ipc.open_file(source)
        for number in np.flatnonzero((ends > start) & (ends - sizes < stop)).tolist():
            first = int(ends[number]) - sizes[number]
            begin = max(0, start - first)
            batch = reader.get_batch(number)
            yield batch.slice(begin, min(stop - first, sizes[number]) - begin)


def write_records(records: np.ndarray, path: Path) -> None:
    """Write a structured array (n,) row by row, and nothing else."""
    with path.open("wb") as stream:
        stream.write(np.ascontiguousarray(records).view(np.uint8).data)


def read_records(path: Path, dtype: np.dtype, starts: Int64, sizes: Int64) -> np.ndarray:
    """Ranges of what `write_records` wrote, one after the other: a read each.

    Raises
    ------
    OSError
        The file is shorter than that.
    """
    with path.open("rb", buffering=0) as stream:
        pieces = []
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
            pieces.append(os.pread(stream.fileno(), size * dtype.itemsize, start * dtype.itemsize))
    records = np.frombuffer(b"".join(pieces), dtype=dtype)
    if records.size != sizes.sum():
        raise OSError(errno.EIO, "a working file is shorter than it was written")
    return records


def write_columns(columns: Sequence[np.ndarray], path: Path) -> None:
    """Write arrays of one length one after the other, and nothing else."""
    with path.open("wb") as stream:
        for column in columns:
            stream.write(np.ascontiguousarray(column).view(np.uint8).data)


def map_columns(path: Path, dtype: np.dtype) -> dict[str, np.ndarray]:
    """Map what `write_columns` wrote: ``dtype`` has a field of each array's name and type.

    Raises
    ------
    OSError
        The file is empty, or no whole number of rows long.
    """
    with path.open("rb", buffering=0) as stream:
        n_rows, rest = divmod(os.fstat(stream.fileno()).st_size, dtype.itemsize)
        if rest or not n_rows:
            raise OSError(errno.EIO, "a working file is not as long as it was written")
        data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    records, offset = {}, 0
    for name in dtype.names or ():
        records[name] = np.frombuffer(data, dtype[name], n_rows, offset)
        offset += records[name].nbytes
    return records


def read_rows(path: Path, starts: Int64, sizes: Int64) -> pa.RecordBatch:
    """Copies of ranges of a table's rows, which has some, one after the other.

    The map is let go at once: with what the system reads around each range, those of many files
    would count as the process's memory.
    """
    ends = np.cumsum(sizes)
    rows = np.repeat(starts - (ends - sizes), sizes) + np.arange(sizes.sum())
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).get_batch(0).take(pa.array(rows))


def column_array(table: pa.Table, name: str) -> np.ndarray:
    """A column of numbers without nulls as an array, without a copy where it is one piece."""
    column = table[name]
    if column.num_chunks == 1:
        return column.chunk(0).to_numpy()
    return column.to_numpy()


def key_array(table: pa.Table, name: str) -> np.ndarray:
    """A column of class keys: numbers, or texts where they are generalised."""
    if pa.types.is_string(table.schema.field(name).type):
        return np.array(table[name].to_pylist(), dtype=np.str_)
    return column_array(table, name)


def read_array(path: Path) -> np.ndarray:
    """Map an array file, read-only."""
    return np.asarray(np.load(path, mmap_mode="r"))


def map_new_array(path: Path, dtype: DTypeLike, shape: tuple[int, ...]) -> np.memmap:
    """Map a new array file for writing.

    Its room on disk is taken first: a write through a map that finds none ends the process.

    Raises
    ------
    OSError
        There is no room.
    """
    array = np.lib.format.open_memmap(path, "w+", dtype=np.dtype(dtype), shape=shape)
    with path.open("r+b") as file:
        os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array


def read_distribution(stem: Path) -> Distribution:
    """Map the three arrays of a distribution: ``<stem>.values.npy`` and its like."""
    values, cumulative, prefix = (
        read_array(stem.with_name(f"{stem.name}.{part}.npy"))
        for part in ("values", "cumulative", "prefix")
    )
    return Distribution(values, cumulative, prefix)


def write_distribution(distribution: Distribution, stem: Path) -> None:
    """Write what `read_distribution` reads; never in the place of arrays that are mapped."""
    for part in ("values", "cumulative", "prefix"):
        path = stem.with_name(f"{stem.name}.{part}.npy")
        array = np.array(getattr(distribution, part))
        path.unlink(missing_ok=True)
        np.save(path, array)


def make_distribution(values: np.ndarray, counts: Int64) -> Distribution:
    """A distribution from its distinct values, ascending, and their counts."""
    cumulative = np.cumsum(counts, dtype=np.int64)
    prefix = np.concatenate([np.zeros(1, np.int64), np.cumsum(cumulative, dtype=np.int64)])
    for array in (values, cumulative, prefix):
        array.setflags(write=False)
    return Distribution(values, cumulative, prefix)


def as_bits(table: pa.Table) -> pa.Table:
    """The table with floats as integers of the same bits: NaN equals itself, -0.0 is not 0.0."""
    for i, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            bits = table[i].combine_chunks().view(f"int{field.type.bit_width}")
            table = table.set_column(i, field.name, bits)
    return table
