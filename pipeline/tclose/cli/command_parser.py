"""The parser of the command line, which suggests words, and options of several commands."""

import argparse
import os
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from tclose.errors import OutputError, UsageError, suggest


class CommandParser(argparse.ArgumentParser):
    """A parser that answers an unknown word with the nearest one that it knows.

    argparse suggests from Python 3.14 on. It also leaves options that a command does not know to
    the parser of all commands, whose usage names none of the command's options.
    """

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Refuse what is unknown at once: the usage is that of the command it was given to."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            options = [word.split("=")[0] for word in unknown if word.startswith("-")]
            hints = (suggest(word, self._option_string_actions) for word in options)
            self.error(
                f"unrecognized arguments: {' '.join(unknown)}{next(filter(None, hints), '')}"
            )
        return known, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is none of the choices, and name the nearest."""
        choices = [] if action.choices is None else [str(choice) for choice in action.choices]
        if choices and value not in choices:
            hint = suggest(str(value), choices)
            raise argparse.ArgumentError(action, f"{value!r} is none of {', '.join(choices)}{hint}")


def add_as_of(command: argparse.ArgumentParser) -> None:
    """The day that is put into a policy."""
    command.add_argument("--as-of", type=_read_day, metavar="DAY", help="the day, as in "
                         "2026-11-01, that is put in place of {as_of} in the policy's name and "
                         "input.path")  # fmt: skip


def add_overrides(command: argparse.ArgumentParser, what: str) -> None:
    """Keys of a policy that are set by the command line."""
    command.add_argument("--set", dest="overrides", metavar="KEY=VALUE", action="append",
                         default=[], help=f"override a key of {what}")  # fmt: skip


def add_quiet(
    command: argparse.ArgumentParser, what: str = "the result, warnings and errors"
) -> None:
    """The option that keeps progress off the terminal."""
    command.add_argument("--quiet", action="store_true", help=f"no progress: print {what} only")


def check_target(path: Path, ending: str) -> None:
    """Refuse an ``--out`` that could not be written in the end; its ending keeps data files safe.

    Raises
    ------
    UsageError, OutputError
    """
    if path.suffix.lower() != ending:
        raise UsageError(f"--out {path}: has to end in {ending}")
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise OutputError(f"--out {path}: cannot be written; name a file in a folder that can")


def _read_day(text: str) -> date:
    from tclose.policy.as_of_day import read_day

    try:
        return read_day(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
