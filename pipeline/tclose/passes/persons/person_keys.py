"""Keyed hashes that stand for persons in the working files, where no identifier of one is.

A person column is read for them and never released. The key comes of the release key, or of a file
that the policy names, so that a run that goes on has the same one, and persons of several releases
can be compared; it is not among the working files, which outlive a run that is killed, and may
stand beside registers of the same key. Where there is neither, runs that publish nothing draw one.
Hashes have 128 bits: two of ten million persons have the same one with a probability of 10^-25.
They and the numbers made of them are gone with the working files. What is released depends on which
records are of one person alone, so every key gives the same release.
"""

import secrets
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pyarrow as pa

from tclose.data.key_rows import find_changes, sort_rows, sort_words
from tclose.data.keys import plain_type
from tclose.model.array_types import Int32, Int64, UInt64
from tclose.model.attributes import Column
from tclose.model.input_pieces import Partition
from tclose.passes.compare.keyed_hashes import KEY_BYTES
from tclose.passes.compare.record_digests import hash_values
from tclose.passes.persons.named_key import find_person_key
from tclose.runtime.artifacts.arrays import ArrayFile
from tclose.runtime.artifacts.artifacts import Artifact, FileArtifact
from tclose.runtime.run import Run

Rows = TypeVar("Rows", UInt64, Int64)

DRAWN_KEY = Artifact("drawn-key", bytes)  # of a run that has no other
# Of a partition's persons, uint64 (3, persons): both words of the hash, and records; ascending.
PERSON_HASHES = FileArtifact("summarise/persons", ArrayFile)
# Of a partition's complete records, int32 (n,): which of these persons each is of.
PERSON_PLACES = FileArtifact("summarise/person-places", ArrayFile)


@dataclass(frozen=True)
class PersonKey:
    """The key by which persons are hashed, as tasks get it; what prints that prints none of it."""

    content: bytes = field(repr=False)


def load_person_key(run: Run) -> bytes:
    """The key by which a run's persons are hashed, the same for all of its passes.

    Raises
    ------
    PolicyError
        The file that the policy names is not there any more, or is none.
    """
    repository = run.repository
    has_lease = run.lease_token is not None
    secret = repository.release_key() if has_lease else repository.find_release_key()
    key = find_person_key(run.policy, secret)
    if key is None:
        key = run.workspace.find(DRAWN_KEY)
    if key is None:
        key = secrets.token_bytes(KEY_BYTES)
        run.workspace.save(DRAWN_KEY, key)
    return key


def hash_persons(table: pa.Table, column: Column, key: bytes) -> tuple[UInt64, Int64]:
    """Hashes of the distinct persons of complete records, and of each record the place of its own.

    Returns
    -------
    hashes : uint64 (persons, 2)
    places : int64 (n,)
    """
    listed = _list_persons(table, column)
    hashes = hash_values(listed.dictionary, column.name, key, as_values=False)
    places: Int64 = listed.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return hashes, places


def _list_persons(table: pa.Table, column: Column) -> pa.DictionaryArray:
    """The persons of records, each once; integers of any width are the same persons."""
    dtype = plain_type(column.type)
    values = table[column.name].combine_chunks().cast(dtype)
    return (
        values.cast(pa.int64()) if pa.types.is_signed_integer(dtype) else values
    ).dictionary_encode()


def hash_partition(
    partition: Partition, records: pa.Table, positions: Int64, column: Column, key: bytes
) -> tuple[UInt64, Int64]:
    """The same of a partition's complete records; the hashes of held ones come with them.

    Parameters
    ----------
    positions : int64 (n,): of the records, in the whole input
    """
    if not len(partition.held):
        return hash_persons(records, column, key)
    words = partition.held[positions - partition.first_position, :2]
    return np.ascontiguousarray(words).view(np.uint64), np.arange(len(words))


def hide_persons(table: pa.Table, column: Column, key: bytes) -> pa.Table:
    """The table with hashes in hexadecimal digits in the place of persons; nulls stay."""
    listed = _list_persons(table, column)
    hashes = hash_values(listed.dictionary, column.name, key, as_values=False)
    names = pa.array([row.tobytes().hex() for row in hashes], pa.string())
    index = table.schema.get_field_index(column.name)
    return table.set_column(index, column.name, names.take(listed.indices))


def list_persons(hashes: UInt64, places: Int64) -> tuple[UInt64, Int32]:
    """Content of `PERSON_HASHES` and `PERSON_PLACES`, of what `hash_partition` returns."""
    order = sort_words(hashes[:, 0], hashes[:, 1])
    ordered = np.ascontiguousarray(hashes[order].T)
    is_new = find_changes([*ordered])
    place_of = np.empty(order.size, dtype=np.int32)
    place_of[order] = np.cumsum(is_new) - 1
    of_records = place_of[places]
    counts = np.bincount(of_records, minlength=int(is_new.sum())).astype(np.uint64)
    return np.vstack([ordered[:, is_new], counts[np.newaxis]]), of_records


def merge_key_counts(rows: Rows) -> Rows:
    """Counts of several pieces, each key of two words once, ascending: (3, keys) as ``rows``.

    Parameters
    ----------
    rows : uint64 or int64 (3, n): both words of a key, and what is counted of it
    """
    is_hash = rows.dtype == np.uint64
    rows = rows[:, sort_words(rows[0], rows[1]) if is_hash else sort_rows([rows[0], rows[1]])]
    if not rows.shape[1]:
        return rows
    first = np.flatnonzero(find_changes([rows[0], rows[1]]))
    merged: Rows = np.vstack([rows[:2, first], np.add.reduceat(rows[2], first)[np.newaxis]])
    return merged
