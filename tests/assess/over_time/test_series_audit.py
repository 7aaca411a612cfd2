"""Registers next to the rows that were handed out: what of one is not of the other is named."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from tclose.assess.over_time.published import Published
from tclose.assess.over_time.series_audit import _compare
from tclose.model.array_types import Int64
from tclose.releases.series.register_file import ReleasedPersons, ValueSpace

pytestmark = pytest.mark.every_case  # each takes milliseconds

PAY, JOB = [1, 3, 3, 1, 2], ["cook", "nurse", "cook", "clerk", "nurse"]


def published() -> Published:
    """Rows of two classes, with a number and a text each."""
    classes = pa.table({"age": [20, 30]})
    values = pa.table({"pay": PAY, "job": JOB})
    return Published("people/a1", classes, np.array([0, 0, 0, 1, 1]), values)


def registered() -> ReleasedPersons:
    return ReleasedPersons(
        release="people/a1",
        hashes=np.arange(10, dtype=np.uint64).reshape(-1, 2),
        classes=np.array([0, 0, 0, 1, 1]),
        attributes=("pay", "job"),
        limits=(Fraction(1, 10),) * 2,
        codes=np.array([[0, 2, 2, 0, 1], [1, 2, 1, 0, 2]]),
        spaces=(ValueSpace(3), ValueSpace(3)),
    )


def test_the_same_rows() -> None:
    assert _compare(registered(), published()) == ""


@pytest.mark.parametrize(
    ("codes", "found"),
    [
        ([[0, 2, 2, 0, 1], [2, 1, 2, 0, 1]], ""),  # texts have no order: told apart as they are
        ([[0, 2, 2, 0, 1], [1, 1, 1, 0, 2]], "job"),  # two that are not the same
        ([[0, 2, 2, 0, 1], [1, 2, 3, 0, 2]], "job"),  # two that are
        ([[0, 2, 1, 0, 1], [1, 2, 1, 0, 2]], "pay"),
        ([[2, 0, 0, 2, 1], [1, 2, 1, 0, 2]], "pay"),  # distances follow the order of numbers
    ],
)
def test_values_of_other_rows(codes: list[list[int]], found: str) -> None:
    assert _compare(replace(registered(), codes=np.array(codes)), published()) == found


@pytest.mark.parametrize(
    ("classes", "found"),
    [
        (np.array([1, 1, 1, 0, 0]), ""),  # by other numbers
        (np.array([0, 0, 1, 1, 1]), "classes"),
        (np.array([0, 0, 0, 1, 2]), "classes"),
        (np.array([0, 0, 0, 0, 0]), "classes"),
        (np.array([0, 0, 0, 1]), "rows"),
    ],
)
def test_classes_of_other_rows(classes: Int64, found: str) -> None:
    assert _compare(replace(registered(), classes=classes), published()) == found


def test_a_person_of_two_rows() -> None:
    """Each has one record, or k over records would not be k over persons."""
    twice = registered().hashes[[0, 1, 2, 3, 3]]
    found = _compare(replace(registered(), hashes=twice), published())
    assert found == "persons, of whom one has several"


def test_other_columns() -> None:
    without = published().confidential.drop_columns(["job"])
    assert _compare(registered(), replace(published(), confidential=without)) == "attributes"
