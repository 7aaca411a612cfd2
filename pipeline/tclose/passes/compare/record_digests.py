"""A keyed digest of a table's records as a multiset, which is equal for equal tables.

The digest is the number of records and the sum of their keyed hashes modulo 2^64, in two words
(the additive multiset hash of Clarke et al., Incremental Multiset Hash Functions, 2003). Sums
merge, so it is the same in whatever order records are and however they are cut into pieces; a
record that is lost, doubled, altered, or has got another one's value changes it, but for a chance
of about 2^-64 or less. Without the key the digest confirms no guess, and no records can be built to
collide.

It reads values as Arrow has them, and shares nothing with how they are encoded, ranked or counted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.errors import VerificationError
from tclose.model.array_types import UInt64
from tclose.passes.compare.keyed_hashes import derive_key, hash_texts, hash_words

CHUNK_ROWS = 1 << 16  # what is at work stays in the processor's cache


@dataclass(frozen=True)
class Compared:
    """The columns of a table that are compared.

    ``columns``: those whose values make up a record; ``needed``: those in which a record has a
    value, or is left out; ``as_values``: of the columns those in which -0.0 is 0.0, as floats
    compare, and not other bits; ``bucketed``: of the columns those that are compared as buckets;
    ``left_out``: columns of the release that cannot be compared, and why.
    """

    columns: tuple[str, ...]
    needed: tuple[str, ...]
    as_values: tuple[str, ...] = ()
    bucketed: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class RecordDigest:
    """Digest of some records.

    ``sums`` uint64 (columns + 1, 2): of whole records, then of each column's values alone.
    """

    n_records: int
    sums: UInt64

    def merge(self, other: "RecordDigest") -> "RecordDigest":
        """The digest of both sets of records."""
        return RecordDigest(self.n_records + other.n_records, self.sums + other.sums)

    def equals(self, other: "RecordDigest") -> bool:
        """Return whether both digests are of the same records."""
        return self.n_records == other.n_records and np.array_equal(self.sums, other.sums)


def keep_complete(table: pa.Table, needed: Sequence[str]) -> pa.Table:
    """The records that have a value in every column that needs one."""
    mask = find_complete(table, needed)
    return table if mask is None else table.filter(mask)


def find_complete(table: pa.Table, needed: Sequence[str]) -> pa.ChunkedArray | None:
    """Mask of those records; None where all are."""
    masks = [table[name].is_valid() for name in needed if table[name].null_count]
    return reduce(pc.and_, masks) if masks else None


@dataclass(frozen=True, eq=False)
class RecordHashes:
    """Hashes of some columns of records, which other columns may be added to.

    ``sums`` uint64 (columns + 1, 2): as of `RecordDigest`, but for the first, which is still open;
    ``records`` uint64 (n, 2): of each record the sum of its values' hashes.
    """

    sums: UInt64
    records: UInt64

    def beside(self, other: "RecordHashes") -> "RecordHashes":
        """Add the hashes of other columns of the same records."""
        return RecordHashes(self.sums + other.sums, self.records + other.records)

    def close(self, key: bytes) -> RecordDigest:
        """The digest of the records."""
        record_key, sums = derive_key(key, "record"), self.sums.copy()
        for start in range(0, len(self.records), CHUNK_ROWS):
            sums[0] += _add_up(hash_words(self.records[start : start + CHUNK_ROWS], record_key))
        return RecordDigest(len(self.records), sums)


def join_hashes(parts: Sequence[RecordHashes]) -> RecordHashes:
    """Join the hashes of records one after the other."""
    sums = reduce(np.add, [part.sums for part in parts])
    return RecordHashes(sums, np.concatenate([part.records for part in parts]))


def hash_columns(table: pa.Table, compared: Compared, key: bytes) -> RecordHashes:
    """Hashes of a table's records, by those of the columns that are compared which it has.

    Raises
    ------
    VerificationError
        A column is of a type whose values cannot be compared.
    """
    sums = np.zeros((len(compared.columns) + 1, 2), dtype=np.uint64)
    records = np.zeros((len(table), 2), dtype=np.uint64)
    present = [(i, n) for i, n in enumerate(compared.columns) if n in table.column_names]
    keys = {i: derive_key(key, f"column {i}") for i, _ in present}
    at = 0
    for batch in _cut(table.select([name for _, name in present])) if present else ():
        for (i, name), array in zip(present, batch.columns, strict=True):
            hashes = hash_values(array, name, keys[i], as_values=name in compared.as_values)
            sums[i + 1] += _add_up(hashes)
            records[at : at + len(batch)] += hashes
        at += len(batch)
    return RecordHashes(sums, records)


def digest_records(table: pa.Table, compared: Compared, key: bytes) -> RecordDigest:
    """Digest of a table's records, by the columns that are compared.

    A record's hash is that of the sum of its values' hashes, each by a key of its column's own.

    Raises
    ------
    KeyError
        There is no such column.
    VerificationError
        A column is of a type whose values cannot be compared.
    """
    chosen = table.select(list(compared.columns)) if compared.columns else table
    return hash_columns(chosen, compared, key).close(key)


def _cut(table: pa.Table) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(table), CHUNK_ROWS):
        yield from table.slice(start, CHUNK_ROWS).combine_chunks().to_batches()


def _add_up(hashes: UInt64) -> UInt64:
    return np.array([hashes[:, 0].sum(), hashes[:, 1].sum()], dtype=np.uint64)


def hash_values(array: pa.Array, name: str, key: bytes, *, as_values: bool) -> UInt64:
    """Hashes of a column's values: uint64 (n, 2); a null has one that no value has."""
    dtype = array.type
    if pa.types.is_dictionary(dtype):
        return hash_values(array.dictionary_decode(), name, key, as_values=as_values)
    if dtype in (pa.string(), pa.large_string(), pa.string_view()):
        return _hash_listed(array, key)
    values = _words_of(array, name, as_values=as_values)
    words = np.zeros((len(array), values.shape[1] + 1), dtype=np.uint64)
    words[:, :-1] = values
    if array.null_count:
        words[array.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return hash_words(words, key)


_NULL = np.uint64(1)  # as the last word, where values have 0


def _hash_listed(texts: pa.Array, key: bytes) -> UInt64:
    """Hashes of texts, each different one hashed once."""
    if pa.types.is_string_view(texts.type):
        texts = texts.cast(pa.string())
    listed = texts.dictionary_encode()
    hashes = hash_texts(listed.dictionary, derive_key(key, "text"))
    of_null = hash_words(np.full((1, 2), _NULL), key)
    indices = listed.indices.fill_null(len(hashes)).to_numpy(zero_copy_only=False)
    return cast(UInt64, np.concatenate([hashes, of_null]).take(indices, axis=0))


def _words_of(array: pa.Array, name: str, *, as_values: bool) -> UInt64:
    """Values of a fixed width as words: uint64 (n, w), w by the type; of nulls any.

    Integers, booleans, dates and times are one word, floats the bits of a double, decimals of more
    than 64 bits several.
    """
    dtype = array.type
    if pa.types.is_null(dtype):
        return np.zeros((len(array), 1), dtype=np.uint64)
    if pa.types.is_boolean(dtype):
        return _read_words(array.cast(pa.uint8()))
    if pa.types.is_floating(dtype) and not pa.types.is_float16(dtype):
        words = _read_words(array.cast(pa.float64()))
        return (words.view(np.float64) + 0.0).view(np.uint64) if as_values else words
    if pa.types.is_integer(dtype) or pa.types.is_decimal(dtype) or pa.types.is_temporal(dtype):
        return _read_words(array)
    raise VerificationError(
        f"column {name!r}: values of type {dtype} cannot be compared with the input's; nothing was "
        "published"
    )


def _read_words(array: pa.Array) -> UInt64:
    """The values' bits as they are in memory, narrow ones made wider."""
    n_bytes = array.type.bit_width // 8
    width = max(n_bytes // 8, 1)
    bits = np.frombuffer(array.buffers()[1], dtype=f"u{min(n_bytes, 8)}")
    rows = bits[array.offset * width : (array.offset + len(array)) * width]
    return rows.reshape(-1, width).astype(np.uint64)
