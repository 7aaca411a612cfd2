"""Ctrl-C, SIGTERM and the end of a terminal interrupt a command once; then it cleans up."""

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar, copy_context
from functools import partial
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SECONDS_UNHEARD = 1.0

HEARD = threading.Event()  # that a signal has raised KeyboardInterrupt in this process


def hear_interrupts() -> None:
    """Let these signals raise KeyboardInterrupt in this process, but not while one is handled.

    Another one would stop the clean-up half-way: workers and scratch folders would stay behind.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    sys.unraisablehook = _tell_unraisable


def _tell_unraisable(unraisable: "sys.UnraisableHookArgs") -> None:
    """Say nothing of an interrupt that Python drops, as in a finaliser: it is raised again.

    Nor of files that were being opened at that moment, which are closed without being asked.
    """
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        return
    if HEARD.is_set() and isinstance(unraisable.exc_value, ResourceWarning):
        return
    sys.__unraisablehook__(unraisable)


def ignore_interrupts() -> None:
    """End that: the process has told what became of it, and has nothing left to do."""
    for number in _SIGNALS:
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, signal.SIG_IGN)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, unless one is being handled; look again a while later.

    Python drops what is raised while an object is finalised, and so do modules that try one import
    after the other: the command would go on. Handled in earnest, it ends the process before.
    """
    del number, frame
    again = threading.Timer(_SECONDS_UNHEARD, _signal_main_thread)
    again.daemon = True
    again.start()
    handled = sys.exc_info()[1]
    while handled is not None:
        if isinstance(handled, KeyboardInterrupt):
            return
        handled = handled.__context__
    HEARD.set()
    raise KeyboardInterrupt


def _signal_main_thread() -> None:
    """Not this thread: it has those signals blocked that were so where it was made, for good."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Hold Ctrl-C back in the block; processes that are started there never hear it.

    A terminal sends it to all processes of a command, whose first one ends the others.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Defer an interrupt that arrives in the block until after it.

    For starting or ending several processes: interrupted half-way, some would be missed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[tuple[int, FrameType | None]] = []
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    heard = {number: handler for number, handler in before.items() if callable(handler)}
    for number in heard:
        signal.signal(number, lambda *signalled: received.append(signalled))
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)
        for signalled in received[:1]:
            heard[signal.Signals(signalled[0])](*signalled)


class UnwantedError(BaseException):
    """Ends a thread for whose result nobody waits: as an interrupt, it is no error of its own."""


# Of all that a thread works for: a task's parts are stopped with the task.
_STOPPED: ContextVar[tuple[threading.Event, ...]] = ContextVar("stopped", default=())


@contextlib.contextmanager
def stopping_threads() -> Iterator[Callable[[Callable[..., Any]], Callable[..., Any]]]:
    """Stop what runs in other threads when the block is left, or when one of them fails.

    They look whether they are to stop by `stop_if_unwanted`.

    Yields
    ------
    a function that makes another one run with what is known here, and stop then
    """
    stopped = threading.Event()

    def stoppable(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            stop_if_unwanted()
            try:
                return function(*arguments)
            except BaseException:
                stopped.set()
                raise

        context = copy_context()
        context.run(_STOPPED.set, (*_STOPPED.get(), stopped))
        return partial(context.run, run)

    try:
        yield stoppable
    finally:
        stopped.set()


def stop_if_unwanted() -> None:
    """Stop a thread for whose result nobody waits any more.

    Raises
    ------
    UnwantedError
    """
    if any(stopped.is_set() for stopped in _STOPPED.get()):
        raise UnwantedError
