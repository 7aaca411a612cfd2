"""A look at the input's files: digests, formats and columns, alike in all of them."""

import hashlib

import pyarrow as pa
import pytest

from support.cases.people import (
    N_PEOPLE,
    look_at,
    people,
    policy_for,
    release,
    write_csv,
    write_parquet,
)
from tclose.data.files.inspection import check_same_schema


class TestInspect:
    def test_parquet(self, tmp_path):
        path = write_parquet(tmp_path / "people.x", people(), row_group_size=25)
        content = look_at(path)
        assert content.file.format == "parquet"
        assert content.file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert content.file.n_bytes == path.stat().st_size
        assert content.pieces == ((0, 0, 25), (1, 0, 25), (2, 0, 10))
        assert content.schema == people().schema

    def test_csv(self, tmp_path):
        path = write_csv(tmp_path / "people.x", people())
        content = look_at(path)
        assert content.file.format == "csv"
        assert content.file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert content.schema.names == people().column_names
        assert content.pieces == ((-1, len(b'"age","sex","pay"\n'), path.stat().st_size),)

    @pytest.mark.parametrize("first", ["PK", "PAR1", "PAR10", "BZh9"])
    def test_header_that_looks_like_another_format(self, first, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(f"{first},sex\n1,m\n")
        assert look_at(path).schema.names == [first, "sex"]

    def test_pandas_index_and_metadata_stay_out(self, tmp_path):
        frame = people().to_pandas().set_index("age")
        frame.to_parquet(tmp_path / "people.parquet")
        content = look_at(tmp_path / "people.parquet")
        assert content.schema.metadata is None


class TestSchemas:
    def test_columns_in_any_order(self, tmp_path):
        folder = tmp_path / "data"
        folder.mkdir()
        write_parquet(folder / "a.parquet", people())
        write_parquet(folder / "b.parquet", people().select(["pay", "age", "sex"]))
        table = release(policy_for(folder)).table
        assert len(table) == 2 * N_PEOPLE
        assert table.column_names == ["age", "sex", "pay"]

    def test_dictionaries_are_what_they_hold(self, tmp_path):
        folder = tmp_path / "data"
        folder.mkdir()
        write_parquet(folder / "a.parquet", people())
        sexes = people()["sex"].dictionary_encode()
        write_parquet(folder / "b.parquet", people(sex=sexes))
        assert release(policy_for(folder)).schema.field("sex").type == pa.string()

    def test_one_file_is_like_itself(self, tmp_path):
        check_same_schema([look_at(write_csv(tmp_path / "a.csv", people()))], ["age"])
