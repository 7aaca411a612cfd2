"""Processes that are started in order, watched, and ended in the opposite order by their ids."""

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from deploy.stack.errors import StackError

_POLL_SECONDS = 0.2
_END_SECONDS = 20
_SHOWN_LINES = 15


def free_port() -> int:
    """A port of loopback that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    """Whether somebody listens on a port of loopback."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@dataclass(frozen=True)
class Process:
    """A process with a group of its own, of which it is the leader."""

    name: str
    popen: "subprocess.Popen[bytes]"
    log: Path
    ending: signal.Signals

    def end(self) -> None:
        """Ask it to end; after a while kill what is left of its group."""
        if self.popen.poll() is None:
            self.popen.send_signal(self.ending)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.popen.wait(_END_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()


@dataclass
class Processes:
    """What runs, in the order in which it was started; leaving the block ends all of it.

    In the block Ctrl-C and SIGTERM are heeded between two steps, as KeyboardInterrupt: a process
    that was just started would be forgotten otherwise, and one that is just being ended left.
    """

    logs: Path
    environment: Mapping[str, str]
    running: list[Process] = field(default_factory=list)
    handlers: dict[signal.Signals, Any] = field(default_factory=dict)
    interrupted: bool = False

    def __enter__(self) -> "Processes":
        """Nothing runs yet."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self.handlers[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.interrupted = True

    def check_interrupted(self) -> None:
        """Raise KeyboardInterrupt if there was one."""
        if self.interrupted:
            raise KeyboardInterrupt

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End everything, the last first."""
        while self.running:
            self.running.pop().end()
        for number, handler in self.handlers.items():
            signal.signal(number, handler)

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        more: Mapping[str, str] | None = None,
        user: int | None = None,
        ending: signal.Signals = signal.SIGTERM,
    ) -> Process:
        """Start a process; it does not hear the terminal's Ctrl-C, and writes to a log.

        It begins in the folder of the logs, so that nothing is imported from where the user stands.
        """
        self.check_interrupted()
        log = self.logs / f"{name}.log"
        with log.open("wb") as output:
            popen = subprocess.Popen(  # noqa: S603 (commands of this package)
                list(command),
                env={**self.environment, **(more or {})},
                cwd="/" if user else self.logs,  # which another user may not enter
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=user,
                group=user and _group_of(user),
                extra_groups=None if user is None else [],
            )
        process = Process(name, popen, log, ending)
        self.running.append(process)
        return process

    def wait(self, ready: Callable[[], bool], what: str, seconds: float) -> None:
        """Wait until something is so.

        Raises
        ------
        StackError
            It is not so in time, or a process ended meanwhile; with the last lines of its log.
        """
        deadline = time.monotonic() + seconds
        while not ready():
            self.check_interrupted()
            self._check_running()
            if time.monotonic() > deadline:
                shown = last_lines(self.running[-1].log) if self.running else ""
                raise StackError(f"{what}: not so in {seconds:.0f} seconds\n{shown}")
            time.sleep(_POLL_SECONDS)

    def stay(self) -> None:
        """Stay until Ctrl-C or SIGTERM, which is what is waited for, so it is over then.

        Raises
        ------
        StackError
            A process ended; with the last lines of its log.
        """
        while not self.interrupted:
            self._check_running()
            time.sleep(_POLL_SECONDS)
        self.interrupted = False

    def _check_running(self) -> None:
        for process in self.running:
            if process.popen.poll() is not None:
                raise StackError(f"{process.name} ended by itself\n{last_lines(process.log)}")


def _group_of(user: int) -> int:
    import pwd

    return pwd.getpwuid(user).pw_gid


def last_lines(log: Path) -> str:
    """The end of a log, and where it is."""
    lines = log.read_text(errors="replace").splitlines()[-_SHOWN_LINES:]
    return "\n".join([*(f"  {line}" for line in lines), f"  ({log})"])
