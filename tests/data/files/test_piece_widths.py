"""What a row group takes when it is decoded is known before it is."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tclose.data.files.input_files import open_input, open_parquet
from tclose.data.files.input_settings import InputSettings
from tclose.data.files.inspection import inspect_file
from tclose.data.files.piece_widths import ReadColumns, find_dictionaries

N = 3_000
COLUMNS = {
    "number": pa.array(range(N)),
    "float": pa.array([i / 7 for i in range(N)]),
    "flag": pa.array([i % 3 == 0 for i in range(N)]),
    "day": pa.array(range(N), pa.int32()).cast(pa.date32()),
    "short": pa.array([str(i % 5) for i in range(N)]),
    "long": pa.array([f"{i:05d}" * 400 for i in range(N)]),
    "repeated": pa.array([("a" if i % 2 else "b") * 5_000 for i in range(N)]),
    "nulls": pa.array([None if i % 2 else "z" * 900 for i in range(N)]),
    "large": pa.array(["q" * 300] * N, pa.large_string()),
    "listed": pa.array(["w" * 2_000] * N).dictionary_encode(),
}


def width_of(tmp_path, table, held=(), **options):
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, **options)
    wanted = ReadColumns(frozenset(held), frozenset(table.column_names) - frozenset(held))
    return inspect_file(str(path), InputSettings(path=str(path)), wanted).widths


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}], ids=str)
@pytest.mark.parametrize("name", COLUMNS)
def test_is_no_less_and_not_far_above(name, options, tmp_path):
    table = pa.table({name: COLUMNS[name]})
    decoded = table[name].cast("string").nbytes if name == "listed" else table.nbytes
    (width,) = width_of(tmp_path, table, **options)
    assert decoded <= width.passthrough + 8
    assert width.passthrough <= 2 * decoded + 80 * N
    assert width.largest < 5_300_000  # a page of the writer


def test_delta_encoding_is_expanded(tmp_path):
    table = pa.table({"a": [f"{'x' * 3_000}{i:06d}" for i in range(N)]})
    options = {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}}
    (width,) = width_of(tmp_path, table, **options)
    assert (tmp_path / "a.parquet").stat().st_size < table.nbytes / 50
    assert table.nbytes <= width.passthrough <= 1.1 * table.nbytes


def test_a_dictionary_is_counted_and_not_expanded(tmp_path):
    """A text of a megabyte, 100,000 times: 100 GB that are never in memory."""
    places = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000, pa.int32()), ["x" * 1_000_000])
    pool = pa.default_memory_pool()
    (width,) = width_of(tmp_path, pa.table({"a": places}))
    assert 1e11 <= width.passthrough <= 1.01e11
    assert (tmp_path / "a.parquet").stat().st_size < 100_000
    assert pool.max_memory() < 1e9


def test_the_longest_is_named(tmp_path):
    texts = ["short"] * N
    texts[77] = "x" * 5_000_000
    table = pa.table({"b": COLUMNS["number"], "a": texts})
    (width,) = width_of(tmp_path, table, held=("b",))
    assert width.column == "a"
    assert 5_000_000 <= width.largest < 5_200_000
    assert width.held == 8 * N


def test_columns_that_are_not_read_and_nested_ones_do_not_count(tmp_path):
    nested = pa.array([{"x": "y" * 100, "z": [1, 2]}] * N)
    table = pa.table({"n": nested, "number": COLUMNS["number"], "long": COLUMNS["long"]})
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    wanted = ReadColumns(frozenset({"n"}), frozenset({"number"}))
    (width,) = inspect_file(str(path), InputSettings(path=str(path)), wanted).widths
    assert (width.held, width.passthrough) == (0, 8 * N)


def test_texts_come_as_places_where_they_are_asked_for(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"long": COLUMNS["long"], "number": COLUMNS["number"]}), path)
    with open_input(str(path)) as stream, open_parquet(stream, "a") as parquet:
        found = find_dictionaries(parquet)
    assert found == ["long"]
    with open_input(str(path)) as stream, open_parquet(stream, "a", found) as parquet:
        batch = next(parquet.iter_batches(10))
    assert pa.types.is_dictionary(batch.schema.field("long").type)
