"""Errors of other libraries as tclose's own: by type and place, without what they quote."""

import errno
import os
from concurrent.futures import CancelledError
from pathlib import Path

from tclose.data.places.process_limits import find_remedy, find_unwritable
from tclose.errors import LostError, OutputError, TaskError, TcloseError
from tclose.runtime.interrupts import HEARD

_LASTING = (
    FileNotFoundError,
    FileExistsError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
)


def to_safe_error(error: BaseException, place: str) -> TcloseError:
    """An error that may be shown: tclose's own as it is, any other by type and place alone."""
    if isinstance(error, TcloseError):
        return error
    if isinstance(error, SystemError) and _is_interrupt(error):
        raise KeyboardInterrupt from error
    where = _find_place(error)
    if isinstance(error, MemoryError):
        return LostError(
            f"{place}: out of memory; give engine.memory_per_worker more, or raise the limit "
            "(ulimit -v)"
        )
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return OutputError(f"{place}: {error.strerror}; give files and folders shorter names")
    lost = isinstance(error, (OSError, CancelledError)) and not isinstance(error, _LASTING)
    kind = LostError if lost else TaskError
    if isinstance(error, OSError) and error.strerror:
        remedy, path = find_remedy(error), find_unwritable(error)
        what = f"{error.strerror} in {path}" if path else error.strerror
        return kind(f"{place}: {what}{'; ' if remedy else ''}{remedy} ({where})")
    return kind(f"{place}: stopped by {type(error).__name__} ({where})")


def _find_place(error: BaseException) -> str:
    """Where tclose was last, and what it called there: of a plug-in, its own place."""
    trace, own, called = error.__traceback__, "?", ""
    while trace is not None:
        code = trace.tb_frame.f_code
        place = f"{Path(code.co_filename).name}:{trace.tb_lineno} in {code.co_name}"
        if f"{os.sep}tclose{os.sep}" in code.co_filename or "tclose_flows" in code.co_filename:
            own, called = place, ""
        elif own != "?" and not called:
            called = f", calling {place}"
        trace = trace.tb_next
    return own + called


def _is_interrupt(error: SystemError) -> bool:
    """Return whether compiled code reports an interrupt so, which arrived as it was called.

    What takes its arguments may have dropped the interrupt itself.
    """
    return HEARD.is_set() or isinstance(error.__cause__, KeyboardInterrupt)
