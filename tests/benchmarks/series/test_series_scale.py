"""Months of a table that rows are only added to."""

from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.series.series_scale import write_months


def test_rows_are_only_added(tmp_path: Path) -> None:
    first, second = (pq.read_table(file) for file in write_months(tmp_path, 200, 2, 0.1))
    assert (len(first), len(second)) == (200, 220)
    assert second.slice(0, 200).equals(first)
