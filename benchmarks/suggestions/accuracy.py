"""What `tclose init` gets right of a known table, read from the policy that it writes."""

import csv
import functools
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.suggestions.known_tables import KnownTable
from tclose.data.files.text_formats import TextFormat
from tclose.model.column_terms import Kind, Role
from tclose.policy.policy import Policy, parse_policy
from tclose.policy.suggest.draft_policy import Draft, draft_policy
from tclose.policy.suggest.policy_text import write_text
from tclose.policy.yaml_values import read_yaml


@dataclass(frozen=True)
class Accuracy:
    """How many of a table's facts were found.

    ``n_facts``: delimiter, encoding and missing values of a CSV file, and the type and spelling of
    each column that is no identifier; ``wrong``: those that were not found; ``released``:
    identifiers that another role was suggested for; ``left_out``: columns that were taken for
    identifiers and are none.
    """

    table: KnownTable
    n_columns: int
    n_facts: int
    wrong: tuple[str, ...]
    released: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def n_right(self) -> int:
        """Facts that were found."""
        return self.n_facts - len(self.wrong)


def hide_names(table: KnownTable) -> KnownTable:
    """Return the table with names of columns that say nothing."""
    columns = [*table.kinds, *table.identifiers]
    hidden = {name: f"column {chr(ord('a') + i)}" for i, name in enumerate(columns)}
    kinds = {hidden[name]: kind for name, kind in table.kinds.items()}
    write = functools.partial(_write_hidden, table, hidden)
    identifiers = tuple(hidden[name] for name in table.identifiers)
    return replace(table, write=write, kinds=kinds, identifiers=identifiers)


def _write_hidden(table: KnownTable, hidden: dict[str, str], folder: Path) -> Path:
    path = table.write(folder)
    file = folder / f"hidden-{path.name}"
    if table.encoding is None:
        data = pq.read_table(path)
        pq.write_table(data.rename_columns([hidden[name] for name in data.column_names]), file)
        return file
    header, records = path.read_bytes().decode(table.encoding).split("\n", 1)
    [names] = csv.reader([header.removeprefix("\ufeff").rstrip("\r")], delimiter=table.delimiter)
    line = table.delimiter.join(hidden[name] for name in names)
    file.write_bytes(f"{line}\n{records}".encode(table.encoding))
    return file


def measure_accuracy(table: KnownTable, folder: Path) -> Accuracy:
    """Draft a policy for a table, and compare what the written policy says with what is true."""
    draft = draft_policy(str(table.write(folder)))
    policy = parse_policy(read_yaml(write_text(draft, "policy.yaml")))
    facts = _file_facts(table, policy) | _column_facts(table, draft, policy)
    released = [n for n in table.identifiers if policy.attributes[n].role is not Role.IDENTIFIER]
    left_out = [n for n in table.kinds if policy.attributes[n].role is Role.IDENTIFIER]
    return Accuracy(
        table,
        len(policy.attributes),
        len(facts),
        tuple(name for name, (true, found) in facts.items() if true != found),
        tuple(released),
        tuple(left_out),
    )


def _file_facts(table: KnownTable, policy: Policy) -> dict[str, tuple[str, str]]:
    if table.encoding is None:
        return {}
    settings = policy.input
    missing = " ".join(sorted(table.tokens)), " ".join(sorted(settings.missing_values))
    return {
        "(delimiter)": (table.delimiter, settings.delimiter),
        "(encoding)": (table.encoding, settings.encoding),
        "(missing values)": missing,
    }


def _column_facts(table: KnownTable, draft: Draft, policy: Policy) -> dict[str, tuple[str, str]]:
    """What is true of each column, and what the policy says; of one left out what was seen."""
    facts = {}
    general = policy.input.text_format
    seen = {s.profile.name: s for s in draft.suggestions}
    for name, true in table.kinds.items():
        attribute = policy.attributes[name]
        kind = attribute.type or draft.kind_of(seen[name])
        spelled = attribute.text_format(general)
        facts[name] = (true, _describe(kind, spelled, has_marks=len(true.split(" ", 1)) > 1))
    return facts


def _describe(kind: Kind | None, spelled: TextFormat, *, has_marks: bool) -> str:
    """The kind and spelling in the words of `KnownTable.kinds`; ``has_marks``: if it shows any."""
    if kind is Kind.DATE and has_marks:
        return f"date {spelled.date_format}"
    if kind is Kind.NUMERIC and has_marks:
        return f"numeric {spelled.decimal}{spelled.thousands or ''}"
    return str(kind)
