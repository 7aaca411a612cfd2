"""The audit as a Prefect flow: every current release of a folder, verified again from its files."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from tclose.assess.auditing.audit import audit_release
from tclose.data.places.locations import parse_location
from tclose.errors import OutputError, TaskError, TcloseError, UsageError, VerificationError
from tclose.releases.catalog.catalog import current_id, find_repositories, list_releases
from tclose.releases.repository.repository import ReleaseRepository
from tclose.releases.signatures.manifest_signature import PublicKey, read_public_key
from tclose.runtime.safe_errors import to_safe_error
from tclose_flows.concurrency import (
    RETRIES,
    RETRY_SECONDS,
    TIMEOUT_MINUTES,
    Minutes,
    Retries,
    retryable,
)
from tclose_flows.pages.failures import fail
from tclose_flows.pages.prefect_artifacts import leave, quote, table
from tclose_flows.pages.run_names import name_audit
from tclose_flows.parameters import check_parameters
from tclose_flows.release_flow import NOTHING_KEPT, describe

_LAST_VALUE = re.compile(r"(/[^/=]*=)[^/]*?(: (?:is|its|has|does|cannot) [^/:=]*)?\Z")
_TO_DO = """The stored release differs from what was published: keep its users from it.

- `tclose audit {folder}/NAME` shows the whole account.
- `tclose rollback {folder}/NAME` makes the release before it the current one, after auditing it.
- Running the policy again makes the release again: the same input and policy give the same bytes.
- Find out who could write there."""


@dataclass(frozen=True)
class Audited:
    """An audit's result for one release; ``findings`` is empty if there are none.

    ``error``: why it could not be audited, which says nothing about the release.
    """

    name: str
    release_id: str
    n_records: int | None
    findings: tuple[str, ...]
    error: str = ""

    @property
    def row(self) -> tuple[str, str, str, str]:
        """Return a row of a table: name, release, records, verdict."""
        records = "" if self.n_records is None else f"{self.n_records:,}"
        verdict = "FAIL" if self.findings else "NOT AUDITED" if self.error else "PASS"
        return self.name, self.release_id, records, verdict


@task(
    **NOTHING_KEPT,
    retries=RETRIES,
    retry_delay_seconds=RETRY_SECONDS,
    retry_condition_fn=retryable,
)
def audit_current(repository: ReleaseRepository, key: PublicKey | None = None) -> Audited:
    """Audit the current release of a name; one that cannot be found is a finding."""
    release_id = ""
    try:
        release_id = current_id(repository)
        audit = audit_release(repository.release(release_id), key)
    except Exception as error:
        known = to_safe_error(error, "could not be audited").redacted()
        if isinstance(known, OutputError) and not known.retryable:
            return Audited(repository.name, release_id, None, (_redacted(str(known)),))
        raise known from None
    findings = tuple(_redacted(finding) for finding in audit.findings)
    return Audited(repository.name, release_id, audit.records, findings)


@flow(
    name="audit",
    flow_run_name=name_audit,
    persist_result=False,
    cache_result_in_memory=False,
    validate_parameters=False,
)
def audit(
    folder: str,
    retries: Retries = RETRIES,
    timeout_minutes: Minutes = TIMEOUT_MINUTES,
    public_key: str | None = None,
) -> State[Any]:
    """Audit every current release, and fail where a file has changed or anything else is wrong.

    Args:
        folder: An output folder, with the releases of all its names, or the folder of one name;
            in a bucket, too, as in s3://bucket/releases.
        retries: Further attempts where one can help.
        timeout_minutes: Of the audit of one release.
        public_key: File of the public key that every manifest has to be signed by, where the flow
            runs.
    """
    try:
        key_file = "" if public_key is None else public_key
        check_parameters(
            retries=retries, timeout_minutes=timeout_minutes, folder=folder, public_key=key_file
        )
        limited = audit_current.with_options(retries=retries, timeout_seconds=60 * timeout_minutes)
        key = None if public_key is None else read_public_key(Path(public_key))
        audited = [_audit(limited, repository, key) for repository in _with_releases(folder)]
    except Exception as error:
        title, refused = "Audit: could not be done", "Nothing was audited."
        return fail("audit", str(folder), describe(error, "audit"), title, refused=refused)
    counted = "1 current release" if len(audited) == 1 else f"{len(audited)} current releases"
    about = f"{_verdict(audited)}: audit of {counted}"
    leave("audit", folder, _format_audits(audited, folder), about)
    if wrong := find_failure(audited):
        return Failed(message=str(wrong), data=wrong)
    passes = "passes" if len(audited) == 1 else "pass"
    return Completed(message=f"{counted} {passes}", data=len(audited))


def _audit(
    task: Callable[[ReleaseRepository, PublicKey | None], Audited],
    repository: ReleaseRepository,
    key: PublicKey | None,
) -> Audited:
    """Run the task; what keeps one release from being audited does not keep the others."""
    try:
        return task(repository, key)
    except Exception as error:
        return Audited(repository.name, "", None, (), str(describe(error, "could not be audited")))


def _with_releases(folder: str) -> list[ReleaseRepository]:
    """The names of which anything was published; a first run may not have ended."""
    remedy = "name the output folder, as the flow's user can read it"
    try:
        candidates = find_repositories(parse_location(folder))
    except OutputError as error:
        if error.retryable:
            raise
        raise UsageError(f"{error}; {remedy}") from None
    repositories = [one for one in candidates if one.current() or list_releases(one)]
    if not repositories:
        raise UsageError(f"{folder}: nothing was published there; {remedy}")
    return repositories


def find_failure(audited: list[Audited]) -> TcloseError | None:
    """Return all failures as one error; None if there are none."""
    wrong = [f"{one.name}: {'; '.join(one.findings)}" for one in audited if one.findings]
    errors = [f"{one.name}: {one.error}" for one in audited if one.error]
    messages = [
        f"{len(lines)} of {len(audited)} current releases {what}: {' | '.join(lines)}"
        for lines, what in ((wrong, "fail"), (errors, "were not audited"))
        if lines
    ]
    if not messages:
        return None
    return (VerificationError if wrong else TaskError)("; ".join(messages))


def _verdict(audited: list[Audited]) -> str:
    if any(one.findings for one in audited):
        return "FAIL"
    return "could not be done" if any(one.error for one in audited) else "PASS"


def _format_audits(audited: list[Audited], folder: str) -> str:
    wrong = [one for one in audited if one.findings]
    errors = [one for one in audited if one.error]
    lines = [f"# Audit: {_verdict(audited)}", ""]
    lines += table(("release", "id", "records", "verdict"), [one.row for one in audited])
    for one in wrong:
        lines += ["", f"## {one.name}", "", *quote("\n".join(one.findings))]
    for one in errors:
        lines += ["", f"## {one.name}", "", "Nothing is known to be wrong with it.", ""]
        lines += quote(one.error)
    if wrong:
        lines += ["", "## What to do", "", _TO_DO.format(folder=folder)]
    return "\n".join(lines)


def _redacted(finding: str) -> str:
    """Folders are named by values of the table, as in city=Bergen/: of them, the column.

    Of a path that ends with one, what follows is left only if it reads like a reason.
    """
    return _LAST_VALUE.sub(r"\1*\2", re.sub(r"=[^/]*/", "=*/", finding))
