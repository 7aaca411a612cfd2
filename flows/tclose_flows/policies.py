"""The policy of a run, from the parameters of a deployment, with overrides and the run's day."""

import shlex
from typing import Any

from prefect.runtime import flow_run

from tclose.policy.policy import Policy, load_policy, parse_policy
from tclose.security.redaction import redact
from tclose_flows.schedule import AsOf, resolve_day


def resolve_policy(
    policy: Policy | str | dict[str, Any], overrides: tuple[str, ...], as_of: AsOf, timezone: str
) -> Policy:
    """The policy of a run: read, with overrides, and with its day.

    Raises
    ------
    PolicyError, UsageError
    """
    day = resolve_day(as_of, flow_run.scheduled_start_time, timezone)
    if isinstance(policy, str):
        return load_policy(policy, overrides, as_of=day)
    if isinstance(policy, Policy):
        policy = policy.model_dump(exclude_unset=True)  # as JSON it has no passwords
    return parse_policy(policy, overrides, as_of=day)


def command_arguments(
    policy: Policy | str | dict[str, Any], overrides: object, as_of: AsOf, timezone: str
) -> str:
    """Return the arguments by which a command of tclose reads the same policy, for messages.

    ``POLICY`` of one in memory, and where the overrides are none.
    """
    texts = [overrides] if isinstance(overrides, str) else overrides
    if not isinstance(policy, str) or not isinstance(texts, list | tuple):
        return "POLICY"
    if not all(isinstance(one, str) for one in texts):
        return "POLICY"
    words = [policy, *(word for override in texts for word in ("--set", override))]
    try:
        day = resolve_day(as_of, flow_run.scheduled_start_time, timezone)
    except Exception:
        day = None
    if day is not None:
        words += ["--as-of", str(day)]
    return " ".join(shlex.quote(redact(word)) for word in words)
