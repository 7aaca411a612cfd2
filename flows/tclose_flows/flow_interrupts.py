"""Ctrl-C, remembered: Prefect drops it where it comes just after a task or a flow has ended.

Its engines take whatever is raised after the final state for a fault of their own clean-up, and go
on as if nothing had been. So whoever runs a flow here asks, between passes and at the end, whether
there was an interrupt.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_received = threading.Event()


@contextlib.contextmanager
def remembering_interrupts() -> Iterator[None]:
    """Note interrupts of this process within the block; they are raised as before."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        _received.set()
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _received.clear()


def check_interrupted() -> None:
    """Raise an interrupt that came, if it went unheard.

    Raises
    ------
    KeyboardInterrupt
    """
    if _received.is_set():
        raise KeyboardInterrupt
