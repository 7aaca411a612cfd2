"""The audit of all current releases, and backfills."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.cases.people import N_PEOPLE, people, policy_for, release, tree, write_csv
from support.servers.flow_runs import artifacts_of, last_run
from tclose.assess.auditing.audit import audit_release
from tclose.passes.release import run_release
from tclose.policy.policy import parse_policy
from tclose.releases.repository.repository import ReleaseRepository
from tclose.releases.signatures.key_pair import write_key_pair
from tclose.runtime.monitoring.progress import Progress

pytestmark = pytest.mark.usefixtures("prefect_server")


def audit(folder: Path, **parameters: Any) -> Any:
    from tclose_flows.audit_flow import audit as flow

    return flow(str(folder), return_state=True, **parameters)


@pytest.fixture
def releases(tmp_path: Path) -> Path:
    """An output folder with releases of two names, and a name of which nothing was published."""
    path = write_csv(tmp_path / "people.csv", people())
    for name in ("first", "second"):
        release(policy_for(path, name=name))
    with ReleaseRepository(tmp_path / "releases", "third").acquire_lease():
        (tmp_path / "releases" / "third" / "notes").touch()
    return tmp_path / "releases"


@pytest.fixture
def audit_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Path, Any], Any]], None]:
    """Have the flow's tasks audit a release by another function."""
    from tclose_flows import audit_flow

    return lambda function: monkeypatch.setattr(audit_flow, "audit_release", function)


class TestAudit:
    def test_every_current_release_passes(self, releases):
        before = tree(releases)
        state = audit(releases)
        assert state.is_completed()
        assert state.message == "2 current releases pass"
        [account] = artifacts_of(last_run("audit")).values()
        assert account.startswith("# Audit: PASS\n")
        assert [line.split("|")[1].strip() for line in account.splitlines()[4:]] == [
            "first",
            "second",
        ]
        assert tree(releases) == before

    def test_a_changed_file_fails_it_loudly(self, releases):
        current = (releases / "second" / "CURRENT").read_text().strip()
        [part] = (releases / "second" / current / "data").iterdir()
        part.write_bytes(part.read_bytes()[:-1] + b"?")
        state = audit(releases)
        assert state.is_failed()
        assert state.message == (
            "1 of 2 current releases fail: second: data/part-00000.parquet: its content has changed"
        )
        [account] = artifacts_of(last_run("audit")).values()
        assert account.startswith("# Audit: FAIL\n")
        assert "data/part-00000.parquet: its content has changed" in account
        assert f"tclose rollback {releases}/NAME" in account

    def test_signatures_are_checked_where_a_public_key_is_given(self, tmp_path):
        keys = write_key_pair(tmp_path / "keys")
        path, place = write_csv(tmp_path / "people.csv", people()), str(tmp_path / "releases")
        output = {"path": place, "signing_key": str(keys.private)}
        release(policy_for(path, name="signed", output=output))
        given = {"public_key": str(keys.public)}
        assert audit(tmp_path / "releases", **given).is_completed()
        release(policy_for(path, name="unsigned", output={"path": place}))
        state = audit(tmp_path / "releases", **given)
        assert state.is_failed()
        assert "1 of 2 current releases fail: unsigned: manifest.sig: is missing" in state.message

    @pytest.mark.parametrize(
        ("folder", "words"), [("none", "no such folder"), ("", "neither a release nor a folder")]
    )
    def test_folder_without_releases_is_a_wrong_parameter(self, tmp_path, folder, words):
        state = audit(tmp_path / folder)
        assert state.is_failed()
        assert words in state.message
        assert "; name the output folder, as the flow's user can read it" in state.message
        assert ". What to do: Correct the parameters of the run" in state.message
        [account] = artifacts_of(last_run("audit")).values()
        assert account.startswith("# Audit: could not be done\n\nNothing was audited.\n")

    def test_public_key_that_cannot_be_read_fails_it(self, releases, tmp_path):
        state = audit(releases, public_key=str(tmp_path / "none.pem"))
        assert state.is_failed()
        assert "public key" in state.message
        assert "cannot be read" in state.message

    def test_current_release_that_has_gone_fails_it(self, releases):
        (releases / "first" / "CURRENT").write_text("0" * 20)
        state = audit(releases)
        assert state.is_failed()
        assert "first: " in state.message
        assert "CURRENT names a release that is not there" in state.message

    def test_one_that_cannot_be_audited_does_not_keep_the_others(self, releases, audit_by):
        works = audit_release

        def fail_for_first(place: Path, key: Any) -> Any:
            if "first" in place.parts:
                raise PermissionError(13, "Permission denied")
            return works(place, key)

        audit_by(fail_for_first)
        state = audit(releases)
        assert state.is_failed()
        assert state.message.startswith(
            "1 of 2 current releases were not audited: first: could not be audited: Permission"
        )
        [account] = artifacts_of(last_run("audit")).values()
        assert account.startswith("# Audit: could not be done\n")
        assert [line.split("|")[4].strip() for line in account.splitlines()[4:6]] == [
            "NOT AUDITED",
            "PASS",
        ]
        assert "tclose rollback" not in account

    def test_what_was_changed_is_told_beside_what_was_not_audited(self, releases, audit_by):
        works = audit_release

        def fail_for_first(place: Path, key: Any) -> Any:
            if "first" in place.parts:
                raise ZeroDivisionError
            return works(place, key)

        current = (releases / "second" / "CURRENT").read_text().strip()
        (releases / "second" / current / "dictionary.md").unlink()
        audit_by(fail_for_first)
        state = audit(releases)
        assert state.is_failed()
        failing, _, errors = state.message.partition("; ")
        assert failing == "1 of 2 current releases fail: second: dictionary.md: is missing"
        assert errors.startswith("1 of 2 current releases were not audited: first: could not be")

    @pytest.mark.nightly
    def test_releases_in_a_bucket(self, bucket, tmp_path):
        path = write_csv(tmp_path / "people.csv", people())
        place = bucket / "releases"
        policy = parse_policy(policy_for(path, name="far", output={"path": str(place)}))
        run_release(policy, Progress("none"))
        state = audit(place)
        assert state.message == "1 current release passes"
        current = (place / "far" / "CURRENT").read_text().split()[0]
        part = place / "far" / current / "data" / "part-00000.parquet"
        part.put(part.read_bytes()[:-1] + b"?", part.tag())
        state = audit(place)
        assert state.is_failed()
        assert "far: data/part-00000.parquet: its content has changed" in state.message

    def test_store_that_does_not_answer_is_asked_again_and_is_no_finding(
        self, releases, audit_by, monkeypatch
    ):
        from tclose.errors import StoreError
        from tclose_flows import audit_flow as flows_audit

        works, left = audit_release, [1]

        def fail_once(place: Path, key: Any) -> Any:
            if left:
                left.pop()
                raise StoreError("the object store does not answer")
            return works(place, key)

        audit_by(fail_once)
        at_once = flows_audit.audit_current.with_options(retry_delay_seconds=0)
        monkeypatch.setattr(flows_audit, "audit_current", at_once)
        assert audit(releases).is_completed()


class TestBackfill:
    @pytest.fixture
    def policy(self, tmp_path: Path) -> dict[str, Any]:
        for month in ("2026-08", "2026-10"):
            write_csv(tmp_path / f"people-{month}.csv", people())
        return policy_for(tmp_path / "people-{as_of:%Y-%m}.csv", name="people-{as_of:%Y-%m}")

    def run(self, policy: dict[str, Any], first: date, last: date) -> Any:
        from tclose_flows.backfill import backfill

        return backfill(policy, first, last, return_state=True)

    def test_makes_what_can_be_made_then_what_is_left(self, policy, tmp_path):
        first, last = date(2026, 8, 1), date(2026, 10, 31)
        state = self.run(policy, first, last)
        assert state.is_failed()
        assert state.message == "1 of 3 releases failed: those of 2026-09-01"
        account = artifacts_of(last_run("backfill"))["backfill-people-2026-08"]
        assert "2 of 3 releases stand" in account
        assert "skipped" in account
        made = tree(tmp_path / "releases" / "people-2026-08")

        write_csv(tmp_path / "people-2026-09.csv", people())
        state = self.run(policy, first, last)
        assert state.is_completed()
        account = artifacts_of(last_run("backfill"))["backfill-people-2026-08"]
        messages = [line.split("|")[4].split(":")[0].strip() for line in account.splitlines()[4:]]
        assert messages == ["already published", "published", "already published"]
        assert tree(tmp_path / "releases" / "people-2026-08") == made

    def test_of_a_series_nothing_is_made_after_a_day_that_failed(self, policy, tmp_path):
        """What comes later would be published first, and could not be undone."""
        for month in ("2026-08", "2026-10"):
            write_csv(tmp_path / f"people-{month}.csv", people(who=np.arange(N_PEOPLE)))
        policy["attributes"] = policy["attributes"] | {"who": "person"}
        policy["privacy"] = {"k": 3, "t": 0.6, "over_time": {"k": 2, "t": 0.9, "window": 4}}
        state = self.run(policy, date(2026, 8, 1), date(2026, 10, 31))
        failed = "1 of 3 releases failed: those of 2026-09-01; 1 after it not begun"
        assert state.message == failed
        account = artifacts_of(last_run("backfill"))["backfill-people-2026-08"]
        assert "1 of 3 releases stand" in account
        assert "The days after it were not begun" in account
        made = [path.name for path in (tmp_path / "releases").iterdir() if path.is_dir()]
        assert made == ["people-2026-08"]

    def test_days_under_one_name_are_refused_before_anything_is_made(self, policy, tmp_path):
        state = self.run(policy | {"name": "people"}, date(2026, 8, 1), date(2026, 10, 31))
        assert state.is_failed()
        assert "would become the current one" in state.message
        assert not (tmp_path / "releases").exists()

    def test_a_policy_without_a_day_is_refused(self, tmp_path):
        path = write_csv(tmp_path / "people.csv", people())
        state = self.run(policy_for(path), date(2026, 8, 1), date(2026, 10, 31))
        assert state.is_failed()
        assert "neither name nor input.path" in state.message
        assert "Correct the policy" in artifacts_of(last_run("backfill"))["failed-backfill"]
