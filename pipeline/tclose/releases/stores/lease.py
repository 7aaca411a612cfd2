"""One lease on the releases of a name, with expiry, on any store.

A lease is a private file ``claims/<number>`` that is made only if it does not exist: it holds a
random token, its holder's host and process, and a count that the holder raises while it lives. The
highest number holds. A run that wants the lease watches the present one: if its file changes, its
holder is alive and the store is busy; if it does not change for the holder's whole expiry, by the
watcher's own monotonic clock, the watcher makes the next number. No clock of another machine is
trusted, and being wrong about a holder costs that holder its run, no more: before each step that
makes something visible `check_lease` verifies that the lease still exists and is the highest, and
the step itself has a condition that the new holder has broken (see `stores`).

Locks of libraries (filelock, locket) know neither expiry nor buckets; those that do (etcd, Redis,
ZooKeeper) need a server of their own.
"""

import contextlib
import itertools
import json
import os
import platform
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tclose.data.places.untrusted_files import parse_json
from tclose.errors import BusyError, TcloseError
from tclose.releases.stores.store import Store, lost_lease

EXPIRY = 60.0  # seconds
_LONGEST = 86_400  # that a policy can ask for
_FOLDER = "claims"  # the name of 0.1.0, whose runs and ours exclude each other by it
_RENEWALS = 6  # in the time in which a lease expires
_LOOKS = 20  # at a lease, in that time
_DIGITS = 16
Notify = Callable[[str], None]


@dataclass(frozen=True)
class LeaseToken:
    """The number and token of an acquired lease, by which any process can check it."""

    number: int
    token: str

    @property
    def file(self) -> str:
        """Its private file."""
        return f"{_FOLDER}/{self.number:0{_DIGITS}d}"


def check_lease(store: Store, lease_token: LeaseToken) -> None:
    """Check that a lease is still held.

    Raises
    ------
    LostLeaseError
        Another run has taken it over.
    """
    content = store.read(lease_token.file)
    highest = max(_numbers(store), default=lease_token.number)
    if (
        content is None
        or highest != lease_token.number
        or _parse(content).get("token") != lease_token.token
    ):
        raise lost_lease(store.root.name)


@contextlib.contextmanager
def acquire_lease(store: Store, expiry: float, notify: Notify) -> Iterator[LeaseToken]:
    """Take the lease, renew it as long as the block lasts, and give it back.

    Raises
    ------
    BusyError
        Another run holds it.
    OutputError
        The store cannot be written.
    """
    with store.lock() as machine:
        watched = {number: _watch(store, number, machine, notify) for number in _numbers(store)}
        dead = {number: content for number, content in watched.items() if content is not None}
        lease_token = LeaseToken(max(watched, default=0) + 1, secrets.token_hex(16))
        holder = _Holder(store, lease_token, expiry, machine)
        finished = holder.take(dead)
        try:
            for release_id in finished:
                notify(f"release {release_id}, which a stopped run has published, is current now")
            yield holder.lease_token
        finally:
            holder.give_back()


def _watch(store: Store, number: int, machine: str | None, notify: Notify) -> bytes | None:
    """Return the file of a lease once its holder is dead, or None once the file is gone.

    Where this process has the lock of a machine, no other process of that machine holds a lease.
    """
    name = LeaseToken(number, "").file
    first_bytes = store.read(name)
    content = _parse(first_bytes)
    if first_bytes is None or (machine is not None and content.get("machine") == machine):
        return first_bytes
    expiry = _expiry_of(content)
    holder = f"{content.get('host', 'unknown host')}, process {content.get('pid', 'unknown')}"
    notify(
        f"another run ({holder}) holds the lease; if it is dead, its lease expires in {expiry:g} s"
    )
    end = time.monotonic() + expiry
    while True:
        in_time = time.monotonic() < end
        now = store.read(name)
        if now is None:
            return None
        if now != first_bytes:
            raise _busy(store, holder)
        if not in_time:
            return now
        time.sleep(expiry / _LOOKS)


def _expiry_of(content: dict[str, object]) -> float:
    """Return the seconds after which a lease expires; the default where its file was damaged."""
    expiry_value = content.get("expiry")
    return (
        float(expiry_value)
        if isinstance(expiry_value, int | float) and 0 < expiry_value <= _LONGEST
        else EXPIRY
    )


def _busy(store: Store, holder: str) -> BusyError:
    return BusyError(
        f"another run is working on the releases of {store.root.name!r} ({holder}); wait for it "
        "to end"
    )


def _numbers(store: Store) -> list[int]:
    return [int(name) for name in store.names(_FOLDER) if name.isdecimal()]


def _parse(content: bytes | None) -> dict[str, object]:
    try:
        parsed = parse_json(content or b"{}")
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


class _Holder:
    """The holder of a lease, and the thread that renews it."""

    def __init__(
        self, store: Store, lease_token: LeaseToken, expiry: float, machine: str | None
    ) -> None:
        self.store, self.lease_token, self.expiry, self.machine = (
            store,
            lease_token,
            expiry,
            machine,
        )
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="tclose-lease", daemon=True)

    def _content(self, count: int) -> bytes:
        """Always of one length: only the count, at the end, changes."""
        content = {"token": self.lease_token.token, "host": platform.node(), "pid": os.getpid()}
        content |= {"machine": self.machine, "expiry": self.expiry, "count": f"{count:012d}"}
        return json.dumps(content).encode()

    def take(self, dead: Mapping[int, bytes]) -> list[str]:
        """Make the lease, remove those before it, and end what their holders had begun.

        Returns the ids of the releases that were brought to an end.

        ``dead``: numbers and files of those that were found dead. If there is any other by now, its
        holder may be alive.
        """
        if not self.store.create(self.lease_token.file, self._content(0)):
            raise _busy(self.store, "it has just begun")
        try:
            self._see_no_other(dead)
            self._thread.start()
            for number in dead:
                self.store.remove(LeaseToken(number, "").file)
            # After that: what was checked by then was staged.
            return self.store.fence(self.lease_token.token, took_over=bool(dead))
        except BaseException:
            self.give_back()
            raise

    def _see_no_other(self, dead: Mapping[int, bytes]) -> None:
        """Tell leases by their files: a number that is gone is given again."""
        for number in set(_numbers(self.store)) - {self.lease_token.number}:
            content = self.store.read(LeaseToken(number, "").file)
            if content is not None and content != dead.get(number):
                raise _busy(self.store, "it has just begun")

    def _renew(self) -> None:
        """Raise the count until the lease is given back, or found to be another's."""
        mine = self._content(0)[: -len('"000000000000"}')]
        for count in itertools.count(1):
            if self._ended.wait(self.expiry / _RENEWALS):
                return
            with contextlib.suppress(TcloseError, OSError):  # a store that is away may come back
                if not self.store.renew(self.lease_token.file, self._content(count), mine):
                    return

    def give_back(self) -> None:
        """Remove the lease, if it is still this one's."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        with contextlib.suppress(TcloseError, OSError):
            if (
                _parse(self.store.read(self.lease_token.file)).get("token")
                == self.lease_token.token
            ):
                self.store.remove(self.lease_token.file)
