"""One drawn case: released, audited and checked, or refused in plain words."""

import copy
import os
import tempfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nightly.drawn.inputs import as_declared, write_input
from nightly.drawn.mutants import mutate
from nightly.drawn.policies import METHODS, TIE, Asking, Drawing
from nightly.independent.checker import check_release
from support.cases.people import publish
from tclose.assess.auditing.audit import audit_release
from tclose.errors import TcloseError
from tclose.methods.microaggregation.microaggregation import Microaggregation
from tclose.passes.plan import coarse_tree

MUTANTS = "mutants"
KINDS = (*METHODS, MUTANTS)
FAST = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where a flush waits for no disk
SECRETS = ("IDENTIFIER-", "UNLISTED-")


@dataclass(frozen=True)
class Number:
    """What a case is drawn from: written as ``METHOD:SEED:NUMBER``, it is drawn again."""

    kind: str
    seed: int
    number: int

    def __str__(self) -> str:
        """As TCLOSE_CASE takes it."""
        return f"{self.kind}:{self.seed}:{self.number}"

    @property
    def rng(self) -> np.random.Generator:
        """The random numbers of the case."""
        return np.random.default_rng([self.seed, zlib.crc32(self.kind.encode()), self.number])


def read_number(text: str) -> Number:
    """The inverse of writing a number."""
    kind, seed, number = text.split(":")
    return Number(kind, int(seed), int(number))


def try_case(number: Number) -> str:
    """Whether the case was released or refused; each is looked at.

    Raises
    ------
    AssertionError
        What is wrong, with the case's number, its policy and its table.
    """
    rng = number.rng
    is_mutant = number.kind == MUTANTS
    name = METHODS[number.number % len(METHODS)] if is_mutant else number.kind
    asking = Drawing(rng, name).draw()
    document = copy.deepcopy(asking.document)
    with tempfile.TemporaryDirectory(dir=FAST) as folder, pytest.MonkeyPatch.context() as patch:
        place = Path(folder)
        patch.chdir(place)
        document["input"], stored = write_input(rng, asking.table, place / "in", asking.in_csv)
        if asking.in_csv:
            stored = as_declared(stored, document["attributes"])
        asking = replace(asking, table=stored)
        document["output"]["path"] = str(place / "out")
        if is_mutant:
            document = mutate(rng, document)
        most = int(rng.choice([32_768, 32_768, 50, 8]))
        patch.setattr(Microaggregation, "max_records", most)
        patch.setattr(coarse_tree, "MIN_REGION_RECORDS", most)
        try:
            ended, problems = _release(document, asking, place, is_mutant)
        except Exception as error:
            raise AssertionError(_describe(number, asking, document, [])) from error
        if problems:
            raise AssertionError(_describe(number, asking, document, problems))
    return ended


def _release(
    document: dict[str, Any], asking: Asking, place: Path, is_mutant: bool
) -> tuple[str, list[str]]:
    """How it ended, and what is wrong with that."""
    try:
        outcome = publish(document)
    except TcloseError as refusal:
        return "refused", _look_at_refusal(refusal, place)
    problems = [str(finding) for finding in audit_release(outcome.release).findings]
    if is_mutant:  # whose policy may say things in ways that the checker does not read
        return "released", problems
    tie = TIE if TIE in asking.table.column_names else None
    problems += check_release(document, asking.table, Path(str(outcome.release)), tie)
    return "released", [*problems, *_find_secrets(place / "out")]


def _look_at_refusal(refusal: TcloseError, place: Path) -> list[str]:
    problems = []
    if refusal.exit_code not in (2, 3):
        problems.append(f"ended with status {refusal.exit_code}: {refusal}")
    if any(secret in str(refusal) for secret in SECRETS):
        problems.append(f"the refusal quotes a record: {refusal}")
    left = [path.name for path in place.rglob("*") if path.name in ("CURRENT", "manifest.json")]
    if left:
        problems.append(f"refused, and {left} are there: {refusal}")
    return problems


def _find_secrets(folder: Path) -> list[str]:
    """Files of a release that hold what must not leave."""
    return [
        f"{path.name} holds {secret}"
        for path in folder.rglob("*")
        if path.is_file()
        for secret in SECRETS
        if secret.encode() in path.read_bytes()
    ]


def _describe(number: Number, asking: Asking, document: dict[str, Any], problems: list[str]) -> str:
    lines = [f"case {number} (TCLOSE_CASE={number} tries it alone): {len(problems)} problems"]
    lines += [f"  {problem}" for problem in problems]
    lines += [f"policy: {document}", f"table: {len(asking.table)} records, CSV: {asking.in_csv}"]
    return os.linesep.join([*lines, str(asking.table.schema)])
