"""Tables on a terminal: verdicts are coloured there, and nowhere else."""

import os
import re
import sys

_VERDICT = re.compile(r"(?<!\S)(PASS|FAIL)(?!\S)")
_COLOURS = {"PASS": "\x1b[32m", "FAIL": "\x1b[31m"}
_PLAIN = "\x1b[0m"


def show(text: str) -> None:
    """Print a table; PASS in green and FAIL in red where a person sees colours (no-color.org)."""
    print(_VERDICT.sub(_colour, text) if _has_colours() else text)


def _has_colours() -> bool:
    terminal = os.environ.get("TERM", "")
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and terminal not in ("", "dumb")


def _colour(verdict: re.Match[str]) -> str:
    return f"{_COLOURS[verdict[0]]}{verdict[0]}{_PLAIN}"
