"""The command ``tclose attack``: several releases of the same persons, next to their originals."""

import argparse
import json
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING

from tclose.cli.catalog_command import as_place
from tclose.cli.command_parser import add_overrides, add_quiet

if TYPE_CHECKING:
    from tclose.policy.policy import Policy
    from tclose.runtime.monitoring.progress import Progress


def add_attack_options(command: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add = command.add_argument
    add("releases", metavar="RELEASE", nargs="+", type=as_place,
        help="releases in the order of their time: folders of releases, or .parquet and "
        ".csv files that other tools made, with the policy's columns")  # fmt: skip
    add(
        "--originals",
        metavar="POLICY[@DAY]",
        nargs="+",
        required=True,
        help="the policy of each release's originals, in the same order, with the day for {as_of}",
    )
    add("--person", metavar="COLUMN",
        help="the column of the originals that says whom a record is about "
        "(default: that of role person)")  # fmt: skip
    add(
        "--persistent",
        metavar="COLUMN,...",
        help="confidential columns whose values last (default: those that are found to)",
    )
    add_overrides(command, "the policies, as the runs did")
    add("--k", type=int, help="persons of a cell, at least (default: what a series promises, "
        "otherwise k of the policies)")  # fmt: skip
    add("--t", type=_read_t, help="distance of a cell, at most, in every confidential column "
        "(default: what a series promises, otherwise t of the policies)")  # fmt: skip
    add("--verify", action="store_true",
        help="exit status 3 unless all releases together hold k and t; those of a series for the "
        "persons it promises them")  # fmt: skip
    add("--json", action="store_true", help="print all figures as JSON")
    add_quiet(command)


def _read_t(text: str) -> Fraction:
    try:
        t = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise argparse.ArgumentTypeError(f"{text!r} has to be a number, as in 0.1") from None
    if not 0 < t <= 1:
        raise argparse.ArgumentTypeError(f"{text} has to be above 0, and 1 at most")
    return t


def attack(arguments: argparse.Namespace, progress: "Progress") -> tuple[str, int]:
    """Attack the releases; returns the table or JSON to print, and the exit status."""
    from tclose.assess.over_time.attack import attack_releases
    from tclose.render.attack_tables import report_attack

    names = arguments.persistent
    result = attack_releases(
        arguments.releases,
        [_load(text, arguments.overrides) for text in arguments.originals],
        arguments.person,
        None if names is None else [name for name in names.split(",") if name],
        progress,
        k=arguments.k,
        t=arguments.t,
    )
    text = json.dumps(result.to_json(), indent=2) if arguments.json else report_attack(result)
    held = result.refinement is not None and result.refinement.passed
    return text, 3 if arguments.verify and not held else 0


def _load(text: str, overrides: Sequence[str]) -> "Policy":
    from tclose.policy.policy import load_policy

    path, day = _split_day(text)
    return load_policy(path, overrides, as_of=day)


def _split_day(text: str) -> tuple[str, date | None]:
    """A policy's path, and the day behind its last @."""
    from tclose.policy.as_of_day import read_day

    path, separator, day = text.rpartition("@")
    try:
        return (path, read_day(day)) if separator else (text, None)
    except ValueError:  # the name of the file has an @
        return text, None
