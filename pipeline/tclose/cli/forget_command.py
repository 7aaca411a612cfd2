"""The command ``tclose forget``: a person is forgotten in the registers of a series.

Who it is comes from standard input or a file: command lines are seen by all users of a machine, and
kept by shells. Nothing that is printed has it.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tclose.cli.command_parser import add_as_of, add_overrides, add_quiet
from tclose.errors import UsageError

if TYPE_CHECKING:
    from tclose.passes.series.forget_person import CellCounts, ForgottenPerson
    from tclose.policy.sections.privacy_settings import OverTimeSettings
    from tclose.runtime.monitoring.progress import Progress

_MOST_BYTES = 1 << 16


def add_forget_options(command: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add = command.add_argument
    add("policy", metavar="POLICY", help="policy of the series (YAML)")
    add("--from", dest="source", type=Path, metavar="FILE",
        help="file whose one line is the person's value in the column of role person "
        "(default: standard input)")  # fmt: skip
    add_overrides(command, "the policy, as the runs did")
    add_as_of(command)
    add("--json", action="store_true", help="print the result as JSON")
    add_quiet(command)


def forget(arguments: argparse.Namespace, progress: "Progress") -> str:
    """Forget the person; returns what to say of it."""
    from tclose.passes.series.forget_person import forget_person
    from tclose.policy.policy import load_policy

    policy = load_policy(arguments.policy, arguments.overrides, as_of=arguments.as_of)
    person = forget_person(policy, _read_value(arguments.source), progress.info)
    settings = policy.privacy.over_time
    assert settings is not None
    if arguments.json:
        return json.dumps(person.describe(), indent=2)
    earlier = "finished what an earlier forget had begun\n" if person.finished else ""
    if person.already:
        return f"{earlier}forgotten already in {_count_registers(person.already, person.series)}"
    if not person.releases:
        return f"{earlier}no register of series {person.series!r} has that person now"
    registers = _count_registers(person.releases, person.series)
    return f"{earlier}forgotten in {registers}\n{_describe_guarantee(person, settings)}"


def _count_registers(releases: Sequence[str], series: str) -> str:
    from tclose.model.counted_words import count_words

    return f"{count_words(len(releases), 'register')} of series {series!r}"


def _describe_guarantee(person: "ForgottenPerson", settings: "OverTimeSettings") -> str:
    """Say in a line what that does to what the next releases are held to."""
    if not person.n_held:
        return "the next releases are held to none of these: nothing changes for them"
    held = (
        "; nobody is held over a release that somebody was forgotten in, so every cell that fewer "
        f"left is left out{_warn(person.cell)}"
    )
    return (
        f"the next release is held to {person.n_held:,} of these: in it she has left her cell"
        f"{_describe_cell(person.cell, settings)}{held if settings.departures == 'hold' else ''}; "
        "her records are left out as long as one of these is in the window"
    )


def _describe_cell(cell: "CellCounts", settings: "OverTimeSettings") -> str:
    """Say what becomes of the others of her cell."""
    from tclose.model.counted_words import count_words

    if cell.has_left:
        return ", as in the newest one"
    k, others, n = settings.k, cell.n_others, cell.n_forgotten
    if others < k:
        them = count_words(others, "other is", "others are")
        return f", and its {them} left out, too, fewer than over_time.k {k}"
    ways = {
        "report": f"unless {k} leave it together, subtraction finds her, as leavers_exposed counts",
        "unite": f"classes are united until {k} have left each union",
        "drop": f"unless {k} leave it together, all of it is left out",
        "hold": f"unless {k} leave it together, all of it is left out",
        "refuse": f"unless {k} leave it together, the release is refused",
    }
    way = ways[settings.departures]
    if not n:
        staying = count_words(others, "other stays", "others stay")
        return f", of which {staying} (over_time.k {k}); {way}"
    least = max(0, others - n)
    fewer = f"; where fewer than {k} stay, they are left out, too" if least < k else ""
    before = f"{n:,} {'person was' if n == 1 else 'persons were'} forgotten before"
    return f", of which {least:,} to {others:,} others stay, as {before}; {way}{fewer}"


def _warn(cell: "CellCounts") -> str:
    """Say how many records are in cells of which some are held, which are left out now."""
    if not cell.n_beside_held:
        return ""
    return (
        f"; {cell.n_beside_held:,} of the {cell.n_newest:,} records of the newest one "
        f"{'is' if cell.n_beside_held == 1 else 'are'} in cells with held ones (a release that "
        "lacks more than half is refused: then begin a new "
        "series)"
    )


def _read_value(source: Path | None) -> str:
    """Read the one line; whatever is wrong with it, it is not quoted.

    Raises
    ------
    UsageError
        It cannot be read, or is not one line of text.
    """
    where = "standard input" if source is None else f"--from {source}"
    try:
        if source is None:
            content = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with source.open("rb") as stream:
                content = stream.read(_MOST_BYTES + 1)
        value = content.decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
    except OSError as error:
        raise UsageError(f"{where}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UsageError(f"{where}: is not text in UTF-8") from None
    if not value or "\n" in value or len(content) > _MOST_BYTES:
        raise UsageError(
            f"{where}: has to be one line, the person's value in the column of role person"
        )
    return value
