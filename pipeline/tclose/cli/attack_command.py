"""The command ``tclose attack``: several releases of the same persons, next to their originals."""

import argparse
import json
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from tclose.cli.catalog_command import as_place
from tclose.cli.options import add_quiet
from tclose.policy.date_template import read_day
from tclose.runtime.progress import Progress

if TYPE_CHECKING:
    from tclose.policy.policy import Policy


def add_attack_options(command: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add = command.add_argument
    add("releases", metavar="RELEASE", nargs="+", type=as_place,
        help="releases in the order of their time: folders of releases, NAME/ID, or .parquet and "
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
    add("--set", dest="overrides", metavar="KEY=VALUE", action="append", default=[],
        help="override a key of the policies, as the runs did")  # fmt: skip
    add("--json", action="store_true", help="print all figures as JSON")
    add_quiet(command)


def attack(arguments: argparse.Namespace, progress: Progress) -> str:
    """Attack the releases; returns the table or JSON to print."""
    from tclose.assess.over_time.attack import attack_releases
    from tclose.render.attack_tables import report_attack

    names = arguments.persistent
    result = attack_releases(
        arguments.releases,
        [_load(text, arguments.overrides) for text in arguments.originals],
        arguments.person,
        None if names is None else [name for name in names.split(",") if name],
        progress,
    )
    return json.dumps(result.to_json(), indent=2) if arguments.json else report_attack(result)


def _load(text: str, overrides: Sequence[str]) -> "Policy":
    from tclose.policy.policy import load_policy

    path, day = _split_day(text)
    return load_policy(path, overrides, as_of=day)


def _split_day(text: str) -> tuple[str, date | None]:
    """A policy's path, and the day behind its last @."""
    path, found, day = text.rpartition("@")
    try:
        return (path, read_day(day)) if found else (text, None)
    except ValueError:  # the name of the file has an @
        return text, None
