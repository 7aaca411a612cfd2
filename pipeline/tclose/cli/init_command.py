"""The command ``tclose init``: a first policy for a table, to be confirmed."""

import argparse
import json
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from tclose.errors import DataError, OutputError

if TYPE_CHECKING:
    from tclose.policy.suggest.draft_policy import Draft


_MOST_NOTES = 8


def add_init_options(command: argparse.ArgumentParser) -> None:
    """The options of the command."""
    command.add_argument("data", metavar="DATA", help="file, folder, glob or URL of CSV or Parquet")
    command.add_argument("--out", type=Path, metavar="POLICY", help="file to write (by default "
                         "the data's name and .yaml, here)")  # fmt: skip


def write_first_policy(arguments: argparse.Namespace) -> str:
    """Write the policy that a sample suggests, and the schema beside it; says what is in it.

    Raises
    ------
    DataError
        The input cannot be read, or no column is left to release.
    OutputError
        The file is there already, or cannot be written.
    """
    from tclose.policy.suggest.draft_policy import draft_policy
    from tclose.policy.suggest.policy_text import SCHEMA_NAME, write_text

    out: Path | None = arguments.out
    if out is not None:
        _check_free(out)
    draft = draft_policy(arguments.data)
    file = out or Path(f"{draft.name}.yaml")
    _check_free(file)
    _check_usable(draft)
    text = write_text(draft, str(file))
    _check_loads(text, file)
    from tclose.data.places.atomic_files import write_new

    try:
        _write_schema(file.with_name(SCHEMA_NAME))
        write_new(file, text.encode())
    except OSError as error:
        raise OutputError(f"{file}: cannot be written ({error.strerror})") from None
    return _summarise(draft, file)


def _check_free(file: Path) -> None:
    if file.exists():
        raise OutputError(f"{file} exists already; remove it, or name another by --out")


def _check_usable(draft: "Draft") -> None:
    """Refuse tables of which nothing is left to release."""
    from tclose.model.column_terms import Role

    if not draft.of_role(Role.QUASI_IDENTIFIER):
        n_columns = len(draft.suggestions)
        raise DataError(
            f"input {draft.sample.path}: each of its {n_columns:,} columns looks like an "
            "identifier, so nothing is left to release; give a table with other columns, or "
            "write the policy by hand (docs/policy.md)"
        )


def _check_loads(text: str, file: Path) -> None:
    """A policy that was written has to be one."""
    from tclose.policy.policy import parse_policy
    from tclose.policy.yaml_values import read_yaml

    parse_policy(read_yaml(text), source=str(file))


def _write_schema(file: Path) -> None:
    """Write the schema for editors, unless something else has its name."""
    from tclose.data.places.atomic_files import write_atomically
    from tclose.policy.policy import policy_schema

    if file.exists() and b'"title": "Policy"' not in file.read_bytes():
        return
    schema = json.dumps(policy_schema(), indent=2) + "\n"
    write_atomically(file, schema.encode(), mode=0o666)


def _summarise(draft: "Draft", file: Path) -> str:
    from tclose.model.column_terms import Role

    roles = (Role.IDENTIFIER, Role.QUASI_IDENTIFIER, Role.CONFIDENTIAL)
    n_more = len(draft.notes) - _MOST_NOTES
    counted = ", ".join(f"{len(draft.of_role(role)):,} {role}" for role in roles)
    lines = [
        f"read {draft.sample.statement}; {_describe_form(draft)}",
        f"suggested: {counted}",
        *(f"look at {note}" for note in draft.notes[:_MOST_NOTES]),
        *([f"and {n_more:,} more to look at, in the file"] if n_more > 0 else []),
        f"wrote {file}; confirm its roles, then: tclose plan {quote(str(file))}",
    ]
    return "\n".join(lines)


def _describe_form(draft: "Draft") -> str:
    dialect, general = draft.sample.dialect, draft.spellings.general
    if dialect is None:
        return "Parquet"
    parts = [f"delimiter {dialect.delimiter!r}", dialect.encoding]
    if general.decimal != ".":
        parts.append(f"decimal mark {general.decimal!r}")
    if general.thousands:
        parts.append(f"thousands {general.thousands!r}")
    if general.date_format:
        parts.append(f"dates {general.date_format}")
    return f"CSV, {', '.join(parts)}"
