"""The cost of comparing a release with its input: processor seconds of its digests.

``python -m benchmarks.performance.digests [--rows N] [--folder DATA]``

Records are digested as in pass 1, partition by partition, and as they are read back from a file of
the release; the rows say how long both take together, by what is compared.
"""

import argparse
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.performance.run import working_folder, write_source
from tclose.passes.compare.record_digests import Compared, RecordDigest, digest_records

COLUMNS = (
    ("charge",),
    ("charge", "severity", "discharge_status"),
    ("charge", "severity", "discharge_status", "diagnosis_group", "insurance_type"),
)
ROWS = 500_000  # of a partition


def main() -> None:
    """Digest a table twice for each choice of columns, and print the seconds."""
    parser = argparse.ArgumentParser(description="Time the digests of records.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="keep the data here, and use what is there")
    given = parser.parse_args()
    with working_folder(given.folder) as folder:
        source = write_source(folder / f"{given.rows}.parquet", given.rows)
        for columns in COLUMNS:
            seconds = measure_digests(source, columns)
            print(f"{', '.join(columns)}: {seconds:.2f} s of {given.rows:,} records")


def measure_digests(source: Path, columns: tuple[str, ...]) -> float:
    """Processor seconds of both digests of a table.

    Raises
    ------
    ValueError
        They differ.
    """
    compared, key, seconds = Compared(columns, ()), secrets.token_bytes(32), 0.0
    found: list[list[RecordDigest]] = [[], []]
    for table in _read(source, columns):
        for digests in found:
            start = time.process_time()
            digests.append(digest_records(table, compared, key))
            seconds += time.process_time() - start
    for mine, theirs in zip(*found, strict=True):
        if not mine.equals(theirs):
            raise ValueError("two digests of one table differ")
    return seconds


def _read(source: Path, columns: tuple[str, ...]) -> Iterator[pa.Table]:
    paths = sorted(source.glob("*.parquet")) if source.is_dir() else [source]
    for path in paths:
        for batch in pq.ParquetFile(path).iter_batches(ROWS, columns=list(columns)):
            yield pa.Table.from_batches([batch])


if __name__ == "__main__":
    main()
