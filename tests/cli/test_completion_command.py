"""Completion in a shell: the script is sourced by the real one, which is asked for words."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tclose.cli.main import main

SHELLS = ["bash", "zsh", "fish"]


def script_of(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def completed(script: str, folder: Path, *words: str) -> list[str]:
    """What bash offers for the last of these words."""
    asked = (
        'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_tclose; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{asked}", "bash", *words],
        cwd=folder, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_commands_options_and_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = script_of("bash", capsys)
    (tmp_path / "policy.yaml").touch()
    assert completed(script, tmp_path, "tclose", "fro") == ["frontier"]
    assert completed(script, tmp_path, "tclose", "run", "--qu") == ["--quiet"]
    assert completed(script, tmp_path, "tclose", "run", "pol") == ["policy.yaml"]
    assert completed(script, tmp_path, "tclose", "completion", "") == SHELLS


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    "words",
    [
        ("init",),
        ("attack",),
        ("attack", "a", "b", "--originals"),
        ("audit", "a", "--population"),
        ("intrude", "a", "--python"),
        ("intrude", "a", "--out"),
    ],
)
def test_bash_completes_files_of_all_kinds(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data.csv").touch()
    (tmp_path / "data").mkdir()
    found = completed(script_of("bash", capsys), tmp_path, "tclose", *words, "dat")
    assert {word.rstrip("/") for word in found} == {"data", "data.csv"}


@pytest.mark.parametrize("shell", SHELLS)
def test_script_is_one_that_the_shell_reads(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script"
    script.write_text(script_of(shell, capsys))
    assert "frontier" in script.read_text()
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n", script], check=True, timeout=60)


def test_other_shells_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["completion", "bsh"])
    assert ended.value.code == 2
    assert "did you mean bash?" in capsys.readouterr().err
