"""A name of no folder is refused by a command, and told by what else loads kernels."""

import pytest

from tclose.cli.main import main
from tclose.kernels.ready_folder import READY, find_missing


def test_a_mistyped_folder_is_one_line_before_anything_is_done(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(READY, str(tmp_path / "kernles"))
    assert main(["generate", "--rows", "10", "--out", str(tmp_path / "made.csv"), "--quiet"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"tclose: TCLOSE_KERNELS {tmp_path / 'kernles'}: is no folder, so no ")
    assert line.endswith("correct it, or take TCLOSE_KERNELS out of the environment")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("named", ["", "."])
def test_a_folder_or_none_is_no_error(monkeypatch, named):
    monkeypatch.setenv(READY, named)
    assert find_missing() == ""
