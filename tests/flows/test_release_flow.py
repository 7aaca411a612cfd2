"""The flow: the same bytes as without Prefect, the same errors, and no microdata in Prefect."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from pipeline.errors import InfeasibleError, PolicyError, UnitError
from pipeline.execution.progress import Progress
from pipeline.execution.release import run_release
from pipeline.generator import generate_rows, write_microdata
from pipeline.settings import Policy, parse_policy

pytestmark = pytest.mark.timeout(600)

N_RECORDS = 3_000
CANARY_IDENTIFIER = "canary-identifier-7c1e"
CANARY_CITY = "canary-city-90ab"
CANARY_INCOME = 987_654_321.25


@pytest.fixture(scope="module")
def discharges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("input") / "discharges.parquet"
    pq.write_table(generate_rows(0, N_RECORDS, 5), path, row_group_size=1_000)
    return path


def policy_of(path: Path, folder: Path, **changes: Any) -> Policy:
    document: dict[str, Any] = {
        "name": "discharges",
        "input": {"path": str(path)},
        "unlisted": "drop",
        "attributes": {
            "patient_id": "identifier",
            "age": "quasi-identifier",
            "zip": "quasi-identifier",
            "diagnosis_group": "quasi-identifier",
            "charge": "confidential",
        },
        "privacy": {"k": 5, "t": 0.1},
        "output": {"path": str(folder), "rows_per_file": 1_000},
        "engine": {"workers": 2},
    }
    return parse_policy(document | changes)


def infeasible_policy(path: Path, folder: Path) -> Policy:
    """Folders by severity: charges of one severity are far from those of the whole table."""
    attributes = {
        "age": "quasi-identifier",
        "severity": "non-confidential",
        "charge": "confidential",
    }
    return policy_of(
        path,
        folder,
        attributes=attributes,
        privacy={"k": 5, "t": 0.01},
        output={"path": str(folder), "partition_by": ["severity"]},
    )


def data_bytes(release: Path) -> dict[str, bytes]:
    data = release / "data"
    return {str(p.relative_to(data)): p.read_bytes() for p in data.rglob("*") if p.is_file()}


def flow_run_of(release: Path) -> str | None:
    """The flow run that published a release, as the internal manifest has it."""
    return json.loads((release / "internal" / "manifest.json").read_text())["run"]["flow_run"]


def bytes_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def stored_runs() -> list[Any]:
    """Flow runs that the server knows, newest first."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.sorting import FlowRunSort

    with get_client(sync_client=True) as client:
        return client.read_flow_runs(sort=FlowRunSort.EXPECTED_START_TIME_DESC)


def stored_stages(run: Any, n_stages: int) -> dict[str, str]:
    """Stages of a flow run, in the order in which they ran, and the state of each.

    Task runs reach the server as events, a moment after they end.
    """
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

    of_run = FlowRunFilter(id=FlowRunFilterId(any_=[run.id]))
    deadline = time.monotonic() + 60
    with get_client(sync_client=True) as client:
        while True:
            tasks = client.read_task_runs(flow_run_filter=of_run)
            ended = [task for task in tasks if task.state is not None and task.state.is_final()]
            if len(ended) >= n_stages or time.monotonic() > deadline:
                break
            time.sleep(0.1)
    ended.sort(key=lambda task: task.start_time)
    return {task.name.rsplit("-", 1)[0]: task.state.type.value for task in ended}


@pytest.mark.usefixtures("prefect_home")
class TestRelease:
    def test_flow_publishes_the_bytes_of_a_run_without_prefect(
        self, discharges: Path, tmp_path: Path
    ) -> None:
        from flows.release import run_flow

        plain = run_release(policy_of(discharges, tmp_path / "plain"), Progress("none"))
        flowing = run_flow(policy_of(discharges, tmp_path / "flow"), quiet=True)

        assert not flowing.was_there
        assert flowing.manifest["verdict"] == "pass"
        assert data_bytes(flowing.release) == data_bytes(plain.release)
        assert len(data_bytes(flowing.release)) == N_RECORDS // 1_000
        run = stored_runs()[0]
        assert run.state.type.value == "COMPLETED"
        assert run.state.message == f"published: {flowing.release}"
        assert flow_run_of(flowing.release) == str(run.id)
        assert flow_run_of(plain.release) is None

    def test_second_run_finds_the_release_published(self, discharges: Path, tmp_path: Path) -> None:
        from flows.release import run_flow

        policy = policy_of(discharges, tmp_path)
        first = run_flow(policy, quiet=True)
        second = run_flow(policy, quiet=True)

        assert second.was_there
        assert (second.release, second.manifest) == (first.release, first.manifest)
        run = stored_runs()[0]
        assert run.state.message == f"already published: {first.release}"
        assert stored_stages(run, 0) == {}

    def test_each_stage_is_one_task_in_order(self, discharges: Path, tmp_path: Path) -> None:
        from flows.release import run_flow

        run_flow(policy_of(discharges, tmp_path), quiet=True)

        stages = ["summarise", "plan", "microaggregate", "verify", "publish"]
        found = stored_stages(stored_runs()[0], len(stages))
        assert list(found) == stages
        assert set(found.values()) == {"COMPLETED"}

    def test_release_that_was_deleted_is_made_again(self, discharges: Path, tmp_path: Path) -> None:
        import shutil

        from flows.release import run_flow

        policy = policy_of(discharges, tmp_path)
        first = run_flow(policy, quiet=True)
        content = data_bytes(first.release)
        shutil.rmtree(first.release)
        second = run_flow(policy, quiet=True)

        assert not second.was_there
        assert data_bytes(second.release) == content

    def test_policy_may_be_a_file_with_overrides(self, discharges: Path, tmp_path: Path) -> None:
        from flows.release import release

        file = tmp_path / "policy.yaml"
        file.write_text(
            f"name: short\ninput: {{path: {discharges}}}\nunlisted: drop\n"
            "attributes: {age: quasi-identifier, charge: confidential}\n"
            f"privacy: {{k: 5, t: 0.1}}\noutput: {{path: {tmp_path}}}\n"
        )

        outcome = release(str(file), overrides=("privacy.k=9",), quiet=True)

        assert outcome.manifest["privacy"]["k"]["asked"] == 9


@pytest.mark.usefixtures("prefect_home")
class TestFailure:
    def test_infeasible_policy_raises_its_own_error_and_fails_the_run(
        self, discharges: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        from flows.release import run_flow

        policy = infeasible_policy(discharges, tmp_path)

        with pytest.raises(InfeasibleError, match="severity") as caught:
            run_flow(policy, quiet=True)

        run = stored_runs()[0]
        assert run.state.type.value == "FAILED"
        assert run.state.message == str(caught.value)
        assert stored_stages(run, 2) == {"summarise": "COMPLETED", "plan": "FAILED"}
        assert not list(tmp_path.rglob("*.parquet"))
        shown = "".join(capfd.readouterr())
        assert "Traceback" not in shown
        assert str(caught.value) not in shown

    def test_bad_policy_file_fails_the_run(self, tmp_path: Path) -> None:
        from flows.release import release

        file = tmp_path / "bad.yaml"
        file.write_text("name: bad\n")

        with pytest.raises(PolicyError, match="is missing"):
            release(str(file))

        run = stored_runs()[0]
        assert run.state.type.value == "FAILED"
        assert "is missing" in run.state.message

    def test_foreign_error_is_told_without_its_words(
        self, discharges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from flows.release import run_flow
        from pipeline.execution import release as stages

        def stop(*_: object) -> None:
            raise ValueError(f"could not convert {CANARY_CITY!r}")

        monkeypatch.setattr(stages, "plan", stop)

        with pytest.raises(UnitError, match=r"^plan: stopped by ValueError") as caught:
            run_flow(policy_of(discharges, tmp_path), quiet=True)

        assert CANARY_CITY not in str(caught.value)
        assert stored_stages(stored_runs()[0], 2)["plan"] == "FAILED"


@pytest.mark.usefixtures("prefect_home")
class TestServer:
    def test_server_that_does_not_answer_is_told_with_a_remedy(
        self, discharges: Path, tmp_path: Path
    ) -> None:
        from prefect import settings

        from flows.release import run_flow

        nowhere = {settings.PREFECT_API_URL: "http://127.0.0.1:9/api"}
        with (
            settings.temporary_settings(nowhere),
            pytest.raises(UnitError, match="PREFECT_API_URL"),
        ):
            run_flow(policy_of(discharges, tmp_path), quiet=True)
        assert not list(tmp_path.iterdir())


class TestPrivacy:
    def test_prefect_keeps_no_microdata(self, prefect_home: Path, tmp_path: Path) -> None:
        """Neither a release nor a failure leaves a value in Prefect's database or storage."""
        from flows.release import run_flow

        n = 200
        table = pa.table(
            {
                "name": [f"{CANARY_IDENTIFIER}-{i}" for i in range(n)],
                "city": [CANARY_CITY if i < 2 else f"city-{i % 7}" for i in range(n)],
                "income": [CANARY_INCOME if i < 2 else float(i) for i in range(n)],
                "illness": [i % 10 for i in range(n)],
            }
        )
        path = tmp_path / "people.parquet"
        pq.write_table(table, path, row_group_size=50)
        attributes = {
            "name": "identifier",
            "city": "quasi-identifier",
            "income": "quasi-identifier",
            "illness": "confidential",
        }
        good = policy_of(path, tmp_path / "out", name="good", attributes=attributes)
        no_order = {"city": {"role": "confidential", "distance": "ordered"}}
        bad = policy_of(path, tmp_path / "out", name="bad", attributes=attributes | no_order)

        run_flow(good, quiet=True)
        with pytest.raises(Exception, match="city"):
            run_flow(bad, quiet=True)
        _wait_for_logs()

        stored = bytes_below(prefect_home)
        assert b"prefect" in stored
        assert str(path).encode() in stored  # the policy is there: the right files were searched
        for value in (CANARY_IDENTIFIER, CANARY_CITY, "987654321"):
            assert value.encode() not in stored, value

    def test_prefect_keeps_no_results(self, prefect_home: Path) -> None:
        assert not list((prefect_home / "storage").rglob("*"))


def _wait_for_logs() -> None:
    """Log records travel to the server in batches."""
    from prefect.logging.handlers import APILogHandler

    APILogHandler().flush()


def own_environment(**more: str) -> dict[str, str]:
    """For a process of its own: Prefect reads its environment once."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    return kept | more


def test_environment_is_quiet_unless_the_user_says_otherwise(tmp_path: Path) -> None:
    code = (
        "import flows.release, os, prefect.settings as s; c = s.get_current_settings();"
        "print(os.environ['DO_NOT_TRACK'], c.logging.level, c.server.analytics_enabled,"
        "c.server.ephemeral.startup_timeout_seconds)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code],
        env=own_environment(PREFECT_HOME=str(tmp_path), PREFECT_LOGGING_LEVEL="INFO"),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert shown.stdout.split() == ["1", "INFO", "False", "120"]


def processes_of(group: int) -> list[str]:
    """Command lines of the processes of a group that still run."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
    return found


@pytest.mark.parametrize("by_terminal", [True, False], ids=["ctrl-c", "terminated"])
def test_interrupted_command_ends_at_once_and_leaves_no_process(
    by_terminal: bool, tmp_path: Path
) -> None:
    """On the embedded server: a terminal's Ctrl-C reaches every process, a SIGTERM only one."""
    write_microdata(tmp_path / "discharges.parquet", 200_000, 5)
    policy = policy_of(tmp_path / "discharges.parquet", tmp_path / "releases")
    file = tmp_path / "policy.yaml"
    file.write_text(yaml.safe_dump(policy.model_dump(mode="json", exclude_defaults=True)))
    with subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", "flow", str(file)],
        env=own_environment(PREFECT_HOME=str(tmp_path / "prefect")),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as command:
        assert command.stderr is not None
        shown = []
        for line in command.stderr:
            shown.append(line)
            if line.startswith("summarising"):
                break
        if by_terminal:
            os.killpg(command.pid, signal.SIGINT)
        else:
            command.terminate()
        shown += command.communicate(timeout=60)[1].splitlines(keepends=True)

    assert command.returncode == 1
    assert shown[-1] == "tclose: interrupted; run again to go on from here\n"
    assert "prefect" not in "".join(shown)
    deadline = time.monotonic() + 30
    while (left := processes_of(command.pid)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []
