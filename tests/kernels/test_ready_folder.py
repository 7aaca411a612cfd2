"""A name of no folder is refused by a command, and told by what else loads kernels."""

import pyarrow.parquet as pq
import pytest

from support.cases.people import people, policy_for, write_policy
from tclose.api import warm_up
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


def test_kernels_of_another_version_are_one_line_of_a_run_and_of_warm_up(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "kernels" / "0123456789abcdef0123").mkdir(parents=True)
    monkeypatch.setenv(READY, str(tmp_path / "kernels"))
    pq.write_table(people(100), tmp_path / "people.parquet")
    policy = write_policy(tmp_path / "policy.yaml", policy_for(tmp_path / "people.parquet"))
    monkeypatch.setattr(warm_up, "CASES", {"the clusters": warm_up.CASES["the clusters"]})
    for command in (["run", str(policy), "--quiet"], ["warm-up", "--quiet"]):
        assert main(command) == 0
        shown = capsys.readouterr().err.splitlines()
        [line] = [line for line in shown if READY in line]
        assert f"{READY} {tmp_path / 'kernels'}: has no kernels of this version of tclose" in line
        assert "`env -u TCLOSE_KERNELS NUMBA_CACHE_DIR=FOLDER tclose warm-up`" in line
