"""Standard output and standard error, which may be closed, full, or left by their readers."""

import contextlib
import io
import os
import sys

from tclose.security.printable_text import printable_lines

_INPUT, _OUTPUT, _ERROR = 0, 1, 2


def prepare_streams() -> None:
    """Let everything be printed, on streams that are all open.

    What the terminal's character set lacks, as letters of a column's name, is printed as its code,
    as Python does on standard error.
    """
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _open_closed_streams() -> None:
    """Open standard streams that are closed on the null device.

    Else the next file that is opened would take the place of one, and what any part of the
    process, or a process that it starts, prints there would be written into that file.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _ERROR:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdin = sys.stdin or os.fdopen(_INPUT, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(_OUTPUT, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(_ERROR, "w", closefd=False)


def print_result(text: str) -> None:
    """Print a result on standard output, whose reader may have gone, as ``head`` goes.

    What was asked for is done then, and ends with the status that it has.

    Raises
    ------
    OSError
        It cannot be written for another reason.
    """
    with contextlib.suppress(BrokenPipeError):
        print(text, flush=True)


def print_message(text: str) -> None:
    """Print a line on standard error; no work stops, and no status changes, if nobody takes it.

    Names in it, of files or columns, move and hide nothing.
    """
    with contextlib.suppress(OSError):
        print(printable_lines(text), file=sys.stderr, flush=True)


def end_streams() -> None:
    """Let go of what could not be printed: Python would try again, and end with status 120."""
    for stream, descriptor in ((sys.stdout, _OUTPUT), (sys.stderr, _ERROR)):
        try:
            stream.flush()
        except OSError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, descriptor)
            os.close(null)
