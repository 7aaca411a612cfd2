"""Pass 1: counts that merge to the same whatever the pieces, and what they lead to refuse."""

import datetime
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.column_kinds import COLUMNS, CONFIDENTIAL, QUASI, column
from support.tables.random_tables import repeatable
from tclose.data.encodings import make_encoding
from tclose.data.unusable_values import find_problems
from tclose.data.value_counts import (
    TableSummary,
    checked_columns,
    complete_records,
    confidential_keys,
    count_release_partitions,
    count_values,
    merge_counts,
    number_values,
    sampled_rows,
    summarise_table,
)
from tclose.errors import DataError
from tclose.model.column_terms import Kind

records = st.lists(
    st.fixed_dictionaries(
        {
            "age": st.one_of(st.none(), st.integers(-5, 5)),
            "sex": st.one_of(st.none(), st.sampled_from("mf")),
            "size": st.sampled_from([None, -0.0, 0.0, 0.5, float("nan"), float("inf")]),
            "grade": st.sampled_from([None, "low", "mid", "?"]),
            "area": st.sampled_from([None, "n", "s"]),
            "note": st.sampled_from([None, "x"]),
        }
    ),
    max_size=20,
)


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, pa.schema([(c.name, c.type) for c in COLUMNS]))


def summarise(rows: list[dict[str, Any]]) -> TableSummary:
    return summarise_table(table_of(rows), COLUMNS, ("area",))[0]


def as_values(summary: TableSummary) -> tuple[Any, ...]:
    columns = {name: vars(found) for name, found in summary.columns.items()}
    return summary.n_read, summary.n_complete, columns, summary.release_partitions


class TestSummaries:
    @repeatable
    @given(records, st.integers(0, 20))
    def test_pieces_make_the_whole(self, rows, cut):
        merged = summarise(rows[:cut]).merge(summarise(rows[cut:]))
        whole = summarise(rows)
        assert find_problems(merged, COLUMNS, "error") == find_problems(whole, COLUMNS, "error")
        if not whole.columns["size"].n_nan and not whole.columns["size"].n_infinite:
            assert as_values(merged) == as_values(whole)

    @repeatable
    @given(records, records, records)
    def test_merge_is_associative(self, a, b, c):
        x, y, z = summarise(a), summarise(b), summarise(c)
        assert as_values(x.merge(y).merge(z)) == as_values(x.merge(y.merge(z)))

    @repeatable
    @given(records)
    def test_counts_by_hand(self, rows):
        summary, kept = summarise_table(table_of(rows), COLUMNS, ("area",))
        needed = ("age", "sex", "size", "grade", "area")
        complete = [row for row in rows if all(row[name] is not None for name in needed)]
        assert (summary.n_read, summary.n_complete) == (len(rows), len(complete))
        assert len(kept) == len(complete)
        for name in needed:
            missing = sum(row[name] is None for row in rows)
            assert summary.columns[name].n_missing == missing
        assert "note" not in summary.columns
        assert summary.release_partitions == Counter((row["area"],) for row in complete)
        if complete:
            assert summary.columns["age"].low == min(row["age"] for row in complete)
            assert summary.columns["age"].high == max(row["age"] for row in complete)
            assert summary.columns["sex"].categories == Counter(row["sex"] for row in complete)

    def test_nan_is_no_missing_value(self):
        rows = [{"age": 1, "sex": "m", "size": float("nan"), "grade": "low", "area": "n"}]
        found = summarise(rows).columns["size"]
        assert (found.n_missing, found.n_nan, found.n_infinite) == (0, 1, 0)

    @pytest.mark.parametrize("dtype", [pa.float32(), pa.float64()], ids=str)
    def test_zeros_are_one_category(self, dtype):
        of = column("x", QUASI, dtype, kind=Kind.NOMINAL)
        table = pa.table({"x": pa.array([-0.0, 0.0, 1.0]).cast(dtype)})
        summary, _ = summarise_table(table, (of,), ())
        encoding = make_encoding(of, summary.columns["x"])
        assert encoding.categories is not None
        assert encoding.categories.to_pylist() == [0, 1]
        assert encoding.encode(table["x"].combine_chunks()).tolist() == [0, 0, 1]

    @pytest.mark.parametrize("unit", ["s", "us", "ns"])
    def test_both_hours_of_a_clock_that_is_put_back_are_counted(self, unit):
        dtype = pa.timestamp(unit, tz="Europe/Berlin")
        hours = pa.array([1603585800, 1603589400, 1603589400]).cast(pa.timestamp("s"))
        table = pa.table({"x": hours.cast(dtype)})
        of = column("x", QUASI, dtype, kind=Kind.NOMINAL)
        summary, _ = summarise_table(table, (of,), ())
        assert sorted(summary.columns["x"].categories.values()) == [1, 2]
        encoding = make_encoding(of, summary.columns["x"])
        assert encoding.encode(table["x"].combine_chunks()).tolist() == [0, 1, 1]

    def test_dates_that_cannot_be_categories(self):
        of = column("x", QUASI, pa.timestamp("us"), kind=Kind.NOMINAL)
        table = pa.table({"x": pa.array([2**62]).cast(pa.timestamp("us"))})
        with pytest.raises(DataError, match="column 'x': holds dates or times that are too early"):
            summarise_table(table, (of,), ())

    def test_times_that_are_too_fine_for_categories(self):
        """Python's times have microseconds; carried ones are released as they are."""
        table = pa.table({"x": pa.array([1_000, 2_000, 2_007]).cast(pa.time64("ns"))})
        of = column("x", QUASI, pa.time64("ns"), kind=Kind.NOMINAL)
        with pytest.raises(DataError, match=r"column 'x': holds .* too fine to be categories"):
            summarise_table(table, (of,), ())
        summary, _ = summarise_table(table.slice(0, 2), (of,), ())
        assert sorted(summary.columns["x"].categories.values()) == [1, 1]

    def test_complete_records(self):
        table = table_of([{"age": 1}, {"age": None}])
        assert complete_records(table, COLUMNS[:1]).to_pylist() == [True, False]
        assert complete_records(table.slice(0, 1), COLUMNS[:1]) is None
        assert [c.name for c in checked_columns(COLUMNS, ())] == ["age", "sex", "size", "grade"]

    def test_release_partitions(self):
        table = table_of([{"area": "n"}, {"area": "s"}, {"area": "n"}])
        assert count_release_partitions(table, ("area",)) == {("n",): 2, ("s",): 1}
        assert count_release_partitions(table, ()) == {(): 3}
        assert count_release_partitions(table.slice(0, 0), ()) == {}


class TestValues:
    pieces = st.lists(st.lists(st.integers(-3, 3), max_size=8), min_size=1, max_size=5)

    @repeatable
    @given(pieces)
    def test_counts_merge(self, pieces):
        counted = [count_values(np.array(piece, np.int64)) for piece in pieces]
        merged = merge_counts(counted[::-1])
        wanted = sorted(Counter(value for piece in pieces for value in piece).items())
        assert list(zip(merged.values.tolist(), merged.counts.tolist(), strict=True)) == wanted

    @repeatable
    @given(st.integers(0, 2**62), st.integers(0, 50), st.floats(0, 1))
    def test_sample_is_the_same_however_it_is_cut(self, seed, cut, share):
        positions = np.arange(50)
        whole = positions[sampled_rows(positions, seed, share)]
        parts = [part[sampled_rows(part, seed, share)] for part in np.split(positions, [cut])]
        assert np.concatenate(parts).tolist() == whole.tolist()

    def test_sample_has_about_its_share(self):
        assert sampled_rows(np.arange(100_000), 1, 0.25).size == pytest.approx(25_000, rel=0.03)
        assert sampled_rows(np.arange(100), 1, 1.0).size == 100

    def test_dates_as_confidential(self):
        of = column("day", CONFIDENTIAL, pa.date32())
        days = pa.table({"day": pa.array([datetime.date(1970, 1, 3), datetime.date(1969, 12, 31)])})
        assert confidential_keys(days, of).tolist() == [2, -1]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([2, 1, 2**64 - 1], pa.uint64()),
        pa.array([Decimal(2), Decimal(1), Decimal(10**25)], pa.decimal128(30)),
        pa.array(["2", "", "b"]),
        pa.array([b"2", b"", b"b"]),
        pa.array([2.0, -0.5, 1e300]),
    ],
    ids=lambda values: str(values.type),
)
def test_numbers_of_values_are_those_of_any_piece(values: pa.Array) -> None:
    whole = number_values(values)
    assert np.unique(whole).size == len(values)
    for i in range(len(values)):
        assert number_values(values[i : i + 1]).tolist() == [whole[i]]
