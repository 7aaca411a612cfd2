"""The generator: one endless table per seed, however it is cut, and believable in its margins."""

from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from pipeline import cli, generate_command, generator
from pipeline.cli import main
from pipeline.errors import OutputError, UsageError
from pipeline.generator import (
    CHUNK_ROWS,
    MAX_ROWS,
    ROW_GROUP_ROWS,
    SCHEMA,
    generate_rows,
    write_microdata,
)

SEED = 20_240_917


@pytest.fixture(scope="module")
def discharges() -> pa.Table:
    return generate_rows(0, 3 * CHUNK_ROWS, SEED)


def column(table: pa.Table, name: str) -> np.ndarray:
    return table[name].to_numpy()


class TestRows:
    def test_first_row_of_a_seed_never_changes(self) -> None:
        assert generate_rows(0, 1, 1).to_pylist() == [
            {
                "patient_id": "P23194566062",
                "age": 68,
                "sex": "male",
                "zip": 90_010,
                "admission_date": date(2023, 4, 5),
                "length_of_stay": 1,
                "diagnosis_group": "circulatory",
                "insurance_type": "public",
                "severity": "minor",
                "charge": 13_375.42,
                "discharge_status": "home",
            }
        ]

    @pytest.mark.parametrize(
        ("first", "n_rows"),
        [
            (0, 1),
            (0, CHUNK_ROWS),
            (CHUNK_ROWS - 1, 2),
            (CHUNK_ROWS, 10),
            (12_345, CHUNK_ROWS + 1),
            (3 * CHUNK_ROWS - 1, 1),
        ],
    )
    def test_row_is_the_same_whatever_is_asked(
        self, discharges: pa.Table, first: int, n_rows: int
    ) -> None:
        assert generate_rows(first, n_rows, SEED).equals(discharges.slice(first, n_rows))

    def test_row_is_the_same_whatever_was_made_before(self) -> None:
        before = generate_rows(5 * CHUNK_ROWS, 100, SEED)
        generate_rows(0, 1, SEED + 1)
        assert generate_rows(5 * CHUNK_ROWS, 100, SEED).equals(before)

    def test_seeds_and_chunks_differ(self, discharges: pa.Table) -> None:
        start = discharges.slice(0, 100)
        assert not generate_rows(0, 100, SEED + 1)["charge"].equals(start["charge"])
        assert not generate_rows(0, 100, SEED + 1)["patient_id"].equals(start["patient_id"])
        assert not discharges.slice(CHUNK_ROWS, 100)["charge"].equals(start["charge"])

    def test_types_and_no_nulls(self, discharges: pa.Table) -> None:
        assert discharges.schema.equals(SCHEMA)
        assert [str(kind) for kind in discharges.schema.types] == [
            "string",
            "int16",
            "string",
            "int32",
            "date32[day]",
            "int16",
            "string",
            "string",
            "string",
            "double",
            "string",
        ]
        assert not any(field.nullable for field in discharges.schema)
        assert all(values.null_count == 0 for values in discharges.columns)

    def test_far_rows_exist_up_to_the_limit(self) -> None:
        last = generate_rows(MAX_ROWS - 1, 1, SEED)
        assert last.num_rows == 1
        with pytest.raises(UsageError, match="exist"):
            generate_rows(MAX_ROWS - 1, 2, SEED)

    @pytest.mark.parametrize(
        ("first", "n_rows", "seed", "message"),
        [
            (0, 0, 1, "number of rows is 0"),
            (0, -5, 1, "number of rows is -5"),
            (-1, 5, 1, "rows -1 to 3 asked"),
            (0, 5, -1, "seed is -1"),
        ],
    )
    def test_refuses_numbers_out_of_range(
        self, first: int, n_rows: int, seed: int, message: str
    ) -> None:
        with pytest.raises(UsageError, match=message):
            generate_rows(first, n_rows, seed)


class TestMargins:
    def test_patient_ids_are_unique_and_silent_about_order(self, discharges: pa.Table) -> None:
        ids = discharges["patient_id"]
        assert pc.count_distinct(ids).as_py() == discharges.num_rows
        assert pc.all(pc.match_substring_regex(ids, "^P[0-9]{11}$")).as_py()
        numbers = pc.utf8_slice_codeunits(ids, 1).cast(pa.int64()).to_numpy()
        assert abs(np.corrcoef(numbers, np.arange(len(numbers)))[0, 1]) < 0.01
        assert abs(np.mean(np.diff(numbers) > 0) - 0.5) < 0.01

    def test_numbers_stay_in_range(self, discharges: pa.Table) -> None:
        age, stay, charge = (
            column(discharges, name) for name in ("age", "length_of_stay", "charge")
        )
        assert (age.min(), age.max()) == (0, 104)
        assert stay.min() == 0
        assert stay.max() <= 365
        assert charge.min() > 100
        assert np.array_equal(charge, np.round(charge, 2))

    def test_categories(self, discharges: pa.Table) -> None:
        assert set(discharges["sex"].unique().to_pylist()) == set(generator.SEXES)
        assert set(discharges["severity"].unique().to_pylist()) == set(generator.SEVERITIES)
        assert set(discharges["insurance_type"].unique().to_pylist()) == set(generator.INSURANCES)
        assert set(discharges["discharge_status"].unique().to_pylist()) == set(generator.STATUSES)
        assert pc.count_distinct(discharges["diagnosis_group"]).as_py() == 21

    def test_ages_peak_at_birth_and_late_in_life(self, discharges: pa.Table) -> None:
        counts = np.bincount(column(discharges, "age"), minlength=105)
        assert counts[0] == counts.max()
        assert counts[70] > 3 * counts[10]
        assert counts[104] < counts[85] / 20

    def test_pregnancy_only_in_women_of_15_to_50(self, discharges: pa.Table) -> None:
        is_pregnancy = pc.equal(discharges["diagnosis_group"], "pregnancy and childbirth")
        cases = discharges.filter(is_pregnancy)
        assert cases["sex"].unique().to_pylist() == ["female"]
        assert column(cases, "age").min() == 15
        assert 45 <= column(cases, "age").max() <= 50
        assert 0.07 < cases.num_rows / discharges.num_rows < 0.14

    def test_perinatal_only_in_newborns(self, discharges: pa.Table) -> None:
        cases = discharges.filter(pc.equal(discharges["diagnosis_group"], "perinatal"))
        assert cases["age"].unique().to_pylist() == [0]
        assert cases.num_rows > 0.8 * np.sum(column(discharges, "age") == 0)

    @pytest.mark.parametrize(
        ("group", "sex"), [("male reproductive", "male"), ("female reproductive", "female")]
    )
    def test_reproductive_groups_follow_sex(
        self, discharges: pa.Table, group: str, sex: str
    ) -> None:
        cases = discharges.filter(pc.equal(discharges["diagnosis_group"], group))
        assert cases["sex"].unique().to_pylist() == [sex]

    def test_zip_codes_are_many_uneven_and_in_six_neighbourhoods(
        self, discharges: pa.Table
    ) -> None:
        codes, counts = np.unique(column(discharges, "zip"), return_counts=True)
        assert len(codes) == 900
        assert (codes.min(), codes.max()) == (90_001, 96_099)
        assert np.sum(np.diff(codes) > 200) == 5
        assert counts.max() > 50 * counts.min()

    def test_dates_cover_three_years_with_quiet_weekends_and_a_winter(
        self, discharges: pa.Table
    ) -> None:
        dates = column(discharges, "admission_date").astype("datetime64[D]")
        assert (str(dates.min()), str(dates.max())) == ("2022-01-01", "2024-12-31")
        by_weekday = np.bincount((dates.astype(int) + 3) % 7)
        assert by_weekday[5:].max() < 0.9 * by_weekday[:5].min()
        is_chest = pc.equal(discharges["diagnosis_group"], "respiratory").to_numpy()
        by_month = np.bincount(dates[is_chest].astype("datetime64[M]").astype(int) % 12)
        assert by_month[0] > 1.5 * by_month[6]

    def test_stays_are_short_tied_and_skewed(self, discharges: pa.Table) -> None:
        stay = column(discharges, "length_of_stay")
        assert 0.45 < np.mean((stay >= 1) & (stay <= 3)) < 0.7
        assert stay.mean() > 1.3 * np.median(stay)

    def test_charges_are_tied_and_skewed(self, discharges: pa.Table) -> None:
        charge = column(discharges, "charge")
        values, counts = np.unique(charge, return_counts=True)
        assert 0.25 < counts[counts >= 20].sum() / len(charge) < 0.45
        assert len(values) > len(charge) / 2
        assert charge.mean() > 1.3 * np.median(charge)

    def test_charges_follow_stay_and_severity(self, discharges: pa.Table) -> None:
        charge, stay = column(discharges, "charge"), column(discharges, "length_of_stay")
        assert np.corrcoef(charge, stay)[0, 1] > 0.3
        severity = column(discharges, "severity")
        medians = [np.median(charge[severity == level]) for level in generator.SEVERITIES]
        assert medians == sorted(medians)

    def test_insurance_follows_age_and_region(self, discharges: pa.Table) -> None:
        age, insurance = column(discharges, "age"), column(discharges, "insurance_type")
        is_coast = column(discharges, "zip") // 1_000 == 92
        is_private = insurance == "private"
        assert is_private[age < 60].mean() > 5 * is_private[age > 70].mean()
        is_adult = (age >= 18) & (age < 60)
        assert is_private[is_adult & is_coast].mean() > is_private[is_adult].mean() + 0.1

    def test_deaths_follow_severity_and_age(self, discharges: pa.Table) -> None:
        died = column(discharges, "discharge_status") == "died"
        is_extreme = column(discharges, "severity") == "extreme"
        is_old = column(discharges, "age") >= 75
        assert 0.01 < died.mean() < 0.03
        assert died[is_extreme].mean() > 10 * died[~is_extreme].mean()
        assert died[is_old].mean() > 2 * died[~is_old].mean()


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
        with pytest.raises(OutputError, match="exists already"):
            write_microdata(path, 10, SEED, progress=lambda _: [path.write_text("mine")])
        assert path.read_text() == "mine"
        assert list(tmp_path.iterdir()) == [path]


class TestCommand:
    def generate(self, path: Path, *options: str, n_rows: int = 2 * ROW_GROUP_ROWS) -> int:
        return main(["generate", "--rows", str(n_rows), "--out", str(path), *options])

    def test_lines(self, tmp_path, capsys, monkeypatch) -> None:
        monkeypatch.setattr(generate_command, "_SECONDS_BETWEEN_LINES", 0)
        assert self.generate(tmp_path / "a.parquet") == 0
        printed, shown = capsys.readouterr()
        assert printed == f"262,144 records in 1 files: {tmp_path}/a.parquet\n"
        assert shown.splitlines() == [
            "131,072 of 262,144 records written",
            "262,144 of 262,144 records written",
        ]

    def test_no_line_within_two_seconds(self, tmp_path, capsys, monkeypatch) -> None:
        monkeypatch.setattr("time.monotonic", lambda: 0.0)
        assert self.generate(tmp_path / "a") == 0
        assert capsys.readouterr().err == ""

    def test_bar(self, tmp_path, capsys, monkeypatch) -> None:
        monkeypatch.setattr(cli, "default_style", lambda quiet: "bar")
        assert self.generate(tmp_path / "a") == 0
        assert "262/262" in capsys.readouterr().err

    @pytest.mark.parametrize("n_rows", [1, 999, 1_001])
    def test_bar_of_few_records(self, n_rows, tmp_path, capsys, monkeypatch) -> None:
        monkeypatch.setattr(cli, "default_style", lambda quiet: "bar")
        assert self.generate(tmp_path / "a", n_rows=n_rows) == 0
        assert "1/1" in capsys.readouterr().err

    def test_quiet(self, tmp_path, capsys, monkeypatch) -> None:
        monkeypatch.setattr(generate_command, "_SECONDS_BETWEEN_LINES", 0)
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        assert self.generate(tmp_path / "a", "--quiet") == 0
        assert capsys.readouterr().err == ""

    @pytest.mark.parametrize("style", ["bar", "lines", "none"])
    def test_refusal_is_one_message(self, style, tmp_path, capsys, monkeypatch) -> None:
        monkeypatch.setattr(cli, "default_style", lambda quiet: style)
        (tmp_path / "mine").touch()
        assert self.generate(tmp_path) == 2
        assert capsys.readouterr().err == (
            f"tclose: {tmp_path} exists already; remove it or name another place\n"
        )
        assert self.generate(tmp_path / "a", n_rows=0) == 2
        assert capsys.readouterr().err == (
            "tclose: the number of rows is 0; it must be at least 1\n"
        )
