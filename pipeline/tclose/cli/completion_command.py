"""The command ``tclose completion``: a script by which a shell completes the command's words."""

import argparse
from collections.abc import Iterator

SHELLS = ("bash", "zsh", "fish")
# Where files are completed, shells offer folders, too.
_FILES = ("POLICY", "POLICY[@DAY]", "FILE", "FILE.svg", "FILE.html", "OUT", "DATA", "PYTHON")
_FOLDERS = ("FOLDER", "PLACE", "RELEASE", "FIRST", "SECOND")


def add_completion_options(command: argparse.ArgumentParser) -> None:
    """The options of the command."""
    command.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def make_completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script for a shell; files and folders are completed where they are asked for."""
    import shtab

    for action in _actions(parser):
        named = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
        if named in _FILES or action.dest == "releases":  # of which some are files of other tools
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif named in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell)).rstrip("\n")


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the options and arguments of a parser and of its commands."""
    for action in parser._actions:  # noqa: SLF001 (argparse lists them nowhere else)
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for command in action.choices.values():
                yield from _actions(command)
