"""The interface between a repository and its storage, the same for folders and buckets.

Whatever becomes visible does so in one step that depends on a condition of the store itself, and
that step comes right after ``check``, which raises if the lease has been lost:

===========  ==================================  =============================================
step         folder                              bucket
===========  ==================================  =============================================
create       link of a draft, fails if there     PUT, If-None-Match: *
commit       staged folder renamed into place    files by PUT, If-None-Match: * (If-Match where a
                                                 dead run's stand); then the manifest, likewise
point        draft of CURRENT renamed            PUT of CURRENT, If-Match
attach       draft of the file renamed           PUT of the file, If-Match or If-None-Match: *
delete       renamed among what is staged        manifest removed: no condition, see `object_store`
fence        staged folders of others removed    releases that others began to commit: CURRENT
                                                 moved to, or their manifest's place occupied;
                                                 CURRENT written anew where a lease was taken over
===========  ==================================  =============================================

What a condition is of, as an object's tag, is looked up before that ``check``.

A run that lost its lease between ``check`` and the step finds its condition broken: in a folder
what it staged is gone, in a bucket something else is there. Time plays no part in it.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from tclose.data.places.locations import Location
from tclose.errors import ConflictError, LostLeaseError

Check = Callable[[], None]


def lost_lease(name: str) -> LostLeaseError:
    """Return the error of a run whose lease was taken over."""
    return LostLeaseError(
        f"release {name!r}: another run has taken the lease over, as this one had not renewed it "
        "in time; nothing was published; run again when the other has ended"
    )


def conflict(place: object) -> ConflictError:
    """Return the error of a write by another process than the holder of the lease."""
    return ConflictError(
        f"commit conflict: {place} was written by another process meanwhile, with other content; "
        "nothing was published; see that nothing but tclose writes there, then run again"
    )


def moved(place: object) -> ConflictError:
    """Return the error of a CURRENT that another process has moved."""
    return ConflictError(
        f"commit conflict: {place} was moved by another process meanwhile and is left as it is; "
        "run again"
    )


class Store(Protocol):
    """The place of one name's releases; private files go by names such as ``claims/7``."""

    @property
    def root(self) -> Location:
        """The location of the releases."""
        ...

    def lock(self) -> AbstractContextManager[str | None]:
        """Make sure that it can be written to; the machine whose dead need not be waited for."""
        ...

    def private(self, name: str) -> Location:
        """Return the location of a private file."""
        ...

    def names(self, folder: str) -> list[str]:
        """Names of the private files of a folder, sorted."""
        ...

    def read(self, name: str) -> bytes | None:
        """Content of a private file; None where there is none."""
        ...

    def create(self, name: str, data: bytes) -> bool:
        """Write a private file that is not there yet; whether it was not."""
        ...

    def renew(self, name: str, data: bytes, mine: bytes) -> bool:
        """Write over a private file that is as long, and begins like this; whether it did."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Write a private file in one step, whatever stood there."""
        ...

    def append(self, name: str, line: bytes) -> None:
        """Add a line to a private file, to stay."""
        ...

    def remove(self, name: str) -> None:
        """Remove a private file."""
        ...

    def ids(self) -> list[str]:
        """Ids of the releases, sorted."""
        ...

    def has(self, release_id: str) -> bool:
        """Return whether this is the id of a release."""
        ...

    def staging(self, token: str, release_id: str, work: Path) -> Path:
        """Return the folder in which a run stages its release."""
        ...

    def fence(self, token: str, *, took_over: bool) -> list[str]:
        """Bring to an end, or make impossible, what holders of earlier leases had begun.

        ``took_over``: one of them was found dead, but may wake up. Returns the ids of the releases
        that were published by them, and to which CURRENT was moved now.
        """
        ...

    def abandon(self, token: str) -> None:
        """Remove what the holder of this lease has prepared outside his working files."""
        ...

    def commit(self, staging: Path, release_id: str, token: str, check: Check) -> None:
        """Put a staged release into its place; the last step makes it one."""
        ...

    def point(self, release_id: str, token: str, check: Check) -> None:
        """Move CURRENT."""
        ...

    def attach(self, release_id: str, name: str, data: bytes, token: str, check: Check) -> None:
        """Put a file into a published release, or into its internal part, whatever was there.

        What is in the internal part is named ``internal/NAME``.
        """
        ...

    def delete_release(self, release_id: str, token: str, check: Check) -> None:
        """Remove a release; the first step makes it none."""
        ...

    def has_leftovers(self) -> bool:
        """Return whether there is anything that `clear_leftovers` or a fence would remove."""
        ...

    def clear_leftovers(self, keep: str | None, check: Check) -> None:
        """Remove what dead runs left in the place itself, but of one release."""
        ...
