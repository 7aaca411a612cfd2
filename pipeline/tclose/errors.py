"""One root error; messages name the place, the limit and the remedy, never a record's values.

URLs in them, whoever wrote the words, are without users, passwords and tokens.
"""

import difflib
from collections.abc import Iterable

from tclose.security.redaction import redact, redact_folders

CHANGED_INPUT = "the input changed while it was read; run again when it is at rest"


def suggest(word: str, known: Iterable[str]) -> str:
    """Return a question for the known word that is nearest to a misspelt one, or nothing."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def name_kind(value: object) -> str:
    """Return what a value is, for messages: its type, never the value itself."""
    return "None" if value is None else f"a value of type {type(value).__name__}"


class TcloseError(Exception):
    """Base of all errors of tclose; ``exit_code`` is the command's exit status.

    ``retryable``: the same run, begun again as it is, can succeed. ``partition``: the part of the
    message that names a partition, and so quotes values that its records share. ``whole``: the
    error that this one is a copy of, made to be kept where others read.
    """

    exit_code = 1
    retryable = False

    def __init__(self, message: str = "", *, partition: str = "") -> None:
        super().__init__(redact(message))
        self.partition = redact(partition)
        self.whole: TcloseError = self

    def redacted(self) -> "TcloseError":
        """The error for others than who asked: no partition is named, and no folder's value."""
        shown = str(self)
        if self.partition.startswith("partition "):
            shown = shown.replace(self.partition, "a partition", 1)
        shown = redact_folders(shown)
        if shown == str(self):
            return self
        copy = type(self)(shown)
        copy.whole = self.whole
        return copy


class UsageError(TcloseError):
    """The command was called in a way that has no meaning."""

    exit_code = 2


class NotInstalledError(UsageError):
    """A release was made with a model or a format of a distribution that is not installed here."""


class UndecidedError(UsageError):
    """Nothing that was checked is wrong, and the rest can be checked no more."""


class PolicyError(TcloseError):
    """The policy is not well formed, or contradicts itself."""

    exit_code = 2


class DataError(TcloseError):
    """The microdata do not have the form that the policy says."""

    exit_code = 2


class ChangedInputError(DataError):
    """The microdata changed while they were read, as files do that are still being written."""


class OutputError(TcloseError):
    """The place of the output cannot be written or read."""

    exit_code = 2


class InfeasibleError(TcloseError):
    """No release of these records meets the policy; the message gives the proof."""

    exit_code = 3


class StrictError(TcloseError):
    """The policy can be met, but has warnings, and is strict."""

    exit_code = 3


class VerificationError(TcloseError):
    """A table was built, or published, that does not meet what was promised."""

    exit_code = 3


class UnreachableError(DataError):
    """The scheduler or storage that the policy names is not reachable."""

    retryable = True


class ClusterError(TcloseError):
    """The Dask cluster has other software than this process; what was done is gone on with."""


class LimitError(TcloseError):
    """The system allows this process too little; nothing was begun."""


class BusyError(TcloseError):
    """Another run holds the lease on this release."""

    retryable = True


class LostLeaseError(BusyError):
    """Another run has taken the lease of this one over."""


class ConflictError(TcloseError):
    """Somebody else wrote where only the holder of the lease should."""


class StoreError(OutputError):
    """The place of the output does not answer; what was done stays, for a run that goes on."""

    exit_code = 1
    retryable = True


class ForbiddenError(StoreError):
    """The place of the output answers, but not to this user."""

    retryable = False


class TaskError(TcloseError):
    """A task stopped for a reason that was not foreseen.

    The cause is given by type and place alone: its own words could hold a record's values.
    """


class LostError(TaskError):
    """A worker, a connection or a disk was lost during a task."""

    retryable = True
