"""deploy/prefect.yaml as it is used: deployed, run by a worker, scheduled, failing, damaged."""

import datetime
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.cases.people import people, policy_for, write_csv, write_policy
from support.servers.flow_runs import artifacts_of, attempts_of, read_tasks, wait_until
from support.servers.loopback import ROOT, PrefectServer, running_worker

FILE = ROOT / "deploy" / "prefect.yaml"
NAMES = "release", "audit", "backfill"
_FIRST: Any = "EXPECTED_START_TIME_ASC"


@pytest.fixture(scope="module")
def deployed(prefect_server: PrefectServer, tmp_path_factory: Any) -> Iterator[PrefectServer]:
    """Every deployment of the file, and a process worker that takes their runs."""
    prefect_server.call("work-pool", "create", "tclose", "--type", "process")
    prefect_server.call("deploy", "--all", "--prefect-file", str(FILE))
    with running_worker(prefect_server, "tclose", tmp_path_factory.mktemp("worker") / "log"):
        yield prefect_server


@pytest.fixture
def policy(tmp_path: Path) -> str:
    """A policy of which every day has a release of its own; the file that it is in."""
    path = write_csv(tmp_path / "people.csv", people())
    document = policy_for(path, name="people-{as_of:%Y-%m-%d}")
    return str(write_policy(tmp_path / "policy.yaml", document))


def start(name: str, **parameters: Any) -> Any:
    """A run of a deployment, not waited for."""
    from prefect.deployments import run_deployment

    given = {"overrides": [], **parameters} if name != "audit" else parameters
    return run_deployment(f"{name}/{name}", parameters=given, timeout=0, _sync=True)  # type: ignore[call-arg]


def ended(run: Any) -> Any:
    """The same run when it is over."""
    from prefect.client.orchestration import get_client

    def find() -> Any:
        found = client.read_flow_run(run.id)
        return found if found.state is not None and found.state.is_final() else None

    with get_client(sync_client=True) as client:
        return wait_until(find, f"the end of {run.name}")


def deployment(flow: str, name: str | None = None) -> Any:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return client.read_deployment_by_name(f"{flow}/{name or flow}")


class TestFile:
    @pytest.mark.nightly
    def test_deployments_have_what_a_data_engineer_expects(self, deployed):
        release, audit, backfill = map(deployment, NAMES)
        for one in (release, audit, backfill):
            assert one.work_pool_name == "tclose"
            assert one.enforce_parameter_schema
            assert one.global_concurrency_limit.limit == 1
            assert "tclose" in one.tags
            assert one.parameters["timeout_minutes"] > 0
            properties = one.parameter_openapi_schema["properties"]
            assert set(one.parameters) <= properties.keys()
            assert all(kind.get("description") for kind in properties.values())
        assert [s.schedule.cron for s in release.schedules] == ["0 2 2 * *"]
        assert [s.schedule.cron for s in audit.schedules] == ["30 4 * * *"]
        assert backfill.schedules == []

    @pytest.mark.nightly
    def test_types_of_parameters_are_enforced(self, deployed):
        with pytest.raises(Exception, match="as_of"):
            start("release", policy="p.yaml", as_of="yesterday")
        with pytest.raises(Exception, match="colour"):
            start("release", policy=policy_for("p.csv") | {"colour": "red"})
        with pytest.raises(Exception, match="every"):
            start("backfill", policy="p.yaml", first="2026-01-01", last="2026-02-01", every="hour")
        with pytest.raises(Exception, match="folder"):
            start("audit", folder=7)

    @pytest.mark.nightly
    @pytest.mark.parametrize("kind", ["kubernetes", "docker"])
    def test_variants_differ_in_one_word(self, kind, deployed, tmp_path):
        """Deployed to pools of that type; what starts their containers is not at hand."""
        text = FILE.read_text()
        assert text.count("<<: *process ") == 1
        text = text.replace("<<: *process ", f"<<: *{kind} ")
        file = tmp_path / "prefect.yaml"
        file.write_text(text.replace("name: backfill", f"name: {kind}"))
        template = ["--base-job-template", str(ROOT / "deploy" / "kubernetes-pool.json")]
        deployed.call("work-pool", "create", f"tclose-{kind}", "--type", kind,
                      *(template if kind == "kubernetes" else ()))  # fmt: skip
        deployed.call("deploy", "--name", kind, "--prefect-file", str(file))
        made = deployment("backfill", kind)
        assert made.work_pool_name == f"tclose-{kind}"
        assert made.job_variables["image"] == "tclose:0.1.0"
        assert json.dumps(made.pull_steps).count("/home/tclose") == 1


def test_kubernetes_pool_has_a_variable_for_every_placeholder():
    template = json.loads((ROOT / "deploy" / "kubernetes-pool.json").read_text())
    text = json.dumps(template["job_configuration"])
    named = {part.split("}}")[0].strip() for part in text.split("{{")[1:]}
    assert named == template["variables"]["properties"].keys()
    kubernetes = yaml.safe_load(FILE.read_text())["definitions"]["kubernetes"]
    assert kubernetes["work_pool"]["job_variables"].keys() <= named


class TestRun:
    @pytest.mark.nightly
    def test_command_runs_a_release_which_the_next_run_finds(self, deployed, policy, tmp_path):
        day = ("--param", "as_of=2026-11-01", "--param", f"policy={policy}",
               "--param", "overrides=[]")  # fmt: skip
        shown = deployed.call("deployment", "run", "release/release", "--watch", *day)
        assert "Completed" in shown.stdout + shown.stderr
        [place] = (tmp_path / "releases" / "people-2026-11-01").glob("*/manifest.json")

        run = ended(start("release", policy=policy, as_of="2026-11-01"))
        assert run.state.message == f"already published: {place.parent}"
        account = artifacts_of(run)["release-people-2026-11-01"]
        assert account.startswith("# people-2026-11-01: PASS")
        assert f"- release: `{place.parent}`" in account
        assert "- to hand out: all but `internal`;" in account  # a part does not pass an audit

    @pytest.mark.nightly
    def test_inline_policy_of_short_forms_bad_policy_and_schedule(self, deployed, policy, tmp_path):
        """Three runs, at the same time."""
        document = yaml.safe_load(Path(policy).read_text())
        inline = start("release", policy=document, as_of="2026-11-02")
        (tmp_path / "bad.yaml").write_text(Path(policy).read_text() + "colour: red\n")
        bad = start("release", policy=str(tmp_path / "bad.yaml"), as_of="2026-11-02")
        schedule = _schedule_soon(policy)

        assert ended(inline).state.message.startswith("published: ")

        bad = ended(bad)
        assert bad.state.type.value == "FAILED"
        assert bad.run_count == 1
        assert read_tasks(bad) == []
        account = artifacts_of(bad)["failed-release"]
        assert "colour: unknown key" in account
        assert "Correct the policy" in account

        scheduled = wait_until(lambda: _scheduled_runs(policy), "a scheduled run")[0]
        scheduled = ended(scheduled)
        schedule.delete()
        place = tmp_path / "releases" / f"people-{scheduled.expected_start_time:%Y-%m-%d}"
        said = scheduled.state.message.removeprefix("already ")  # by the next one, when it is late
        assert said.startswith(f"published: {place}/")

    @pytest.mark.nightly
    def test_damage_is_found_by_the_audit_and_repaired_by_the_next_run(
        self, deployed, policy, tmp_path
    ):
        first = ended(start("backfill", policy=policy, first="2026-11-03", last="2026-11-04",
                            every="day"))  # fmt: skip
        assert first.state.message == "2 releases stand"
        [part] = (tmp_path / "releases" / "people-2026-11-03").glob("*/data/*.parquet")
        whole = part.read_bytes()
        part.write_bytes(whole[:-1] + b"?")

        audit = ended(start("audit", folder=str(tmp_path / "releases")))
        assert audit.state.type.value == "FAILED"
        assert "people-2026-11-03: data/part-00000.parquet: its content has" in audit.state.message
        assert "tclose rollback" in next(iter(artifacts_of(audit).values()))

        again = ended(start("release", policy=policy, as_of="2026-11-03"))
        assert again.state.message.startswith("published: ")
        assert attempts_of(again) == 1
        assert part.read_bytes() == whole

    @pytest.mark.nightly
    def test_cancelled_run_ends_and_is_in_nobodys_way(self, deployed, tmp_path):
        """An impatient operator; lineage tells of it, and the next run makes the release."""
        path = write_csv(tmp_path / "people.csv", people(30_000))
        document = policy_for(path, method={"refine": "10min"})
        run = start("release", policy=document, as_of=None)
        root = tmp_path / "releases" / "people"
        wait_until(lambda: list(root.glob(".work/*/encode/*.record")), "the end of a pass")
        cancel(run)
        assert ended(run).state.type.value == "CANCELLED"
        wait_until(lambda: not list(root.glob(".claims/*")), "the lease to be given back")
        [told] = root.glob(".failed/*.jsonl")
        assert '"eventType": "ABORT"' in told.read_text()
        assert not (root / "CURRENT").exists()

        again = start("release", policy=document, as_of=None, overrides=["method.refine=off"])
        again = ended(again)
        assert again.state.message.startswith("published: ")
        assert not (root / ".work").exists()


def cancel(run: Any) -> None:
    """What `prefect flow-run cancel` does."""
    from prefect.client.orchestration import get_client
    from prefect.states import Cancelling

    with get_client(sync_client=True) as client:
        client.set_flow_run_state(run.id, Cancelling())


@dataclass(frozen=True)
class _Schedule:
    deployment_id: Any
    schedule_id: Any

    def delete(self) -> None:
        from prefect.client.orchestration import get_client

        with get_client(sync_client=True) as client:
            client.delete_deployment_schedule(self.deployment_id, self.schedule_id)


def _schedule_soon(policy: str) -> _Schedule:
    """Let a schedule of the deployment fire in some seconds, as of the day that it is for."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import DeploymentScheduleCreate
    from prefect.client.schemas.schedules import RRuleSchedule

    due = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=8)
    rule = f"DTSTART:{due:%Y%m%dT%H%M%SZ}\nRRULE:FREQ=MINUTELY;COUNT=5"
    parameters = {"policy": policy, "overrides": [], "as_of": "scheduled", "timezone": "UTC"}
    schedule = DeploymentScheduleCreate(
        schedule=RRuleSchedule(rrule=rule), parameters=parameters, slug="soon"
    )
    release = deployment("release")
    with get_client(sync_client=True) as client:
        [made] = client.create_deployment_schedules(release.id, [schedule])
    return _Schedule(release.id, made.id)


def _scheduled_runs(policy: str) -> list[Any]:
    """Runs that the server has made of the schedule, the first one first."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterName

    of_release = DeploymentFilter(name=DeploymentFilterName(any_=["release"]))
    with get_client(sync_client=True) as client:
        runs = client.read_flow_runs(deployment_filter=of_release, sort=_FIRST)
    return [run for run in runs if run.auto_scheduled and run.parameters.get("policy") == policy]
