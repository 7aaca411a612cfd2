"""The command generate: what it prints meanwhile, at the end, and when it refuses."""

from collections.abc import Callable
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tclose.cli import generate_command
from tclose.cli.main import main
from tclose.data.synthetic import ROW_GROUP_ROWS
from tclose.runtime.monitoring import progress


@pytest.fixture
def show_as(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have progress shown in a style, whatever the terminal."""
    return lambda style: monkeypatch.setattr(progress, "default_style", lambda quiet: style)


@pytest.fixture
def every_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time has to pass between the lines of progress."""
    monkeypatch.setattr(generate_command, "_SECONDS_BETWEEN_LINES", 0)


class TestCommand:
    def generate(self, path: Path, *options: str, n_rows: int = 2 * ROW_GROUP_ROWS) -> int:
        return main(["generate", "--rows", str(n_rows), "--out", str(path), *options])

    def test_lines(self, tmp_path, capsys, every_line) -> None:
        assert self.generate(tmp_path / "a.parquet") == 0
        printed, shown = capsys.readouterr()
        assert printed == f"262,144 records in 1 file: {tmp_path}/a.parquet\n"
        assert shown.splitlines() == [
            "131,072 of 262,144 records written",
            "262,144 of 262,144 records written",
        ]

    def test_no_line_within_two_seconds(self, tmp_path, capsys, monkeypatch) -> None:
        monkeypatch.setattr("time.monotonic", lambda: 0.0)
        assert self.generate(tmp_path / "a") == 0
        assert capsys.readouterr().err == ""

    def test_bar(self, tmp_path, capsys, show_as) -> None:
        show_as("bar")
        assert self.generate(tmp_path / "a") == 0
        assert "262/262" in capsys.readouterr().err

    @pytest.mark.parametrize("n_rows", [1, 999, 1_001])
    def test_bar_of_few_records(self, n_rows, tmp_path, capsys, show_as) -> None:
        show_as("bar")
        assert self.generate(tmp_path / "a", n_rows=n_rows) == 0
        assert "1/1" in capsys.readouterr().err

    def test_quiet(self, tmp_path, capsys, monkeypatch, every_line) -> None:
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        assert self.generate(tmp_path / "a", "--quiet") == 0
        assert capsys.readouterr().err == ""

    @pytest.mark.parametrize("style", ["bar", "lines", "none"])
    def test_refusal_is_one_message(self, style, tmp_path, capsys, show_as) -> None:
        show_as(style)
        (tmp_path / "mine").touch()
        assert self.generate(tmp_path) == 2
        assert capsys.readouterr().err == (
            f"tclose: {tmp_path} exists already; remove it or name another place\n"
        )
        assert self.generate(tmp_path / "a", n_rows=0) == 2
        assert capsys.readouterr().err == (
            "tclose: the number of rows is 0; it must be at least 1\n"
        )

    def test_a_third_are_of_patients_who_come_back(self, tmp_path) -> None:
        assert self.generate(tmp_path / "a.parquet", n_rows=1_000) == 0
        assert self.generate(tmp_path / "b.parquet", "--returning", "0", n_rows=1_000) == 0
        ids = [pq.read_table(tmp_path / f"{name}.parquet")["patient_id"] for name in "ab"]
        n_patients = [pc.count_distinct(column).as_py() for column in ids]
        assert 600 < n_patients[0] < 760
        assert n_patients[1] == 1_000


class TestPanel:
    def generate(self, path: Path, *options: str) -> int:
        return main(["generate", "--table", "panel", "--out", str(path), *options])

    def test_months(self, tmp_path, capsys) -> None:
        assert self.generate(tmp_path / "a", "--persons", "20", "--months", "3") == 0
        assert capsys.readouterr().out == f"20 persons in each of 3 months: {tmp_path}/a\n"
        names = sorted(file.name for file in (tmp_path / "a").iterdir())
        assert names == ["2024-01.parquet", "2024-02.parquet", "2024-03.parquet"]

    def test_year_by_default(self, tmp_path) -> None:
        assert self.generate(tmp_path / "a", "--persons", "20") == 0
        assert len(list((tmp_path / "a").iterdir())) == 12

    def test_month_alone_is_that_of_the_folder(self, tmp_path, capsys) -> None:
        options = ("--persons", "300", "--seed", "3", "--churn", "0.1")
        assert self.generate(tmp_path / "a", *options) == 0
        assert self.generate(tmp_path / "b.parquet", *options, "--month", "2024-11") == 0
        said = capsys.readouterr().out.splitlines()[1]
        assert said == f"300 persons in each of 1 month: {tmp_path}/b.parquet"
        alone = (tmp_path / "b.parquet").read_bytes()
        assert alone == (tmp_path / "a" / "2024-11.parquet").read_bytes()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--table", "panel"), "--persons is missing, the number of records of panel"),
            ((), "--rows is missing, the number of records of discharges"),
            (("--rows", "5", "--churn", "0.1"), "--churn goes with --table panel, not with disch"),
            (
                ("--rows", "5", "--returning", "1"),
                "the share returning is 1.0; it must be at least",
            ),
            (("--table", "panel", "--rows", "5"), "--rows goes with --table discharges, not with"),
            (
                ("--table", "panel", "--persons", "5", "--month", "2024-02", "--months", "3"),
                "--month and --months exclude each other",
            ),
            (("--table", "panel", "--persons", "5", "--month", "May"), "--month May: has to be"),
            (("--table", "panel", "--persons", "5", "--months", "121"), "month 2034-01: 2024-01"),
            (("--table", "panel", "--persons", "5", "--churn", "2"), "the churn is 2.0"),
        ],
    )
    def test_refusals(self, options, message, tmp_path, capsys) -> None:
        assert main(["generate", "--out", str(tmp_path / "a"), *options]) == 2
        assert message in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []
