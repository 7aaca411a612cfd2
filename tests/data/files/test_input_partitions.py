"""How the input is cut and read, and that no byte of a release depends on it."""

import os
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cases.people import (
    N_PEOPLE,
    look_at,
    mixed_people,
    mixed_policy,
    people,
    release,
    write_csv,
    write_parquet,
)
from support.length import every
from support.tables.random_tables import repeatable
from tclose.data.files import csv_chunks, input_partitions
from tclose.data.files.input_partitions import (
    Reading,
    csv_partitions,
    cut_parquet,
    leave_out,
    name_files,
    place_partitions,
    read_partition,
)
from tclose.errors import ChangedInputError, DataError
from tclose.passes.plan import coarse_tree

SIZES = [0, 1, 23, 36]  # of the pieces that people are cut into


def pieces_of(table: pa.Table) -> list[pa.Table]:
    starts = np.cumsum([0, *SIZES[:-1]])
    return [table.slice(start, size) for start, size in zip(starts, SIZES, strict=True)]


class TestCut:
    def test_parquet_positions(self, tmp_path, sizes):
        sizes.pieces(least=4)
        contents = [
            look_at(write_parquet(tmp_path / f"{i}.parquet", piece, row_group_size=20))
            for i, piece in enumerate(pieces_of(people()))
        ]
        cut = cut_parquet(contents)
        positions = [p.first_position for p in cut]
        assert positions == [0, *np.cumsum([p.n_records for p in cut])[:-1].tolist()]
        assert sum(p.n_records for p in cut) == N_PEOPLE
        assert max(p.n_records for p in cut) <= 8
        assert all(p.stop - p.start == p.n_records for p in cut)

    def test_small_row_groups_are_read_together_where_there_are_many(self, tmp_path, sizes):
        """Those of few are not: to find one among them takes little."""
        sizes.pieces(least=10)
        path = write_parquet(tmp_path / "a.parquet", people(400), row_group_size=4)
        cut = cut_parquet([look_at(path)])
        assert [p.n_records for p in cut] == [8] * 50
        assert [(p.first_group, p.last_group) for p in cut[:2]] == [(0, 1), (2, 3)]
        assert [p.first_position for p in cut] == list(range(0, 400, 8))
        few = write_parquet(tmp_path / "b.parquet", people(40), row_group_size=4)
        assert [p.n_records for p in cut_parquet([look_at(few)])] == [4] * 10

    def test_row_groups_of_many_bytes_are_read_apart(self, tmp_path, monkeypatch):
        path = write_parquet(tmp_path / "a.parquet", people(400), row_group_size=4)
        content = look_at(path)
        assert len(cut_parquet([content])) == 1
        n_bytes = max(width.held + width.passthrough for width in content.widths)
        monkeypatch.setattr(input_partitions, "BATCH_BYTES", 2 * n_bytes)
        assert len(cut_parquet([content])) >= 50

    def test_csv_positions(self, tmp_path, sizes):
        sizes.pieces(csv_bytes=64)
        content = look_at(write_csv(tmp_path / "a.csv", people()))
        cut = csv_partitions([content])
        assert len(cut) > 5
        placed = place_partitions(cut, [2] * len(cut))
        assert [p.first_position for p in placed] == list(range(0, 2 * len(cut), 2))

    def test_names_of_files(self, tmp_path):
        contents = [look_at(write_csv(tmp_path / f"{i}.csv", people())) for i in range(5)]
        cut = csv_partitions(contents)
        assert name_files(cut[:1], cut[:1]) == ""
        assert name_files([], cut) == ""
        assert name_files(cut[1:2], cut) == "\nin 1.csv"
        assert name_files(cut, cut) == "\nin 0.csv, 1.csv, 2.csv and 2 more"


class TestRead:
    def read(self, path: Path, columns: tuple[str, ...], missing: tuple[str, ...] = ()) -> pa.Table:
        content = look_at(path)
        types = tuple(content.schema.field(name).type for name in columns)
        reading = Reading(columns, types, tuple(content.schema.names), missing, ",")
        cut = (
            cut_parquet([content])
            if content.file.format == "parquet"
            else csv_partitions([content])
        )
        return pa.concat_tables([read_partition(p, reading) for p in cut])

    @pytest.mark.parametrize("write", [write_csv, write_parquet])
    def test_wanted_columns_in_wanted_order(self, write, tmp_path):
        table = self.read(write(tmp_path / "a.x", people()), ("pay", "age"))
        assert table.column_names == ["pay", "age"]
        assert [str(v) for v in table["age"].to_pylist()] == [
            str(v) for v in people()["age"].to_pylist()
        ]

    def test_dots_are_no_paths(self, tmp_path):
        table = pa.table({"a": [{"b": 1, "c": 2}], "a.b": [3], "a.c.d": [4], "x": [5]})
        path = write_parquet(tmp_path / "a.parquet", table)
        found = self.read(path, ("a.c.d", "a.b"))
        assert found.to_pydict() == {"a.c.d": [4], "a.b": [3]}

    @pytest.mark.parametrize("dtype", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
    def test_missing_values_of_texts(self, dtype, tmp_path):
        texts = pa.array(["a", "NA", None, "", "?"], dtype)
        table = pa.table({"t": texts, "d": texts.cast(pa.string()).dictionary_encode()})
        found = self.read(write_parquet(tmp_path / "a.parquet", table), ("t", "d"), ("NA", "?"))
        assert found["t"].to_pylist() == ["a", None, None, "", None]
        assert found["d"].to_pylist() == ["a", None, None, "", None]

    def test_missing_values_of_csv(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text('t,u\na,1\nNA,"NA"\n"",2\n,3\n')
        found = self.read(path, ("t", "u"), ("NA",))
        assert found["t"].to_pylist() == ["a", None, None, None]
        assert found["u"].to_pylist() == ["1", None, "2", "3"]

    @pytest.mark.parametrize("rows", [30, 1])
    @pytest.mark.parametrize("positions", [[], [0], [4, 5, 29, 30, 31], [59], range(60)], ids=str)
    def test_records_that_are_left_out_lack_a_value(self, positions, rows, tmp_path, monkeypatch):
        monkeypatch.setattr(input_partitions, "MANY_GROUPS", 20)
        path = write_parquet(tmp_path / "a.parquet", people(60), row_group_size=rows)
        cut = leave_out(
            [replace(p, batch_rows=7) for p in cut_parquet([look_at(path)])],
            np.array(positions, dtype=np.int64),
        )
        assert sum(p.left_out.size for p in cut) == len(positions)
        reading = Reading(("age", "pay"), (pa.int64(), pa.int64()), (), (), ",", hidden="age")
        found = pa.concat_tables([read_partition(p, reading) for p in cut])
        assert np.flatnonzero(found["age"].is_null()).tolist() == list(positions)
        assert found["pay"].null_count == 0

    def test_file_that_went_away(self, tmp_path):
        path = write_csv(tmp_path / "a.csv", people())
        content = look_at(path)
        path.unlink()
        reading = Reading(("age",), (pa.string(),), ("age", "sex", "pay"), (), ",")
        with pytest.raises(DataError, match=r"file a\.csv: cannot be read"):
            read_partition(csv_partitions([content])[0], reading)

    def test_file_that_has_changed(self, tmp_path):
        path = write_parquet(tmp_path / "a.parquet", people())
        content = look_at(path)
        write_parquet(path, people(N_PEOPLE - 1))
        reading = Reading(("age",), (pa.int64(),), (), (), ",")
        with pytest.raises(ChangedInputError, match="changed while it was read"):
            read_partition(cut_parquet([content])[0], reading)

    def test_file_that_has_changed_and_kept_its_size_and_time(self, tmp_path):
        """As `cp -p` and a backup that is put back keep them."""
        path = write_csv(tmp_path / "a.csv", people())
        content, status = look_at(path), path.stat()
        path.write_bytes(path.read_bytes()[::-1])
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        reading = Reading(("age",), (pa.string(),), ("age", "sex", "pay"), (), ",")
        with pytest.raises(ChangedInputError, match="changed while it was read"):
            read_partition(csv_partitions([content])[0], reading)


def cut_apart(folder: Path, table: pa.Table, write, n_files: int, **options) -> Path:
    """The table's rows in files of about one size, the first of which has none."""
    folder.mkdir()
    cuts = [len(table) * i // n_files for i in range(n_files + 1)]
    for i, (start, stop) in enumerate(pairwise(cuts)):
        write(folder / f"{i + 1:04d}.data", table.slice(start, stop - start), **options)
    write(folder / "0000.data", table.slice(0, 0), **options)
    return folder


class TestHowItIsCut:
    """The same rows, cut into other files, row groups, partitions or chunks: the same bytes."""

    @pytest.mark.parametrize(
        ("write", "partition_by"),
        every(3, product([write_csv, write_parquet], [("sex",), (), ("note",)])),
    )
    def test_same_bytes(self, write, partition_by, tmp_path, sizes):
        table = mixed_people(600)
        if "note" in partition_by:
            notes = np.where(np.arange(600) % 2, "a b", "ü/x=1")
            table = table.set_column(table.column_names.index("note"), "note", pa.array(notes))
        whole = write(tmp_path / "whole.data", table)
        data = [release(mixed_policy(whole, tmp_path / "0", partition_by)).data]
        sizes.pieces(rows=50, least=16, csv_bytes=256)
        data.append(release(mixed_policy(whole, tmp_path / "1", partition_by)).data)
        options = {"row_group_size": 37} if write is write_parquet else {}
        cut_apart(tmp_path / "cut", table, write, 7, **options)
        source = tmp_path / "cut" / "*.data"
        data.append(release(mixed_policy(source, tmp_path / "2", partition_by)).data)
        if write is write_parquet:
            many = write_parquet(tmp_path / "many.data", table, row_group_size=3)
            data.append(release(mixed_policy(many, tmp_path / "3", partition_by)).data)
        assert all(one == data[0] for one in data)
        assert len(data[0]) > 5

    @pytest.mark.nightly
    def test_several_regions(self, tmp_path, sizes):
        sizes.regions(2_000)
        table = mixed_people(8_000)
        assert (
            coarse_tree.count_regions(int(0.9 * table.num_rows)) > 1
        )  # some records are incomplete
        whole = write_parquet(tmp_path / "whole.parquet", table)
        first = mixed_policy(whole, tmp_path / "0")
        first["output"]["rows_per_file"] = 1_000_000
        data = [release(first).data]
        sizes.pieces(least=800)
        second = mixed_policy(whole, tmp_path / "1")
        second["output"]["rows_per_file"] = 1_000_000
        data.append(release(second).data)
        assert data[0] == data[1]

    @repeatable
    @given(st.integers(1, 200), st.integers(0, 6))
    def test_chunks_of_csv(self, tmp_path_factory, chunk_bytes, n_blank):
        folder = tmp_path_factory.mktemp("csv")
        path = write_csv(folder / "a.csv", mixed_people(40))
        path.write_bytes(path.read_bytes() + b"\r\n" * n_blank)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(csv_chunks, "CHUNK_BYTES", chunk_bytes)
            content = look_at(path)
        header = tuple(content.schema.names)
        reading = Reading(header, (pa.string(),) * len(header), header, (), ",")
        cut = csv_partitions([content])
        assert [p.start for p in cut[1:]] == [p.stop for p in cut[:-1]]
        found = pa.concat_tables([read_partition(p, reading) for p in cut])
        whole = csv_partitions([look_at(path)])
        assert found.to_pydict() == read_partition(whole[0], reading).to_pydict()
        assert found["note"].to_pylist() == mixed_people(40)["note"].to_pylist()
