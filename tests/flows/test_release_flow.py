"""The flow: the same bytes as without Prefect, the same errors, and no microdata in Prefect."""

import json
import logging
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import folder_of
from support.cases.published import data_of
from support.length import every
from support.passes import replace_work
from support.servers.flow_runs import (
    artifacts_of,
    last_run,
    passes_of,
    progress_of,
    read_artifacts,
    read_log,
    read_tasks,
)
from support.servers.loopback import NO_POSTGRES, PrefectServer
from tclose.errors import InfeasibleError, PolicyError, TaskError
from tclose.passes.release import run_release
from tclose.policy.policy import Policy, parse_policy
from tclose.runtime.monitoring.progress import Progress

N_RECORDS = 3_000
CANARY_IDENTIFIER = "canary-identifier-7c1e"
CANARY_CITY = "canary-city-90ab"
CANARY_INCOME = 987_654_321.25


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


def flow_run_of(release: Path) -> str | None:
    """The flow run that published a release, as the internal manifest has it."""
    return json.loads((release / "internal" / "manifest.json").read_text())["run"]["flow_run"]


@pytest.fixture
def level_of_the_command(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Loggers as ``tclose flow`` has them where nobody has set a level."""
    from tclose_flows import flow_command
    from tclose_flows.pages import run_log

    monkeypatch.setattr(flow_command, "LOGS_TO_TERMINAL", False)
    loggers = [logging.getLogger(name) for name in run_log._LOGGERS]
    before = [(logger.level, logger.propagate) for logger in loggers]
    yield
    for logger, (level, propagate) in zip(loggers, before, strict=True):
        logger.setLevel(level)
        logger.propagate = propagate


@pytest.mark.usefixtures("prefect_home")
class TestRelease:
    def test_flow_publishes_the_bytes_of_a_run_without_prefect(
        self, discharges: Path, tmp_path: Path
    ) -> None:
        from tclose_flows.flow_command import run_flow

        plain = run_release(policy_of(discharges, tmp_path / "plain"), Progress("none"))
        on_cluster = policy_of(discharges, tmp_path / "flow", engine={"workers": 2})
        flowing = run_flow(on_cluster, quiet=True)

        assert not flowing.already_published
        assert flowing.manifest.verdict == "pass"
        assert data_of(folder_of(flowing)) == data_of(folder_of(plain))
        assert len(data_of(folder_of(flowing))) == N_RECORDS // 1_000
        run = last_run("release")
        assert run.state.type.value == "COMPLETED"
        assert run.state.message == f"published: {flowing.release}"
        assert flow_run_of(folder_of(flowing)) == str(run.id)
        assert flow_run_of(folder_of(plain)) is None

    def test_second_run_finds_the_release_published(self, discharges: Path, tmp_path: Path) -> None:
        from tclose_flows.flow_command import run_flow

        policy = policy_of(discharges, tmp_path)
        first = run_flow(policy, quiet=True)
        second = run_flow(policy, quiet=True)

        assert second.already_published
        assert (second.release, second.manifest) == (first.release, first.manifest)
        run = last_run("release")
        assert run.state.message == f"already published: {first.release}"
        assert passes_of(run, 0) == {}
        assert "Already published" in artifacts_of(run)["release-discharges"]

    def test_each_pass_is_one_task_in_order(self, discharges: Path, tmp_path: Path) -> None:
        from tclose_flows.flow_command import run_flow

        run_flow(policy_of(discharges, tmp_path), quiet=True)

        passes = ["summarise", "plan", "encode", "microaggregate", "verify", "publish"]
        found = passes_of(last_run("release"), len(passes))
        assert list(found) == passes
        assert set(found.values()) == {"COMPLETED"}

    @pytest.mark.nightly
    @pytest.mark.parametrize("damage", every(2, ["deleted", "changed"]))
    def test_what_is_done_is_told_from_digests_whatever_prefect_believes(
        self, damage: str, discharges: Path, tmp_path: Path
    ) -> None:
        """Also where the user keeps and reuses the results of all tasks."""
        import shutil

        from prefect import settings

        from tclose_flows.flow_command import run_flow

        policy = policy_of(discharges, tmp_path)
        believing = {settings.PREFECT_RESULTS_PERSIST_BY_DEFAULT: True}
        with settings.temporary_settings(believing):
            first = run_flow(policy, quiet=True)
            content = data_of(folder_of(first))
            part = first.release / "data" / min(content)
            if damage == "deleted":
                shutil.rmtree(folder_of(first))
            else:
                part.write_bytes(part.read_bytes()[:-1] + b"?")
            second = run_flow(policy, quiet=True)
            third = run_flow(policy, quiet=True)

        assert (second.already_published, third.already_published) == (False, True)
        assert data_of(folder_of(second)) == data_of(folder_of(third)) == content

    @pytest.mark.nightly
    def test_policy_may_be_a_file_with_overrides(self, discharges: Path, tmp_path: Path) -> None:
        from tclose_flows.release_flow import release

        file = tmp_path / "policy.yaml"
        file.write_text(
            f"name: short\ninput: {{path: {discharges}}}\nunlisted: drop\n"
            "attributes: {age: quasi-identifier, charge: confidential}\n"
            f"privacy: {{k: 5, t: 0.1}}\noutput: {{path: {tmp_path}}}\n"
        )

        outcome: Any = release(
            str(file), ("privacy.k=9", "name=short-{as_of:%Y-%m}"), date(2026, 11, 1), quiet=True
        )

        assert outcome.manifest.privacy.k.asked == 9
        assert outcome.release.parent.name == "short-2026-11"

    @pytest.mark.nightly
    def test_verdict_is_an_artifact_with_places(self, discharges: Path, tmp_path: Path) -> None:
        from tclose_flows.flow_command import run_flow

        made = run_flow(policy_of(discharges, tmp_path), quiet=True)

        [(key, text)] = artifacts_of(last_run("release")).items()
        assert key == "release-discharges"
        lines = text.splitlines()
        assert lines[0] == "# discharges: PASS"
        assert "| k | asked 5, achieved 5 |" in lines
        assert any(line.startswith("| t of charge | asked 0.1, largest EMD 0.") for line in lines)
        assert f"- release: `{folder_of(made)}`" in lines
        assert any(line.startswith("- to hand out: all but `internal`;") for line in lines)
        for name in ("report.html", "dictionary.md", "lineage.jsonl"):
            assert f"`{name}`" in text
        assert text.count("](data:image/svg+xml;base64,") == len(made.manifest.privacy.t)
        assert "file:" not in text
        [about] = [one.description for one in read_artifacts(last_run("release")) if one.key]
        assert about == f"PASS, published: {made.release.name}"

    @pytest.mark.nightly
    @pytest.mark.usefixtures("level_of_the_command")
    def test_page_tells_how_far_each_pass_is(self, discharges: Path, tmp_path: Path) -> None:
        """By a name that says what and when, the log's lines, and an artifact of each pass."""
        from tclose_flows.flow_command import run_flow

        run_flow(policy_of(discharges, tmp_path), quiet=False)

        run = last_run("release")
        assert run.name == f"discharges {run.expected_start_time:%Y-%m-%d}"
        log = read_log(run, "writing files: done")
        lines = [text for level, text in log if level == logging.INFO]
        assert not [text for text in lines if "largest EMD" in text]
        assert f"summarising: 3 tasks, {N_RECORDS:,} records" in lines
        assert any(re.match(r"verifying classes: done in \d", line) for line in lines)
        done = {text.split(":")[0]: share for text, share in progress_of(run).items()}
        passes = ["summarise", "plan", "encode", "microaggregate", "verify", "publish"]
        assert done == dict.fromkeys(passes, 100.0)

    @pytest.mark.nightly
    def test_server_that_keeps_no_artifacts_is_no_harm(
        self, discharges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from tclose_flows.flow_command import run_flow
        from tclose_flows.pages import run_log

        tried = []

        def refuse(*given: Any, **more: Any) -> None:
            tried.append(given)
            raise OSError("no server")

        monkeypatch.setattr(run_log, "create_progress_artifact", refuse)
        made = run_flow(policy_of(discharges, tmp_path), quiet=True)
        assert made.manifest.verdict == "pass"
        assert len(tried) == 1  # and no pass waits for it again
        log = read_log(last_run("release"), "progress is not kept (OSError)")
        assert not [text for _, text in log if text.startswith("summarising")]  # it is quiet


@pytest.mark.usefixtures("prefect_home")
class TestFailure:
    @pytest.mark.usefixtures("level_of_the_command")
    def test_infeasible_policy_raises_its_own_error_and_fails_the_run(
        self, discharges: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        from tclose_flows.flow_command import run_flow

        policy = infeasible_policy(discharges, tmp_path)

        with pytest.raises(InfeasibleError, match="severity") as caught:
            run_flow(policy, quiet=True)

        run = last_run("release")
        assert run.state.type.value == "FAILED"
        whole = str(caught.value)
        assert whole.startswith("partition severity=")
        said, remedy = run.state.message.split(" What to do: ")
        assert said == f"a partition{whole[whole.index(':') :]}."
        account = " ".join(artifacts_of(run)["failed-discharges"].split())
        assert said.rstrip(".") in account
        assert remedy in account
        assert "It was not tried again" in remedy
        [(done, _)] = progress_of(run).items()
        assert done.startswith("summarise: done in")
        assert passes_of(run, 2) == {"summarise": "COMPLETED", "plan": "FAILED"}
        assert not list(tmp_path.rglob("*.parquet"))
        shown = "".join(capfd.readouterr())
        assert "Traceback" not in shown
        assert str(caught.value) not in shown

    def test_bad_policy_file_fails_the_run(self, tmp_path: Path) -> None:
        from tclose_flows.release_flow import release

        file = tmp_path / "bad.yaml"
        file.write_text("name: bad\n")

        with pytest.raises(PolicyError, match="is missing"):
            release(str(file))

        run = last_run("release")
        assert run.state.type.value == "FAILED"
        assert "is missing" in run.state.message
        account = artifacts_of(run)["failed-release"]
        assert run.name.startswith("release 20")
        assert f"Correct the policy: the message names the key, and `tclose plan {file}`" in account
        assert f"`tclose plan {file}`" in run.state.message
        assert read_tasks(run) == []

    def test_foreign_error_is_told_without_its_words(
        self, discharges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from tclose_flows.flow_command import run_flow

        def stop(*_: object) -> None:
            raise ValueError(f"could not convert {CANARY_CITY!r}")

        replace_work(monkeypatch, "plan", stop)

        with pytest.raises(TaskError, match=r"^plan: stopped by ValueError") as caught:
            run_flow(policy_of(discharges, tmp_path), quiet=True)

        assert CANARY_CITY not in str(caught.value)
        assert passes_of(last_run("release"), 2)["plan"] == "FAILED"


@pytest.mark.usefixtures("prefect_home")
class TestServer:
    def test_server_that_does_not_answer_is_told_with_a_remedy(
        self, discharges: Path, tmp_path: Path
    ) -> None:
        from prefect import settings

        from tclose_flows.flow_command import run_flow

        nowhere = {settings.PREFECT_API_URL: "http://127.0.0.1:9/api"}
        with (
            settings.temporary_settings(nowhere),
            pytest.raises(TaskError, match="PREFECT_API_URL"),
        ):
            run_flow(policy_of(discharges, tmp_path), quiet=True)
        assert not list(tmp_path.iterdir())


class TestPrivacy:
    def test_prefect_keeps_no_microdata(
        self, prefect_server: PrefectServer, tmp_path: Path
    ) -> None:
        """Neither releases, failures nor audits leave a value in Prefect's database or storage."""
        from tclose_flows.audit_flow import audit
        from tclose_flows.flow_command import run_flow

        n = 200
        table = pa.table(
            {
                "name": [f"{CANARY_IDENTIFIER}-{i}" for i in range(n)],
                "city": [CANARY_CITY if i < 20 else f"city-{i % 7}" for i in range(n)],
                "income": [CANARY_INCOME if i < 2 else float(i) for i in range(n)],
                "illness": [i % 10 for i in range(n)],
            }
        )
        path = tmp_path / "people.parquet"
        pq.write_table(table, path, row_group_size=50)
        attributes = {
            "name": "identifier",
            "city": "non-confidential",
            "income": "quasi-identifier",
            "illness": "confidential",
        }
        by_city = {"path": str(tmp_path / "out"), "partition_by": ["city"]}
        good = policy_of(path, tmp_path / "out", name="good", attributes=attributes,
                         privacy={"k": 5, "t": 0.5}, output=by_city)  # fmt: skip
        no_order = {"city": {"role": "confidential", "distance": "ordered"}}
        bad = policy_of(path, tmp_path / "out", name="bad", attributes=attributes | no_order)
        income = attributes | {"income": "confidential", "illness": "quasi-identifier"}
        far = policy_of(path, tmp_path / "out", name="far", attributes=income,
                        privacy={"k": 5, "t": 0.001}, output=by_city)  # fmt: skip

        made = run_flow(good, quiet=True)
        with pytest.raises(Exception, match="city"):
            run_flow(bad, quiet=True)
        with pytest.raises(InfeasibleError, match=CANARY_CITY):
            run_flow(far, quiet=True)
        [part] = (made.release / "data" / f"city={CANARY_CITY}").iterdir()
        part.write_bytes(part.read_bytes()[:-1] + b"?")
        state = audit(str(tmp_path / "out"), return_state=True)
        assert state.is_failed()
        assert "data/city=*/" in (state.message or "")
        _wait_for_logs()

        stored = prefect_server.stored_bytes()
        assert str(path).encode() in stored  # the policy is there: the right places were searched
        for value in (CANARY_IDENTIFIER, CANARY_CITY, "987654321"):
            assert value.encode() not in stored, value

    def test_prefect_keeps_no_results(self, prefect_home: Path) -> None:
        assert not list((prefect_home / "storage").rglob("*"))


@pytest.mark.usefixtures("prefect_home")
def test_server_runs_on_postgresql(
    prefect_server: PrefectServer, discharges: Path, tmp_path: Path
) -> None:
    """As in all of these tests: a run is in its tables."""
    if prefect_server.database is None:
        pytest.skip(NO_POSTGRES)
    from tclose_flows.flow_command import run_flow

    run_flow(policy_of(discharges, tmp_path), quiet=True)
    run = last_run("release")
    assert str(run.id).encode() in prefect_server.database.dump()
    assert not list(prefect_server.home.glob("*.db"))


def _wait_for_logs() -> None:
    """Log records travel to the server in batches."""
    from prefect.logging.handlers import APILogHandler

    APILogHandler().flush()
