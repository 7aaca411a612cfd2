"""Raw records in scratch folders do not outlive their command by more than the next one."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import psutil
import pytest
import yaml

from nightly.kernel_cache import kernel_cache
from support.cases.people import people, policy_for, release, tree, write_parquet, write_policy
from tclose.cli.main import main
from tclose.errors import OutputError
from tclose.runtime.scratch import Purpose, clear_scratch, scratch_folder, temporary_folder

pytestmark = pytest.mark.usefixtures("small_regions")

TESTS = Path(__file__).resolve().parents[2]
CANARY = 918_273_645_111
COMMANDS = {
    "plan": ["plan"],
    "frontier": ["frontier", "--k", "3", "--t", ".3"],
    "audit": ["audit", "RELEASE", "--originals"],
}


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where scratch folders are made; in a folder with a short name, as sockets are there too."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    for name, value in kernel_cache().items():  # as it is before the next line
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield folder
    subprocess.run(["rm", "-r", str(folder)], check=True)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    table = people(240)
    pay = table["pay"].to_pylist()
    pay[7] = CANARY
    source = write_parquet(tmp_path / "people.parquet", people(240, pay=pay))
    return write_policy(tmp_path / "policy.yaml", policy_for(source, privacy={"k": 3, "t": 0.5}))


@contextlib.contextmanager
def waiting(policy: Path, command: str, *more: str) -> Iterator[subprocess.Popen]:
    """The command in a process of its own, at a moment when it has raw records in scratch."""
    mark = policy.parent / f"waits-{command}"
    words = [str(policy) if word == "POLICY" else word for word in COMMANDS[command]]
    if command == "audit":
        words[1] = str(release(yaml.safe_load(policy.read_text())).folder)
    environment = os.environ | {"PYTHONPATH": f"{TESTS}:{TESTS.parent}"}
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "support.faults.killed_command", str(mark), *words),
            *(str(policy), "--quiet", *more),
        ],
        env=environment,
    )
    try:
        while not mark.exists():
            assert process.poll() is None
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.wait()


def has_records(folder: Path) -> bool:
    """Whether the confidential value is in a file there, as numbers are written."""
    value = CANARY.to_bytes(8, "little")
    return any(value in (content or b"") for content in tree(folder).values())


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_kill_leaves_is_removed_by_any_next_command(command, policy, temporary):
    with waiting(policy, command) as process:
        assert has_records(temporary)
        process.kill()
        process.wait()
        assert has_records(temporary)
        assert main(["schema"]) == 0
    assert tree(temporary) == {}


def test_workers_and_their_sockets_are_cleared_too(policy, temporary):
    with waiting(policy, "plan", "--set", "engine.workers=1") as process:
        own = temporary / f"tclose-{os.geteuid()}"
        assert {path.name.partition("-")[0] for path in own.iterdir()} == {"plan", "dask", "pymp"}
        assert {path.name for path in temporary.iterdir()} == {own.name}
        workers = psutil.Process(process.pid).children(recursive=True)
        assert workers
        process.kill()
        _, alive = psutil.wait_procs(workers, timeout=300)  # they leave by themselves
        assert not alive
    assert main(["schema"]) == 0
    assert tree(temporary) == {}


def test_scratch_of_a_living_command_stays(policy, temporary):
    with waiting(policy, "plan"):
        before = tree(temporary)
        assert main(["schema"]) == 0
        assert main(["plan", str(policy), "--quiet"]) == 0
        assert tree(temporary) == before
        assert has_records(temporary)


@pytest.mark.nightly
def test_commands_with_another_tmpdir_clear_it(policy, temporary, tmp_path, monkeypatch):
    with waiting(policy, "plan") as process:
        process.kill()
        process.wait()
        (tmp_path / "other").mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "other"))
        assert main(["schema"]) == 0
    assert tree(temporary) == {}
    assert main(["schema"]) == 0
    assert not list((tmp_path / "cache" / "tclose" / "scratch").iterdir())


@pytest.mark.every_case
@pytest.mark.parametrize("purpose", get_args(Purpose))
def test_what_a_kill_leaves_is_removed_whatever_it_was_for(temporary, purpose):
    with scratch_folder("plan") as folder:
        left = folder.with_name(f"{purpose}-left")
        left.mkdir()
        (left / "records.parquet").write_text("")
        clear_scratch()
        assert not left.exists()
    assert tree(temporary) == {}


def test_links_are_not_followed(temporary, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "file").write_text("kept")
    with scratch_folder("plan") as folder:
        folder.with_name("plan-link").symlink_to(theirs)
        (folder / "link").symlink_to(theirs)
        clear_scratch()
        assert folder.is_dir()
    assert not folder.exists()
    assert (theirs / "file").read_text() == "kept"


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a folder of another user")
def test_folder_that_another_user_made_is_refused_and_left(temporary, policy, capsys):
    temporary.chmod(0o1777)
    own = temporary / f"tclose-{os.geteuid()}"
    (own / "plan-theirs").mkdir(parents=True)
    os.chown(own, 65_534, 65_534)
    assert main(["plan", str(policy), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert f"scratch folder {own}: belongs to another user (id 65534)" in said
    assert "name another TMPDIR" in said
    assert (own / "plan-theirs").is_dir()


def test_folder_that_cannot_be_made_is_refused(temporary):
    temporary_folder().write_text("")
    refused = r"scratch folder .* name another TMPDIR"
    with pytest.raises(OutputError, match=refused), scratch_folder("plan"):
        pass


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("name", "why"), [("missing", "No such file"), ("file", "Not a directory")]
)
def test_tmpdir_that_is_no_folder_is_refused_and_no_other_taken(name, why, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TMPDIR", str(tmp_path / name))
    with pytest.raises(OutputError, match=rf"TMPDIR .*{name}: cannot be written \({why}.*name a"):
        scratch_folder("plan").__enter__()
    monkeypatch.setenv("TMPDIR", "")
    with scratch_folder("plan") as folder:
        assert folder.is_dir()


def test_it_is_private_and_gone_after_an_error(temporary):
    before = os.umask(0)
    try:
        with contextlib.suppress(RuntimeError), scratch_folder("plan") as folder:
            (folder / "file").write_text("")
            assert {p.stat().st_mode & 0o077 for p in (folder, folder.parent)} == {0}
            raise RuntimeError
    finally:
        os.umask(before)
    assert tree(temporary) == {}


@pytest.mark.nightly
def test_sockets_where_the_name_of_tmpdir_is_too_long_for_them(policy, temporary):
    """A socket's path has at most 107 bytes: the command runs, and leaves nothing there either."""
    long = temporary / ("x" * 90)
    long.mkdir()
    command = [sys.executable, "-m", "tclose", "run", str(policy), "--quiet"]
    ended = subprocess.run(
        [*command, "--set", "engine.workers=1"],
        env=os.environ | {"TMPDIR": str(long)},
        capture_output=True,
        check=False,
        timeout=300,
    )
    told = ended.stderr.decode().splitlines()
    assert (ended.returncode, [line for line in told if "TC-W006" not in line]) == (0, [])
    assert tree(long) == {}
