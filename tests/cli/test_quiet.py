"""What `--quiet` leaves is what its help says."""

from pathlib import Path

import pytest

from support.cases.people import people_policy, write_policy
from tclose.cli.main import main

pytestmark = pytest.mark.usefixtures("small_regions")


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return write_policy(tmp_path / "policy.yaml", people_policy(tmp_path))


def test_result_alone_is_printed(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command, first in (("plan", ""), ("run", "published"), ("run", "already published")):
        assert main([command, str(policy), "--quiet"]) == 0
        shown = capsys.readouterr()
        assert shown.out.startswith(first)
        assert shown.err == ""


def test_audit_prints_verdict_findings_and_notes(
    policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(policy), "--quiet"]) == 0
    capsys.readouterr()
    audited = str(tmp_path / "releases" / "people")
    assert main(["audit", audited, "--quiet"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "audit: PASS\n"
    assert shown.err == ""


def test_errors_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(tmp_path / "none.yaml"), "--quiet"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("tclose: ")


@pytest.mark.parametrize(
    "command", ["run", "flow", "plan", "frontier", "generate", "audit", "warm-up"]
)
def test_help_says_what_is_left(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    said = " ".join(capsys.readouterr().out.split())
    left = "the verdict, findings, notes and errors" if command == "audit" else (
        "the result, warnings and errors")  # fmt: skip
    assert f"no progress: print {left} only" in said
