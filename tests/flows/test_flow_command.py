"""The command ``tclose flow`` on Prefect's embedded server: how it ends, and what it leaves."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.cases.people import people_policy, write_policy
from support.passes import find_pass, replace_work
from support.servers.begun_flow import begun_flow, command_lines, own_environment, processes_of
from support.servers.flow_runs import wait_until
from tclose.cli.main import main
from tclose.data.synthetic import write_microdata
from tclose.runtime.pipeline import PassContext


def test_environment_is_quiet_unless_the_user_says_otherwise(tmp_path: Path) -> None:
    code = (
        "import tclose_flows.release_flow, os, prefect.settings as s; c = s.get_current_settings();"
        "print(os.environ['DO_NOT_TRACK'], c.logging.level, c.server.analytics_enabled,"
        "c.server.ephemeral.startup_timeout_seconds)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code],
        env=own_environment(PREFECT_HOME=str(tmp_path), PREFECT_LOGGING_LEVEL="INFO"),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert shown.stdout.split() == ["1", "INFO", "False", "120"]


@pytest.fixture(scope="module")
def discharges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough records for a run that is still at it when its end comes."""
    path = tmp_path_factory.mktemp("input") / "discharges.parquet"
    write_microdata(path, 200_000, 5)
    return path


@pytest.mark.nightly
@pytest.mark.parametrize(
    "by_terminal",
    [
        pytest.param(True, id="ctrl-c"),
        pytest.param(False, id="terminated"),
    ],
)
def test_interrupted_command_ends_at_once_and_leaves_no_process(
    by_terminal: bool, discharges: Path, tmp_path: Path
) -> None:
    """A terminal's Ctrl-C reaches every process, a SIGTERM only one."""
    with begun_flow(discharges, tmp_path) as command:
        if by_terminal:
            os.killpg(command.pid, signal.SIGINT)
        else:
            command.terminate()
        shown = command.communicate(timeout=300)[1].splitlines()

    assert command.returncode == 1
    assert shown[-1] == "tclose: interrupted; run again to go on from here"
    assert "prefect" not in "".join(shown)
    wait_until(lambda: not processes_of(command.pid), "no process is left")


@pytest.mark.nightly
def test_killed_command_leaves_no_server(discharges: Path, tmp_path: Path) -> None:
    with begun_flow(discharges, tmp_path) as command:
        assert any("tclose_flows.embedded_server" in line for line in command_lines(command.pid))
        command.kill()
        command.communicate(timeout=300)
    wait_until(lambda: not processes_of(command.pid), "no process is left")


class _InterruptedAsItGoes:
    """Whose end Ctrl-C meets: Python drops what is raised there."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def _lose_in_a_stage(patch: pytest.MonkeyPatch) -> None:
    works = find_pass("summarise").work

    def summarise(context: PassContext) -> None:
        works(context)
        _InterruptedAsItGoes()

    replace_work(patch, "summarise", summarise)


def _lose_after_the_end(patch: pytest.MonkeyPatch) -> None:
    """Prefect drops an interrupt that comes after the final state of a flow."""
    from prefect.flow_engine import FlowRunEngine

    ends = FlowRunEngine.handle_success

    def handle_success(*given: Any) -> None:
        ends(*given)
        signal.raise_signal(signal.SIGINT)

    patch.setattr(FlowRunEngine, "handle_success", handle_success)


@pytest.mark.nightly
@pytest.mark.usefixtures("prefect_server")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("lose", [_lose_in_a_stage, _lose_after_the_end])
def test_interrupt_that_nobody_heard_still_ends_the_command(
    lose: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_policy(tmp_path / "policy.yaml", people_policy(tmp_path))
    lose(monkeypatch)
    with pytest.raises(KeyboardInterrupt):  # of which the process says that it was interrupted
        main(["flow", str(path), "--quiet"])
    published = (tmp_path / "releases" / "people" / "CURRENT").exists()
    assert published == (lose is _lose_after_the_end)
    monkeypatch.undo()
    assert main(["flow", str(path), "--quiet"]) == 0


PREFECT_FILES = {
    ".env": "prefect_api_url = http://127.0.0.1:9/api\n",
    "prefect.toml": "[api]\nurl = 'http://127.0.0.1:9/api'\n",
    "pyproject.toml": "[tool.prefect.api]\nurl = 'http://127.0.0.1:9/api'\n",
}
SAYS = {"another": "belongs to another user", "open": "is open to others", "link": "is a link"}
AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")


@pytest.mark.parametrize("name", PREFECT_FILES)
@pytest.mark.parametrize(
    "of",
    [pytest.param("another", marks=AS_ROOT), "open", pytest.param("link", marks=AS_ROOT)],
)
def test_settings_that_others_can_have_planted_are_refused(
    of: str,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    policy = write_policy(tmp_path / "policy.yaml", people_policy(tmp_path))
    path = tmp_path / "shared" / name
    path.parent.mkdir()
    file = tmp_path / "elsewhere" if of == "link" else path
    file.write_text(PREFECT_FILES[name])
    file.chmod(0o666 if of == "open" else 0o644)
    if of == "link":
        path.symlink_to(file)
    if of != "open":
        os.chown(path, 65534, 65534, follow_symlinks=False)
    monkeypatch.chdir(path.parent)
    assert main(["flow", str(policy), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"tclose: {path}: {SAYS[of]}")
    assert "run in another folder" in said
    assert not (tmp_path / "releases").exists()


@pytest.mark.parametrize("name", PREFECT_FILES)
def test_settings_of_ones_own_and_files_without_any_are_believed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tclose_flows.prefect_files import check_prefect_files

    (tmp_path / name).write_text(PREFECT_FILES[name])
    (tmp_path / name).chmod(0o644)
    monkeypatch.chdir(tmp_path)
    check_prefect_files()
    if name != "prefect.toml":
        (tmp_path / name).write_text("OTHER = 'x'\n")
        (tmp_path / name).chmod(0o666)
        check_prefect_files()


@pytest.mark.parametrize(
    ("mode", "of", "said"),
    [
        (0o777, -1, "can be written to by others (mode 0777)"),
        (0o1777, -1, "can be written to by others (mode 1777)"),
        pytest.param(0o755, 65534, "belongs to another user (id 65534)", marks=AS_ROOT),
    ],
)
def test_folder_that_others_can_put_settings_into_is_refused(
    mode: int,
    of: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Though there are none yet: they could come between the look and Prefect's own."""
    policy = write_policy(tmp_path / "policy.yaml", people_policy(tmp_path))
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    os.chown(shared, of, -1)
    monkeypatch.chdir(shared)
    assert main(["flow", str(policy), "--quiet"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"tclose: {shared}: {said}")
    assert "run in a folder that nobody else can write to" in printed
    assert not (tmp_path / "releases").exists()
