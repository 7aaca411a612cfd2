"""Digests of the records that the input has and of those that the release's files have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from urllib.parse import unquote

import pyarrow as pa

from tclose.data.files.input_partitions import read_raw_batches
from tclose.errors import VerificationError
from tclose.model.input_pieces import Partition
from tclose.passes.compare.bucket_labels import label_values
from tclose.passes.compare.prepare_again import prepare_again
from tclose.passes.compare.record_digests import (
    Compared,
    RecordDigest,
    RecordHashes,
    digest_records,
    find_complete,
    hash_columns,
    join_hashes,
    keep_complete,
)
from tclose.passes.summarise.records import SOURCE, Source
from tclose.runtime.artifacts.artifacts import Artifact, PendingFiles, Workspace
from tclose.runtime.tasks import Task

DIGEST_KEY = Artifact("digest-key", bytes)
_ROW = "=row"  # no folder is named so


class InputDigests:
    """Digests what is read of a partition, as it is read; nothing where it is not asked for yet.

    It gets the values as the files have them, and prepares those that are released prepared by code
    of its own.
    Values that are released as buckets are compared as buckets, which are not known in pass 1.
    """

    def __init__(self, workspace: Workspace, source: Source) -> None:
        compared = source.compared
        self._compared = None if compared is None or compared.bucketed else compared
        self._key = workspace.load_shared(DIGEST_KEY)
        self._columns = source.columns

    def digest(self, table: pa.Table) -> RecordDigest | None:
        """Return the digest of the complete among records, of which all columns are there."""
        if self._compared is None:
            return None
        records = keep_complete(table, self._compared.needed)
        return digest_records(prepare_again(records, self._columns), self._compared, self._key)

    def find_complete(self, held: pa.Table) -> pa.ChunkedArray | None:
        """Return which records are complete; None if all are."""
        return None if self._compared is None else find_complete(held, self._compared.needed)

    def hash_columns(self, table: pa.Table) -> RecordHashes | None:
        """Return the hashes of complete records, of which some columns are there."""
        if self._compared is None:
            return None
        return hash_columns(prepare_again(table, self._columns), self._compared, self._key)

    def close(self, parts: Sequence[RecordHashes | None]) -> RecordDigest | None:
        """Return the digest of records from the hashes of all their columns."""
        return _close(parts, self._key)


def _close(parts: Sequence[RecordHashes | None], key: bytes) -> RecordDigest | None:
    present = [part for part in parts if part is not None]
    return reduce(RecordHashes.beside, present).close(key) if present else None


class WrittenDigests:
    """Digests a file's rows, as they are read back, with the values in its folders' names."""

    def __init__(self, workspace: Workspace) -> None:
        source = workspace.load_shared(SOURCE)
        self._compared = source.compared
        self._key = workspace.load_shared(DIGEST_KEY)
        names = self._compared.columns if self._compared else ()
        self._types = {c.name: c.type for c in source.columns if c.name in names}

    def hash_columns(self, table: pa.Table) -> RecordHashes | None:
        """Return the hashes of some columns of rows."""
        return hash_columns(table, self._compared, self._key) if self._compared else None

    def hash_folders(self, path: str, n_rows: int) -> RecordHashes | None:
        """Return the hashes of the values that rows have by the place of their file."""
        rows = restore_folders(pa.table({_ROW: pa.nulls(n_rows)}), path, self._types)
        return self.hash_columns(rows.drop_columns([_ROW])) if rows.num_columns > 1 else None

    def join(self, parts: Sequence[RecordHashes | None]) -> RecordHashes | None:
        """Join the hashes of rows one after the other."""
        present = [part for part in parts if part is not None]
        return join_hashes(present) if present else None

    def close(self, parts: Sequence[RecordHashes | None]) -> RecordDigest | None:
        """Return the digest of rows from the hashes of all their columns."""
        return _close(parts, self._key)


def restore_folders(
    table: pa.Table, path: str, types: Mapping[str, pa.DataType]
) -> pa.Table:  # fmt: skip
    """The table with a column for each folder of its path, as in ``data/name=value/``.

    Those without a type are left out: generalised values are texts and not of their column's type.
    """
    for folder in path.split("/")[1:-1]:
        name, _, text = (unquote(part) for part in folder.partition("="))
        if name not in types:
            continue
        dtype = types[name]
        plain = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
        value = pa.scalar(text, pa.string()).cast(plain)
        table = table.append_column(name, pa.repeat(value, len(table)))
    return table


@dataclass(frozen=True)
class BucketInput:
    """A partition, and the labels of the buckets that its confidential values are released as."""

    partition: Partition
    labels: tuple[str, ...]


def digest_buckets_task(workspace: Workspace, item: BucketInput, _: PendingFiles) -> RecordDigest:
    """Digest of a partition's complete records with buckets in the place of their values."""
    source = workspace.load_shared(SOURCE)
    compared = source.compared
    if compared is None:
        raise VerificationError("the input's records were not digested; nothing was published")
    key = workspace.load_shared(DIGEST_KEY)
    digests = [
        digest_records(_bucket(table, source, compared, item.labels), compared, key)
        for table in read_raw_batches(item.partition, source.reading)
    ]
    return reduce(RecordDigest.merge, digests)


def _bucket(
    table: pa.Table, source: Source, compared: Compared, labels: tuple[str, ...]
) -> pa.Table:
    """The complete records with buckets in the place of values."""
    table = prepare_again(keep_complete(table, compared.needed), source.columns)
    for column in source.columns:
        if column.name in compared.bucketed:
            values, order = table[column.name].combine_chunks(), column.attribute.order
            labelled = label_values(values, labels, column.kind, order)
            index = table.schema.get_field_index(column.name)
            table = table.set_column(index, column.name, labelled)
    return table


DIGEST_TASK = Task("digest", "comparing records", digest_buckets_task)
