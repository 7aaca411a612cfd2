"""The verdict over persons: it passes only what was counted, and holds."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from support.tables.person_tables import weigh_table
from tclose.model.array_types import Int64
from tclose.model.verification import (
    AttributeResult,
    ClassSizes,
    ClassTraces,
    PersonTraces,
    Verdict,
)
from tclose.passes.persons.person_digest import digest_persons
from tclose.passes.verify.person_checks import ExpectedPersons, PersonChecks, check_persons
from tclose.privacy.person_closeness import PersonDemand

pytestmark = pytest.mark.every_case  # each takes milliseconds

# Two classes of three persons, the first of whom has two rows of one value in hers.
STARTS, PERSONS = np.array([0, 4, 7]), np.array([0, 0, 1, 2, 3, 4, 5])
CODES = np.array([[0, 0, 1, 2, 0, 1, 2]])
LIMIT = Fraction(1, 5)
ON_RECORDS = Verdict(
    3, 7, ClassSizes(2, 3, 4, 3.5), (AttributeResult("pay", LIMIT, 0.1, 0),), ()
)  # fmt: skip


def demand(k: int = 3) -> PersonDemand:
    return PersonDemand(k, (LIMIT,), (weigh_table(PERSONS, CODES[0], "ordered"),))


def expected(k: int = 3, *, are_together: bool = False) -> ExpectedPersons:
    return ExpectedPersons(demand(k), 6, digest_persons(PERSONS, CODES), are_together=are_together)


GOOD = check_persons(demand(), STARTS, PERSONS, CODES)


def judge(
    checks: PersonChecks | None, asked: ExpectedPersons, traces: PersonTraces | None = None
) -> list[tuple[str, str]]:
    """What fails, and what was found there."""
    verdict = asked.judge(ON_RECORDS, checks, traces)
    assert verdict.passed == (not verdict.failures)
    return [(failure.what, failure.found) for failure in verdict.failures]


def test_what_holds_passes() -> None:
    assert judge(GOOD, expected()) == []
    persons = expected().judge(ON_RECORDS, GOOD, None).persons
    assert persons is not None
    assert (persons.n_persons, persons.smallest, persons.largest, persons.mean) == (6, 3, 3, 3.0)


@pytest.mark.parametrize(
    ("checks", "k", "failures"),
    [
        (GOOD, 4, [("k", "2 smaller classes")]),
        (replace(GOOD, size_counts=np.array([[2, 3], [1, 5]])), 3, [("k", "1 smaller classes")]),
        (None, 3, [("k", "persons were not counted")]),
        (
            replace(GOOD, size_counts=np.empty((2, 0), np.int64)),
            3,
            [("k", "persons were not counted")],
        ),
        (replace(GOOD, digest=GOOD.digest ^ 1), 3, [("persons", "records of other persons")]),
        (
            replace(GOOD, n_violating=(1,), largest=(0.25,)),
            3,
            [("t of pay over persons", "1 class above, the largest 0.250000")],
        ),
        (
            replace(GOOD, largest=(float("nan"),)),
            3,
            [("t of pay over persons", "0 classes above, the largest nan")],
        ),
    ],
)
def test_every_violation_is_named(
    checks: PersonChecks | None, k: int, failures: list[tuple[str, str]]
) -> None:
    assert judge(checks, expected(k)) == failures


def test_what_fails_over_records_does_so_still() -> None:
    failing = expected(4).judge(ON_RECORDS, GOOD, None)
    twice = expected(4).judge(failing, GOOD, None)
    assert [failure.what for failure in twice.failures] == ["k", "k"]


def traces(n_several: int) -> PersonTraces:
    return PersonTraces(
        n_several=n_several, n_alone=0, n_below_k=0, lasting=(), by_classes=ClassTraces(0, 0, ())
    )


@pytest.mark.parametrize(
    ("found", "failures"),
    [
        (traces(0), []),
        (traces(1), [("persons", "1 person in several classes")]),
        (None, [("persons", "the classes of persons were not counted")]),
    ],
)
def test_persons_are_in_one_class_where_that_is_asked(
    found: PersonTraces | None, failures: list[tuple[str, str]]
) -> None:
    assert judge(GOOD, expected(are_together=True), found) == failures
    assert judge(GOOD, expected(), found) == []


def test_checks_of_ranges_merge_to_those_of_the_whole() -> None:
    """Of each class by itself, one of which is above t, and one of which has fewer persons."""

    def check(starts: Int64, first: int, last: int) -> PersonChecks:
        return check_persons(demand(), starts, PERSONS[first:last], CODES[:, first:last])

    whole = check(np.array([0, 4, 5, 7]), 0, 7)
    parts = [check(np.array([0, n]), a, a + n) for a, n in ((0, 4), (4, 1), (5, 2))]
    assert whole.n_violating[0] > 0
    for merged in (
        parts[0].merge(parts[1]).merge(parts[2]),
        parts[2].merge(parts[1].merge(parts[0])),
    ):
        assert merged.size_counts.tolist() == whole.size_counts.tolist() == [[1, 2, 3], [1, 1, 1]]
        assert (merged.largest, merged.n_violating) == (whole.largest, whole.n_violating)
        assert merged.digest == whole.digest
