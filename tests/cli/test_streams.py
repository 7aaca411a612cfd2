"""Standard streams that are closed, full or left by their readers change no result or status."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.cases.people import people, policy_for, release, write_csv, write_policy
from tclose.cli.main import main

FULL = Path("/dev/full")


def call(shell_words: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Call the command in a shell, which closes streams, as users have them: with buffers."""
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    script = f'set -o pipefail; tclose() {{ "{sys.executable}" -m tclose "$@"; }}; {shell_words}'
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a policy and a release of it."""
    folder = tmp_path_factory.mktemp("streams")
    document = policy_for(write_csv(folder / "people.csv", people()), name="people")
    write_policy(folder / "policy.yaml", document)
    (folder / "release").symlink_to(release(document).folder)
    return folder


class TestReaderThatHasGone:
    @pytest.mark.parametrize("words", ["show release", "schema", "--help"])
    def test_result_has_its_status_and_no_message(self, folder, words):
        ended = call(f"tclose {words} | true", folder)
        assert (ended.returncode, ended.stderr) == (0, "")

    def test_differences_are_told_by_the_status(self, folder):
        release(policy_for(folder / "people.csv", seed=3, output={"path": str(folder / "other")}))
        ended = call("tclose diff release other/people | true", folder)
        assert (ended.returncode, ended.stderr) == (1, "")

    def test_refusal_has_its_status(self, folder):
        assert call("tclose run missing.yaml 2>&1 | true", folder).returncode == 2

    def test_run_whose_progress_nobody_reads_publishes(self, folder):
        ended = call("tclose run policy.yaml --set output.path=unread 2>&1 | head -1", folder)
        assert ended.returncode == 0
        assert (folder / "unread" / "people" / "CURRENT").is_file()


@pytest.mark.skipif(not FULL.exists(), reason="there is no device that is full")
class TestFullDisk:
    def test_result_that_is_lost_is_told(self, folder):
        ended = call("tclose show release > /dev/full", folder)
        assert ended.returncode == 1
        assert ended.stderr.startswith("tclose: show: No space left on device; make room")
        assert len(ended.stderr.splitlines()) == 1

    def test_run_publishes_without_its_log(self, folder):
        ended = call("tclose run policy.yaml --set output.path=full --json 2> /dev/full", folder)
        assert ended.returncode == 0
        assert Path(json.loads(ended.stdout)["release"]).is_dir()

    def test_refusal_has_its_status(self, folder):
        assert call("tclose run missing.yaml 2> /dev/full", folder).returncode == 2


class TestClosedStreams:
    def test_run_publishes(self, folder):
        command = "tclose run policy.yaml --set output.path=closed <&- >&- 2>&-"
        assert call(command, folder).returncode == 0
        [manifest] = (folder / "closed").glob("people/*/manifest.json")
        assert json.loads(manifest.read_text())["verdict"] == "pass"

    def test_commands_that_show_say_nothing(self, folder):
        ended = call("tclose show release >&-", folder)
        assert (ended.returncode, ended.stderr) == (0, "")

    def test_refusal_has_its_status(self, folder):
        assert call("tclose run missing.yaml 2>&-", folder).returncode == 2


def test_letters_that_a_terminal_lacks_are_printed_as_their_codes(folder):
    write_csv(folder / "foreign.csv", people().rename_columns(["im\u0119", "sex", "pay"]))
    document = policy_for(folder / "foreign.csv", name="foreign")
    document["attributes"]["im\u0119"] = document["attributes"].pop("age")
    write_policy(folder / "foreign.yaml", document)
    ended = call("PYTHONIOENCODING=latin-1 tclose plan foreign.yaml --quiet --sample 0", folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "column im\\u0119" in ended.stdout


class TestPathThatIsNotUTF8:
    """Refused before anything is done, since no manifest or lineage can name it."""

    @pytest.fixture
    def odd(self, folder: Path) -> Path:
        odd = folder / os.fsdecode(b"caf\xe9")
        odd.mkdir(exist_ok=True)
        shutil.copy(folder / "people.csv", odd)
        return odd

    def test_input(self, folder, odd, monkeypatch, capsys):
        monkeypatch.chdir(folder)
        for command in ("run", "plan", "frontier"):
            arguments = [command, "policy.yaml", "--quiet", "--set", "input.path=caf*/people.csv"]
            assert main(arguments) == 2
            reason = "its path is not UTF-8; rename the folder or file whose name is not\n"
            out, err = capsys.readouterr()
            assert out == ""
            assert err.endswith(f"caf\\udce9/people.csv: {reason}")

    def test_working_folder_of_output_and_of_working_files(self, odd, monkeypatch, capsys):
        monkeypatch.chdir(odd)
        for place in ([], ["--set", "engine.work_path=work"]):
            set_output = ["--set", "output.path=here", *place]
            assert main(["run", "../policy.yaml", "--quiet", *set_output]) == 2
            out, err = capsys.readouterr()
            assert out == ""
            assert "caf\\udce9/here: its path is not UTF-8; rename the folder" in err

    def test_table_of_a_first_policy(self, odd):
        ended = call("tclose init people.csv", odd)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "people.csv: its path is not UTF-8; rename" in ended.stderr

    def test_generated_records(self, odd, monkeypatch, capsys):
        monkeypatch.chdir(odd)
        for name in ("new", "new.csv", "new.parquet"):
            assert main(["generate", "--rows", "9", "--out", name]) == 2
            reason = "its path is not UTF-8; rename the folder or file whose name is not\n"
            out, err = capsys.readouterr()
            assert out == ""
            assert err.endswith(f"caf\\udce9/{name}: {reason}")
        panel = ["--table", "panel", "--persons", "9", "--months", "1"]
        assert main(["generate", *panel, "--out", "new"]) == 2
        assert sorted(path.name for path in odd.iterdir()) == ["people.csv"]

    def test_scratch_folder(self, folder, monkeypatch, capsys):
        monkeypatch.setenv("TMPDIR", os.fsdecode(b"caf\xe9"))
        for command in (
            ["plan", f"{folder}/policy.yaml"],
            ["frontier", f"{folder}/policy.yaml"],
            ["warm-up"],
        ):
            assert main([*command, "--quiet"]) == 2
            out, err = capsys.readouterr()
            assert out == ""
            assert err.startswith("tclose: TMPDIR caf\\udce9: its path is not UTF-8; name")

    def test_folder_beside_those_of_releases(self, folder):
        release(policy_for(folder / "people.csv", output={"path": str(folder / "two")}))
        assert call("cp -r two/people $(printf 'two/caf\\351')", folder).returncode == 0
        ended = call(
            "tclose run policy.yaml --quiet --set output.path=two --set privacy.k=9", folder
        )
        assert ended.returncode == 0
        assert "TC-W014" in ended.stderr
        assert "caf\\udce9/" in ended.stderr
        shown = call("tclose site two --out site", folder)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert shown.stdout == (
            "left out caf\\udce9: its name is not UTF-8; rename it\n2 releases in site/index.html\n"
        )
