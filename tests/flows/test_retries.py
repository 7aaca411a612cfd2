"""What is tried again and what is not, how long, and that runs of one release keep apart."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from distributed.client import FutureCancelledError
from distributed.comm.core import CommClosedError

from support.cases.people import people_policy
from support.passes import find_pass, replace_work
from support.servers.flow_runs import artifacts_of, attempts_of, last_run, read_tasks
from tclose.errors import (
    BusyError,
    DataError,
    InfeasibleError,
    LostError,
    PolicyError,
    TaskError,
    UnreachableError,
    VerificationError,
)
from tclose.policy.policy import Policy, parse_policy
from tclose.runtime import pipeline
from tclose.runtime.run import repository_of
from tclose.runtime.safe_errors import to_safe_error
from tclose.runtime.tasks import run_tasks

pytestmark = pytest.mark.usefixtures("prefect_server")


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    return parse_policy(people_policy(tmp_path))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Further attempts do not wait."""
    from tclose_flows import release_flow as release

    monkeypatch.setattr(release, "attempt", release.attempt.with_options(retry_delay_seconds=0))


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let a pass fail in this way, the first times it runs."""

    def fail(pass_name: str, error: Exception, times: int) -> None:
        works = find_pass(pass_name).work
        left = times

        def fails(*given: Any) -> None:
            nonlocal left
            left -= 1
            if left >= 0:
                raise error
            works(*given)

        replace_work(monkeypatch, pass_name, fails)

    return fail


def run(policy: Policy | dict[str, Any], **parameters: Any) -> Any:
    from tclose_flows.release_flow import release

    return release(policy, quiet=True, return_state=True, **parameters)


NOTHING: Any = None  # nobody looks at it


def _is_tried_again(error: Exception) -> bool:
    from prefect.states import Failed

    from tclose_flows.concurrency import retryable

    known = to_safe_error(error, "place").redacted()
    return retryable(NOTHING, NOTHING, Failed(data=known))


@pytest.mark.parametrize(
    "error",
    [LostError("lost"), UnreachableError("no scheduler"), BusyError("busy"), CommClosedError(),
     OSError(5, "Input/output error"), ConnectionResetError(), FutureCancelledError("a", "b"),
     MemoryError(), pa.ArrowMemoryError("realloc of size 8 failed"), OSError(24, "Too many open")],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_what_may_pass(error):
    assert _is_tried_again(error)


@pytest.mark.parametrize(
    "error",
    [PolicyError("bad"), DataError("bad"), InfeasibleError("never"), VerificationError("wrong"),
     TaskError("a fault"), ValueError("a fault"),
     PermissionError(13, "Permission denied"), FileNotFoundError(2, "No such file")],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_what_would_fail_again(error):
    assert not _is_tried_again(error)


class TestAgain:
    def test_what_may_pass_is_tried_again_and_goes_on_from_there(
        self, policy, failing, monkeypatch
    ):
        seen = []

        def noted(*given: Any, **more: Any) -> Any:
            unit_files = repository_of(policy).root.glob(f".work/*/{given[2].name}/*")
            seen.append((given[2].name, len(list(unit_files))))
            return run_tasks(*given, **more)

        monkeypatch.setattr(pipeline, "run_tasks", noted)
        failing("verify", LostError("lost"), times=2)
        assert run(policy).is_completed()
        ended = last_run("release")
        assert (attempts_of(ended), ended.run_count) == (3, 1)
        assert [n_before > 0 for name, n_before in seen if name == "encode"] == [False, True, True]

    def test_last_attempt_fails_the_run_and_keeps_what_was_done(self, policy, failing):
        failing("verify", LostError("worker 3 was lost"), times=9)
        state = run(policy, retries=1)
        assert state.is_failed()
        assert state.message.startswith("worker 3 was lost. What to do: ")
        ended = last_run("release")
        assert attempts_of(ended) == 2
        account = artifacts_of(ended)["failed-people"]
        assert "What was finished is kept" in account
        assert "run again" in account
        assert list((repository_of(policy).root / ".work").iterdir())

    def test_passes_that_are_kept_are_not_said_to_be_rolled_back(self, policy, failing):
        failing("verify", LostError("lost"), times=9)
        assert run(policy, retries=0).is_failed()
        states = {task.name: task.state.name for task in read_tasks(last_run("release"), 5)}
        assert states.pop("verify") == states.pop("attempt") == "Failed"
        assert set(states.values()) == {"Completed"}

    def test_what_would_fail_again_is_not(self, policy, failing):
        failing("plan", InfeasibleError("cannot be met"), times=1)
        assert run(policy).is_failed()
        assert attempts_of(last_run("release")) == 1

    def test_a_bad_policy_is_not_even_tried(self, policy):
        given = policy.model_dump(mode="json", exclude_unset=True) | {"colour": "red"}
        state = run(given)
        assert state.is_failed()
        assert "colour: unknown key" in state.message
        with pytest.raises(PolicyError):
            state.result()
        assert read_tasks(last_run("release")) == []

    def test_command_tries_once(self, policy, failing):
        from tclose_flows.flow_command import run_flow

        failing("verify", LostError("lost"), times=1)
        with pytest.raises(LostError):
            run_flow(policy, quiet=True)
        assert run_flow(policy, quiet=True).manifest.verdict == "pass"


@pytest.mark.nightly
def test_timeout_ends_the_run_and_says_what_to_do(policy, failing, monkeypatch):
    failing("verify", LostError("lost"), times=1)
    # What it has done is there, however little is done in time.
    assert run(policy, retries=0).is_failed()

    def take_long(*_: Any) -> None:
        for _step in range(3_000):
            time.sleep(0.1)

    replace_work(monkeypatch, "verify", take_long)
    state = run(policy, timeout_minutes=5 / 60)
    assert state.is_failed()
    assert "stopped after timeout_minutes" in state.message
    ended = last_run("release")
    assert attempts_of(ended) == 1
    assert "raise `timeout_minutes`" in artifacts_of(ended)["failed-people"]
    assert list((repository_of(policy).root / ".work").iterdir())


class TestOneAtATime:
    def test_release_has_a_limit_of_one_that_is_given_back(self, policy):
        assert run(policy).is_completed()
        limit = read_limit("tclose-people")
        assert (limit.limit, limit.active_slots) == (1, 0)

    def test_busy_release_is_tried_again_then_said_to_be_busy(self, policy):
        with repository_of(policy).acquire_lease():
            state = run(policy, retries=1)
        assert state.is_failed()
        assert "another run is working on the releases of 'people'" in state.message
        ended = last_run("release")
        assert attempts_of(ended) == 2
        assert "Wait for it" in artifacts_of(ended)["failed-people"]

    def test_slot_that_was_never_given_back_stops_nothing(self, policy, monkeypatch):
        """A server that lost its memory of leases; the lease on the folder decides."""
        from prefect.client.orchestration import get_client
        from prefect.client.schemas.actions import GlobalConcurrencyLimitUpdate

        from tclose_flows import concurrency as limits

        monkeypatch.setattr(limits, "SLOT_SECONDS", 1.0)
        assert run(policy).is_completed()
        stuck = GlobalConcurrencyLimitUpdate(active_slots=1)
        with get_client(sync_client=True) as client:
            client.update_global_concurrency_limit("tclose-people", stuck)
            try:
                state = run(policy)
            finally:
                free = GlobalConcurrencyLimitUpdate(active_slots=0)
                client.update_global_concurrency_limit("tclose-people", free)
        assert state.message.startswith("already published")


def read_limit(name: str) -> Any:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return client.read_global_concurrency_limit_by_name(name)


def test_verdict_is_kept_though_no_artifact_can_be(policy, monkeypatch):
    from tclose_flows.pages import prefect_artifacts as accounts

    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("the server is away")

    monkeypatch.setattr(accounts, "create_markdown_artifact", refuse)
    assert run(policy).is_completed()
