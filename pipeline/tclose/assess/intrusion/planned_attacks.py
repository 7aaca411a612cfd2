"""Attacks of the library that a release meets: what an intruder knows, and what they are after."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tclose.assess.intrusion.compared_tables import ComparedColumn
from tclose.model.column_terms import Role
from tclose.releases.manifest.inside_sections import AttackKind

N_COLUMNS = 3  # of a predicate of several columns, as the library has it

Columns = tuple[ComparedColumn, ...]


@dataclass(frozen=True)
class PlannedAttack:
    """An attack: ``known`` and ``secret`` as in `IntrusionAttack`."""

    kind: AttackKind
    known: Columns
    secret: Columns = ()

    def to_request(self) -> dict[str, Any]:
        """Return the request to the other program, which knows columns by their codes."""
        kind, _, mode = self.kind.partition("-out-")
        return {
            "kind": kind,
            "mode": mode,
            "known": [column.code for column in self.known],
            "secret": [column.code for column in self.secret],
            "is_number": all(column.is_number for column in self.secret),
            "n_columns": N_COLUMNS,
        }

    def describe(self) -> str:
        """The attack, in the words of messages."""
        if self.kind == "inference":
            return f"inference of {self.secret[0].name!r}"
        return self.kind


def plan_attacks(columns: Sequence[ComparedColumn]) -> list[PlannedAttack]:
    """List the attacks on a release of these columns.

    Persons are linked by halves of their quasi-identifiers, and by quasi-identifiers and all other
    columns. Each confidential attribute is inferred from the quasi-identifiers, and from all other
    columns. Predicates are made of all columns, and of quasi-identifiers alone.
    """
    quasi = tuple(c for c in columns if c.role is Role.QUASI_IDENTIFIER)
    others = tuple(c for c in columns if c.role is not Role.QUASI_IDENTIFIER)
    return [
        *_link(quasi, others),
        *_infer(quasi, others),
        *_single_out(tuple(columns)),
        *(_single_out(quasi) if others else ()),
    ]


def _link(quasi: Columns, others: Columns) -> Iterator[PlannedAttack]:
    if len(quasi) > 1:
        yield PlannedAttack("linkability", quasi[::2], quasi[1::2])
    if quasi and others:
        yield PlannedAttack("linkability", quasi, others)


def _infer(quasi: Columns, others: Columns) -> Iterator[PlannedAttack]:
    for secret in others:
        if secret.role is not Role.CONFIDENTIAL:
            continue
        yield PlannedAttack("inference", quasi, (secret,))
        if len(others) > 1:
            known = quasi + tuple(column for column in others if column is not secret)
            yield PlannedAttack("inference", known, (secret,))


def _single_out(columns: Columns) -> Iterator[PlannedAttack]:
    if columns:
        yield PlannedAttack("singling-out-univariate", columns)
    if len(columns) > 1:
        yield PlannedAttack("singling-out-multivariate", columns)
