"""Generated files: Parquet, CSV or a folder of parts, each whole or not there at all."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from support.tables.generated_columns import SEED
from tclose.data.synthetic import ROW_GROUP_ROWS, SCHEMA, generate_rows, write_microdata
from tclose.errors import OutputError, UsageError


class TestFiles:
    N_ROWS = ROW_GROUP_ROWS + 1_000

    def test_one_parquet_file(self, tmp_path: Path) -> None:
        path = tmp_path / "discharges.parquet"
        assert write_microdata(path, self.N_ROWS, SEED) == [path]
        assert pq.read_table(path).equals(generate_rows(0, self.N_ROWS, SEED))
        groups = pq.ParquetFile(path).metadata
        assert [groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == [
            ROW_GROUP_ROWS,
            1_000,
        ]
        assert list(tmp_path.iterdir()) == [path]

    def test_csv_round_trip(self, tmp_path: Path) -> None:
        path = tmp_path / "discharges.CSV"
        assert write_microdata(path, self.N_ROWS, SEED) == [path]
        types = dict(zip(SCHEMA.names, SCHEMA.types, strict=True))
        options = pa_csv.ConvertOptions(column_types=types, strings_can_be_null=False)
        table = pa_csv.read_csv(path, convert_options=options).cast(SCHEMA)
        assert table.equals(generate_rows(0, self.N_ROWS, SEED))
        with path.open(encoding="utf-8") as lines:
            assert next(lines) == ",".join(SCHEMA.names) + "\n"
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.parametrize("rows_per_file", [40_000, 65_536, 100_000, 132_072])
    def test_folder_of_parts(self, tmp_path: Path, rows_per_file: int) -> None:
        folder = tmp_path / "discharges"
        files = write_microdata(folder, self.N_ROWS, SEED, rows_per_file=rows_per_file)
        n_files = -(-self.N_ROWS // rows_per_file)
        assert files == [folder / f"part-{part:05d}.parquet" for part in range(n_files)]
        assert sorted(folder.iterdir()) == files
        assert list(tmp_path.iterdir()) == [folder]
        tables = [pq.read_table(file) for file in files]
        assert [table.num_rows for table in tables[:-1]] == [rows_per_file] * (n_files - 1)
        assert pa.concat_tables(tables).equals(generate_rows(0, self.N_ROWS, SEED))

    def test_empty_folder_is_filled(self, tmp_path: Path) -> None:
        assert write_microdata(tmp_path, 10, SEED) == [tmp_path / "part-00000.parquet"]
        assert pq.read_table(tmp_path).equals(generate_rows(0, 10, SEED))

    @pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a"])
    def test_missing_folders_are_made(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / "new/newer" / name
        files = write_microdata(path, 10, SEED)
        assert all(file.is_file() for file in files)
        assert list(path.parent.iterdir()) == [path]

    def test_progress_counts_rows_written(self, tmp_path: Path) -> None:
        seen: list[int] = []
        write_microdata(
            tmp_path / "parts", 150_000, SEED, rows_per_file=100_000, progress=seen.append
        )
        assert seen == [100_000, 150_000]
        seen.clear()
        write_microdata(tmp_path / "one.parquet", self.N_ROWS, SEED, progress=seen.append)
        assert seen == [ROW_GROUP_ROWS, self.N_ROWS]


class TestRefusals:
    @pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a"])
    @pytest.mark.parametrize("n_rows", [0, -1])
    def test_no_rows(self, tmp_path: Path, name: str, n_rows: int) -> None:
        with pytest.raises(UsageError, match=f"number of rows is {n_rows}"):
            write_microdata(tmp_path / name, n_rows, SEED)
        assert list(tmp_path.iterdir()) == []

    def test_no_rows_per_file(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="rows per file is 0"):
            write_microdata(tmp_path / "a", 10, SEED, rows_per_file=0)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a"])
    def test_file_that_exists_is_kept(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name
        path.write_text("mine")
        with pytest.raises(OutputError, match="exists already"):
            write_microdata(path, 10, SEED)
        assert path.read_text() == "mine"
        assert list(tmp_path.iterdir()) == [path]

    def test_folder_that_holds_something_is_kept(self, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").write_text("mine")
        with pytest.raises(OutputError, match="exists already"):
            write_microdata(tmp_path, 10, SEED)
        assert list(tmp_path.iterdir()) == [tmp_path / "mine.txt"]

    def test_folder_named_like_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.parquet").mkdir()
        with pytest.raises(OutputError, match="exists already"):
            write_microdata(tmp_path / "a.parquet", 10, SEED)
        assert list((tmp_path / "a.parquet").iterdir()) == []

    @pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a"])
    def test_place_that_cannot_be_written(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "file").write_text("mine")
        for parent in ("file", "file/below"):
            with pytest.raises(OutputError, match="cannot write"):
                write_microdata(tmp_path / parent / name, 10, SEED)
        assert list(tmp_path.iterdir()) == [tmp_path / "file"]

    @pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a"])
    def test_folders_made_for_a_run_cut_short_are_removed(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "there").mkdir()

        def stop(n_written: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_microdata(tmp_path / "there/new/newer" / name, 10, SEED, progress=stop)
        assert list(tmp_path.rglob("*")) == [tmp_path / "there"]

    def test_folder_that_came_to_hold_something_is_kept(self, tmp_path: Path) -> None:
        def stop(n_written: int) -> None:
            (tmp_path / "new/mine").write_text("mine")
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_microdata(tmp_path / "new/newer/a", 10, SEED, progress=stop)
        assert sorted(tmp_path.rglob("*")) == [tmp_path / "new", tmp_path / "new/mine"]

    def test_name_that_is_too_long_below_a_missing_folder(self, tmp_path: Path) -> None:
        with pytest.raises(OutputError, match="File name too long"):
            write_microdata(tmp_path / "new" / ("a" * 250), 10, SEED)
        assert list(tmp_path.iterdir()) == []

    def test_name_that_is_too_long(self, tmp_path: Path) -> None:
        with pytest.raises(OutputError, match="File name too long"):
            write_microdata(tmp_path / ("a" * 300), 10, SEED)
        with pytest.raises(OutputError, match="File name too long"):
            write_microdata(tmp_path / ("a" * 250), 10, SEED)
        assert list(tmp_path.iterdir()) == []

    def test_mount_point(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Path, "is_mount", lambda path: path == tmp_path)
        with pytest.raises(OutputError, match="mount point"):
            write_microdata(tmp_path, 10, SEED)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a"])
    def test_run_cut_short_leaves_nothing(self, tmp_path: Path, name: str) -> None:
        def stop(n_written: int) -> None:
            assert not (tmp_path / name).exists()
            if n_written > 20_000:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_microdata(tmp_path / name, 200_000, SEED, rows_per_file=20_000, progress=stop)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("name", ["a.parquet", "a"])
    def test_full_disk_leaves_nothing(
        self, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fill_up(writer: pq.ParquetWriter, table: pa.Table) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(pq.ParquetWriter, "write_table", fill_up)
        with pytest.raises(OutputError, match=r"cannot write .*: No space left on device"):
            write_microdata(tmp_path / name, 10, SEED)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("name", ["a.parquet", "a"])
    def test_target_that_appears_meanwhile_is_kept(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name

        def appear(_: int) -> None:
            path.write_text("mine")

        with pytest.raises(OutputError, match="exists already"):
            write_microdata(path, 10, SEED, progress=appear)
        assert path.read_text() == "mine"
        assert list(tmp_path.iterdir()) == [path]
