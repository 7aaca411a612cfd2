"""The audit as a Prefect flow: every current release of a folder, verified again from its files."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from prefect import flow, task
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.accounts import leave, quote, table, tell_failure
from flows.limits import RETRIES, RETRY_SECONDS, TIMEOUT_MINUTES, Minutes, Retries, may_pass
from flows.release import NOTHING_KEPT, describe
from pipeline.errors import OutputError, VerificationError
from pipeline.execution.audit import audit_release
from pipeline.execution.engine import describe_failure
from pipeline.storage.places import parse_place
from pipeline.storage.register import current_id, find_shelves, list_entries
from pipeline.storage.releases import Shelf

_TO_DO = """What was published is not what stands there: keep whoever uses it from it.

- `tclose audit {folder}/NAME` shows the whole account.
- `tclose rollback {folder}/NAME` makes the release before it the current one, after auditing it.
- Running the policy again makes the release again: the same input and policy give the same bytes.
- Find out who could write there."""


@dataclass(frozen=True)
class Audited:
    """What an audit found of one release; ``findings`` is empty where nothing is wrong."""

    name: str
    release_id: str
    n_records: int | None
    findings: tuple[str, ...]

    @property
    def row(self) -> tuple[str, str, str, str]:
        """For a table: name, release, records, verdict."""
        records = "" if self.n_records is None else f"{self.n_records:,}"
        return self.name, self.release_id, records, "FAIL" if self.findings else "PASS"


@task(
    **NOTHING_KEPT,
    retries=RETRIES,
    retry_delay_seconds=RETRY_SECONDS,
    retry_condition_fn=may_pass,
)
def audit_current(shelf: Shelf) -> Audited:
    """Audit the current release of a name; one that cannot be found is a finding."""
    release_id = ""
    try:
        release_id = current_id(shelf)
        found = audit_release(shelf.release(release_id))
    except Exception as error:
        known = describe_failure(error, "could not be audited").without_values()
        if isinstance(known, OutputError) and not known.may_pass:
            return Audited(shelf.name, release_id, None, (_without_values(str(known)),))
        raise known from None
    findings = tuple(_without_values(finding) for finding in found["findings"])
    return Audited(shelf.name, release_id, found.get("records"), findings)


@flow(
    name="audit", persist_result=False, cache_result_in_memory=False, validate_parameters=False
)  # fmt: skip
def audit(
    folder: str, retries: Retries = RETRIES, timeout_minutes: Minutes = TIMEOUT_MINUTES
) -> State[Any]:
    """Audit every current release, and fail where a file has changed or anything else is wrong.

    Args:
        folder: An output folder, with the releases of all its names, or the folder of one name;
            in a bucket, too, as in s3://bucket/releases.
        retries: Further attempts where one can help.
        timeout_minutes: Of the audit of one release.
    """
    limited = audit_current.with_options(retries=retries, timeout_seconds=60 * timeout_minutes)
    try:
        audited = [_audit(limited, shelf) for shelf in _with_releases(folder)]
    except Exception as error:
        failure = describe(error, "audit")
        leave("audit", folder, tell_failure(failure, "Audit: could not be done"))
        return Failed(message=str(failure), data=failure)
    leave("audit", folder, _tell(audited, folder))
    if wrong := find_failure(audited):
        return Failed(message=str(wrong), data=wrong)
    return Completed(message=f"{len(audited)} current releases pass", data=len(audited))


def _audit(task: Callable[[Shelf], Audited], shelf: Shelf) -> Audited:
    """Run the task; what keeps one release from being audited does not keep the others."""
    try:
        return task(shelf)
    except Exception as error:
        return Audited(shelf.name, "", None, (str(describe(error, "could not be audited")),))


def _with_releases(folder: str) -> list[Shelf]:
    """The names of which anything was published; a first run may not have ended."""
    found = find_shelves(parse_place(folder))
    shelves = [shelf for shelf in found if shelf.current() or _stands(shelf)]
    if not shelves:
        raise OutputError(f"{folder}: nothing was published there; name the output folder")
    return shelves


def _stands(shelf: Shelf) -> bool:
    return bool(list_entries(shelf))


def find_failure(audited: list[Audited]) -> VerificationError | None:
    """What is wrong, in one message; None where nothing is."""
    wrong = [f"{one.name}: {'; '.join(one.findings)}" for one in audited if one.findings]
    if not wrong:
        return None
    return VerificationError(
        f"{len(wrong)} of {len(audited)} current releases fail: {' | '.join(wrong)}"
    )


def _tell(audited: list[Audited], folder: str) -> str:
    wrong = [one for one in audited if one.findings]
    lines = [f"# Audit: {'FAIL' if wrong else 'PASS'}", ""]
    lines += table(("release", "id", "records", "verdict"), [one.row for one in audited])
    for one in wrong:
        lines += ["", f"## {one.name}", "", *quote("\n".join(one.findings))]
    if wrong:
        lines += ["", "## What to do", "", _TO_DO.format(folder=folder)]
    return "\n".join(lines)


def _without_values(finding: str) -> str:
    """Folders are named by values of the table, as in city=Bergen/: of them, the column."""
    return re.sub(r"=[^/]*/", "=*/", finding)
