"""Frames as files: the same rows give the same bytes, however they are cut."""

from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable
from tclose.api import staging
from tclose.errors import DataError

TABLE = pa.table({"n": list(range(10)), "s": ["a", None] * 5, "x": np.linspace(0, 1, 10)})


def file_of(staged: staging.Staged) -> Path:
    assert staged.folder is not None
    return staged.folder / "records.parquet"


def _bytes(data) -> bytes:
    with staging.staged_data(data) as staged:
        return file_of(staged).read_bytes()


@repeatable
@given(st.lists(st.integers(0, 10), max_size=4))
def test_chunks_leave_no_trace(cuts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(staging, "ROW_GROUP_ROWS", 4)
        ends = [0, *sorted(cuts), 10]
        pieces = [TABLE.slice(a, b - a) for a, b in pairwise(ends)]
        assert _bytes(pa.concat_tables(pieces)) == _bytes(TABLE)


def test_partitions_leave_no_trace():
    import dask.dataframe as dd

    frame = TABLE.to_pandas()
    one, three = (dd.from_pandas(frame, npartitions=n) for n in (1, 3))
    assert _bytes(one) == _bytes(three)


def frame_of(parts: list[pd.DataFrame]):
    import dask.dataframe as dd

    return dd.from_map(
        lambda i: parts[i], range(len(parts)), meta=parts[0][:0], enforce_metadata=False
    )


@pytest.mark.parametrize("read", [_bytes, staging.read_data])
def test_partitions_have_the_same_columns(read):
    """What one lacks would be taken for missing values; their order is the first one's."""
    one, other = pd.DataFrame({"a": [1], "b": [2]}), pd.DataFrame({"b": [4], "a": [3]})
    with dask.config.set({"dataframe.convert-string": False}):
        assert staging.read_data(frame_of([one, other])).to_pydict() == {"a": [1, 3], "b": [2, 4]}
        for unlike in (other[["b"]], other.rename(columns={"a": "c"}), other.assign(c=1)):
            with pytest.raises(DataError, match="partitions have different columns"):
                read(frame_of([one, unlike]))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["a", "b", "a"], "columns 1 and 3 have one name"),
        (pd.Index(["a", "\ud800", "b"], dtype=object), "name of its column 2 is not valid text"),
        (pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]), "names of several levels"),
    ],
)
def test_names_that_no_table_of_a_file_has(columns, words):
    with pytest.raises(DataError, match=words):
        staging.read_data(pd.DataFrame([[1, 2, 3]], columns=columns))


def test_a_partition_without_values_has_the_others_type():
    import dask.dataframe as dd

    parts = [pd.DataFrame({"a": [None, None]}), pd.DataFrame({"a": [1.5, 2.5]})]
    meta = pd.DataFrame({"a": pd.Series([], dtype=object)})
    with dask.config.set({"dataframe.convert-string": False}):
        frame = dd.from_map(lambda i: parts[i], [0, 1], meta=meta)
    with staging.staged_data(frame) as staged:
        table = pq.read_table(file_of(staged))
    assert table["a"].to_pylist() == [None, None, 1.5, 2.5]


def test_partitions_of_two_types_are_refused():
    import dask.dataframe as dd

    parts = [pd.DataFrame({"a": ["x"]}), pd.DataFrame({"a": [1.5]})]
    frame = dd.from_map(lambda i: parts[i], [0, 1], meta=parts[0])
    with (
        pytest.raises(DataError, match=r"column 'a'.*in one partition"),
        staging.staged_data(frame),
    ):
        pass


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (pd.DataFrame({"n": [1, 2], "band": pd.cut([1, 9], 2)}), "dictionary of extension"),
        (pa.table({"band": pa.array([(1, 2, 3)], pa.month_day_nano_interval())}), "month_day_nano"),
        (
            pa.table({"band": pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), [7])}),
            "run_end_encoded",
        ),
        (pa.table({"band": pa.array([Decimal(200)], pa.decimal128(5, -2))}), "decimal128"),
    ],
)
def test_a_type_that_no_file_has_is_refused_by_the_columns_name(data, kind):
    refused = rf"column 'band': type {kind}.* is one that no file has; convert it"
    with pytest.raises(DataError, match=refused), staging.staged_data(data):
        pass


@pytest.mark.parametrize("at", ["first", "last"])
def test_moments_that_no_file_has_are_refused_by_the_columns_name(at):
    """A file's are milliseconds at most: far seconds are too many of them."""
    seconds = [1_700_000_000] * (staging.ROW_GROUP_ROWS + 1)
    seconds[0 if at == "first" else -1] = 2**58
    data = pa.table({"when": pa.array(seconds).cast(pa.timestamp("s"))})
    refused = "column 'when': holds dates or times that are too early or too late for a file"
    with pytest.raises(DataError, match=refused), staging.staged_data(data):
        pass


def test_index_metadata_and_categories_leave_no_trace():
    frame = TABLE.to_pandas()
    other = frame.set_index(pd.Index(range(5, 15), name="other"))
    assert _bytes(frame) == _bytes(other)
    text = pd.DataFrame({"c": ["b", "a", "b"]})
    for categories in (["a", "b"], ["b", "a", "unused"]):
        listed = pd.DataFrame({"c": pd.Categorical(text["c"], categories)})
        with staging.staged_data(listed) as staged:
            found = pq.read_table(file_of(staged))
        assert found["c"].to_pylist() == ["b", "a", "b"]
        assert not pa.types.is_dictionary(found.schema.field("c").type)


def test_nan_is_missing():
    with staging.staged_data(pd.DataFrame({"a": [1.0, np.nan]})) as staged:
        assert pq.read_table(file_of(staged))["a"].null_count == 1


def test_an_empty_frame_has_its_columns():
    with staging.staged_data(TABLE.slice(0, 0)) as staged:
        found = pq.read_table(file_of(staged))
    assert found.schema.names == TABLE.schema.names
    assert len(found) == 0
