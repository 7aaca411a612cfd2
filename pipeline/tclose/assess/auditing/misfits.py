"""Refusals in an audit: those of what a manifest says, and those that are faults of the audit."""

from collections.abc import Iterator
from contextlib import contextmanager

from tclose.data.places.untrusted_files import MalformedError
from tclose.errors import DataError, InfeasibleError, PolicyError

MISFIT = "is damaged, or does not describe these files"


@contextmanager
def refusing_misfits() -> Iterator[None]:
    """Turn a refusal of what a manifest holds into `MalformedError`.

    It goes around the steps that read the manifest's taxonomies, buckets and grids beside the
    files' values, as a policy's are read, and around no other code: that of a privacy model, which
    another distribution may have written, is called outside of it.
    """
    try:
        yield
    except (DataError, InfeasibleError, PolicyError):
        raise MalformedError(MISFIT) from None


@contextmanager
def after_the_door() -> Iterator[None]:
    """Make any other refusal an error that nobody foresaw, and say of what it is malformed.

    What the manifest says has been read by then, so nothing in it is left to be refused.
    """
    try:
        yield
    except MalformedError as error:
        message = str(error)
        raise MalformedError(message if message == MISFIT else f"{MISFIT} ({message})") from None
    except (DataError, InfeasibleError, PolicyError) as error:
        unforeseen = RuntimeError(type(error).__name__)
        raise unforeseen.with_traceback(error.__traceback__) from None
