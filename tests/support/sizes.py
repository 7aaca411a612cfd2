"""Sizes that only large inputs reach, made small for one test, so that small tables are cut."""

from dataclasses import dataclass

import pytest

from tclose.data.files import csv_chunks, input_partitions
from tclose.passes.plan import coarse_tree
from tclose.passes.publish import write_task
from tclose.passes.suppress import suppress_records
from tclose.passes.verify import key_range_rows, verdict


@dataclass(frozen=True)
class Sizes:
    """Sets sizes of the package until the test has ended. None of them decides a released byte.

    Only `regions` and `near` do: what is compared has to have the same.
    """

    patch: pytest.MonkeyPatch

    def pieces(
        self, *, rows: int | None = None, least: int | None = None, csv_bytes: int | None = None
    ) -> None:
        """Cut the input: most and least rows of a Parquet partition, bytes of a CSV partition."""
        self._set(input_partitions, "PARTITION_ROWS", rows)
        self._set(input_partitions, "MIN_PARTITION_ROWS", least)
        self._set(csv_chunks, "CHUNK_BYTES", csv_bytes)

    def wide(self, *, fetched: int, batch: int, columns: int, compared: int) -> None:
        """Bytes of wide records that are fetched, read and compared at once, and columns."""
        self._set(key_range_rows, "FETCHED_BYTES", fetched)
        self._set(input_partitions, "BATCH_BYTES", batch)
        self._set(write_task, "COMPARED_BYTES", compared)
        for module in (input_partitions, write_task):
            self._set(module, "COLUMNS_AT_ONCE", columns)

    def regions(self, least: int) -> None:
        """Least records of a region."""
        self._set(coarse_tree, "MIN_REGION_RECORDS", least)

    def near(self, records: int) -> None:
        """Records that neighbours of isolated ones are looked for among."""
        self._set(suppress_records, "NEAR_RECORDS", records)

    def ranges(
        self, *, few: int | None = None, records: int | None = None, values: int | None = None
    ) -> None:
        """Ranges of keys that are verified: how many at least, their records, compared values."""
        self._set(verdict, "FEW_RANGES", few)
        self._set(verdict, "RANGE_RECORDS", records)
        self._set(verdict, "COMPARED_VALUES", values)

    def _set(self, module: object, name: str, size: int | None) -> None:
        if size is not None:
            self.patch.setattr(module, name, size)
