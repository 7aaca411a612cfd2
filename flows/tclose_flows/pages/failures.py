"""Failed runs: what is wrong, and what to do about it, as the state and an artifact of the run."""

from collections.abc import Mapping
from typing import Any

from prefect.client.schemas.objects import State
from prefect.states import Failed

from tclose.errors import (
    BusyError,
    ChangedInputError,
    ClusterError,
    ConflictError,
    DataError,
    ForbiddenError,
    InfeasibleError,
    LimitError,
    LostError,
    NotInstalledError,
    OutputError,
    PolicyError,
    StoreError,
    StrictError,
    TaskError,
    TcloseError,
    UnreachableError,
    UsageError,
    VerificationError,
)
from tclose_flows.pages.prefect_artifacts import leave, quote


class TimeLimitError(TaskError):
    """The time that a deployment gives to one attempt was over."""


# The first kind that fits speaks.
_ADVICE: Mapping[type[TcloseError], str] = {
    PolicyError: (
        "Correct the policy: the message names the key, and `tclose plan POLICY` tells whether it "
        "is right now."
    ),
    NotInstalledError: (
        "Install the distribution that the message names where the flow runs, and run again."
    ),
    UsageError: "Correct the parameters of the run or of its deployment, and run it again.",
    UnreachableError: (
        "Start what `engine.scheduler` of the policy names, with workers, and run again: it goes "
        "on from the last finished piece."
    ),
    ChangedInputError: ("Run again when nothing writes to the input any more."),
    DataError: (
        "Correct the data, or what the policy says of them: the message names the column or the "
        "file."
    ),
    ForbiddenError: (
        "Give the user of the flow and of Dask's workers the rights that the message names, and "
        "run again: it goes on from the last finished piece."
    ),
    StoreError: (
        "The storage did not answer, in the last attempt too. See that it does, and run again: it "
        "goes on from the last finished piece."
    ),
    OutputError: (
        "See to it that `output.path` can be written and read where the flow runs, then run again."
    ),
    InfeasibleError: (
        "No release of these records meets this policy. Ask for what the message says could work. "
        "`tclose plan POLICY` names the partition; `tclose frontier`, with the same arguments, "
        "shows what other k and t would give."
    ),
    StrictError: (
        "The policy is strict, and the message has numbered warnings. Correct what they name, or "
        "accept their numbers by `engine.accepted_warnings`; `docs/warnings.md` has them all."
    ),
    VerificationError: (
        "What was made is not what was promised. Run again; if it fails again, keep the "
        "folder `.failed` beside the releases and report it."
    ),
    BusyError: (
        "Another run of this release had not ended after the last attempt. Wait for it; if it "
        "makes the same release, nothing is left to do."
    ),
    ConflictError: (
        "Find out who else writes to the folder that the message names, as only runs of tclose "
        "may; then run again."
    ),
    ClusterError: (
        "Give the scheduler and all workers the environment of the flow, package by package as "
        "the message lists them, and run again: it goes on from the last finished piece."
    ),
    LimitError: "Raise the limit that the message names where the flow runs, and run again.",
    TimeLimitError: (
        "Run again: it goes on from the last finished piece. If it stops again, raise "
        "`timeout_minutes` of the run or its deployment, or give the policy more "
        "`engine.workers`."
    ),
    LostError: (
        "A worker, a connection or a disk was lost, in the last attempt too. See to memory, "
        "network and space, then run again: it goes on from the last finished piece."
    ),
    TcloseError: (
        "Run again: it goes on from the last finished piece. If it fails in the same place, "
        "report it with the message above."
    ),
}
_NOT_RETRYABLE = " It was not tried again, as it would fail again."
_UNTIL_THEN = " It was not tried again, as the files may still be written for a while."


_REFUSED = "Nothing was published."


def fail(
    kind: str,
    name: str,
    error: TcloseError,
    title: str,
    arguments: str = "POLICY",
    refused: str = _REFUSED,
) -> State[Any]:
    """Return the state of a run that failed: what is wrong and what to do; an artifact has more.

    ``arguments``: by which a command of tclose reads the policy of the run; ``refused``: what was
    not done, in a sentence, where trying again would be in vain.
    """
    account = describe_failure(error, title, arguments, refused)
    leave(kind, name, account, "What failed, and what to do")
    message = f"{str(error).rstrip('.')}. What to do: {advise(error, arguments)}"
    return Failed(message=message, data=error)  # pages show it as one paragraph


def describe_failure(
    error: TcloseError, title: str, arguments: str = "POLICY", refused: str = _REFUSED
) -> str:
    """Describe a failure and its remedy, with the redacted part of the error's message."""
    message = quote(str(error.redacted()))
    consequence = refused if _is_refusal(error) else "What was finished is kept."
    remedy = advise(error, arguments)
    return "\n".join([f"# {title}", "", consequence, "", *message, "", "## What to do", "", remedy])


def advise(error: TcloseError, arguments: str = "POLICY") -> str:
    """Return the remedy for a failure, by its kind, with the commands for the run's policy."""
    advice = next(text for kind, text in _ADVICE.items() if isinstance(error, kind))
    advice = advice.replace("POLICY", arguments)
    if not _is_refusal(error):
        return advice
    return advice + (_UNTIL_THEN if isinstance(error, ChangedInputError) else _NOT_RETRYABLE)


def _is_refusal(error: TcloseError) -> bool:
    return error.exit_code != TcloseError.exit_code and not error.retryable
