"""Progress and tables on a terminal: verdicts are coloured there, and nowhere else."""

import argparse
import os
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tclose.runtime.monitoring.progress import Progress

_VERDICT = re.compile(r"(?<!\S)(PASS|FAIL)(?!\S)")
_COLOURS = {"PASS": "\x1b[32m", "FAIL": "\x1b[31m"}
_PLAIN = "\x1b[0m"


def follow(arguments: argparse.Namespace, *, profiled: bool = False) -> "Progress":
    """The progress of a command, which prints as its options and the terminal say."""
    from tclose.runtime.monitoring.progress import Progress, default_style

    return Progress(default_style(arguments.quiet), profiled=profiled)


def show(text: str) -> None:
    """Print a table; PASS in green and FAIL in red where a person sees colours (no-color.org)."""
    _print(text, coloured=_has_colours())


def say(text: str) -> None:
    """Print a result, in which names of files and columns move and hide nothing."""
    _print(text, coloured=False)


def _print(text: str, *, coloured: bool) -> None:
    from tclose.runtime.streams import print_result
    from tclose.security.printable_text import printable_lines

    plain = printable_lines(text)
    print_result(_VERDICT.sub(_colour, plain) if coloured else plain)


def complain(text: str) -> None:
    """Print an error."""
    from tclose.runtime.streams import print_message

    print_message(f"tclose: {text}")


def _has_colours() -> bool:
    terminal = os.environ.get("TERM", "")
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and terminal not in ("", "dumb")


def _colour(verdict: re.Match[str]) -> str:
    return f"{_COLOURS[verdict[0]]}{verdict[0]}{_PLAIN}"
