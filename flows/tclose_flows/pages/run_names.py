"""Names of flow runs: what is released or audited, and of which day, in place of drawn words."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from prefect.runtime import flow_run

from tclose.data.places.locations import parse_location
from tclose.security.redaction import file_name
from tclose_flows.policies import resolve_policy
from tclose_flows.schedule import resolve_day


def name_release() -> str:
    """Return the name of the release and its day; of a policy that is refused, the day alone."""
    parameters: Mapping[str, Any] = flow_run.parameters
    as_of, timezone = parameters["as_of"], parameters["timezone"]
    try:
        name = resolve_policy(parameters["policy"], parameters["overrides"], as_of, timezone).name
    except Exception:  # the run itself says what is wrong
        name = "release"
    return f"{name} {_day(as_of, timezone)}"


def name_audit() -> str:
    """Return the name of the folder and the scheduled day."""
    try:
        folder = file_name(str(parse_location(flow_run.parameters["folder"])))
    except Exception:
        folder = "releases"
    return f"audit of {folder} {_day(None, 'UTC')}"


def name_backfill() -> str:
    """Return the range of days."""
    parameters: Mapping[str, Any] = flow_run.parameters
    return f"backfill {parameters['first']} to {parameters['last']}"


def _day(as_of: Any, timezone: str) -> date:
    """The day that a run is about: the policy's, or else the one for which it was scheduled."""
    start: datetime = flow_run.scheduled_start_time
    try:
        return resolve_day(as_of, start, timezone) or start.date()
    except Exception:
        return start.date()
