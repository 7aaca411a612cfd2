"""Options that several commands have."""

import argparse
from datetime import date


def add_as_of(command: argparse.ArgumentParser) -> None:
    """The day that is put into a policy."""
    command.add_argument("--as-of", type=_read_day, metavar="DAY", help="the day, as in "
                         "2026-11-01, that is put in place of {as_of} in the policy's name and "
                         "input.path")  # fmt: skip


def add_quiet(
    command: argparse.ArgumentParser, what: str = "the result, warnings and errors"
) -> None:
    """The option that keeps progress off the terminal."""
    command.add_argument("--quiet", action="store_true", help=f"no progress: print {what} only")


def _read_day(text: str) -> date:
    from tclose.policy.as_of_day import read_day

    try:
        return read_day(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
