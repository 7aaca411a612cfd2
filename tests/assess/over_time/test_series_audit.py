"""Registers next to the rows that were handed out: what of one is not of the other is named."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tclose.assess.over_time import series_audit
from tclose.assess.over_time.published import Published
from tclose.assess.over_time.series_audit import _compare, _have_moved, _place
from tclose.model.array_types import Int64
from tclose.passes.series.series_cells import KnownRelease, place_release
from tclose.releases.manifest.inside_sections import SeriesEntry
from tclose.releases.series.register_file import ReleasedPersons, ValueSpace
from tclose.releases.series.series_history import SeriesRelease

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


def test_all_releases_are_held_to_the_t_of_the_newest() -> None:
    """But for attributes that it does not have, which stay held to what they were."""
    before = replace(registered(), limits=(Fraction(1, 2), Fraction(1, 3)))
    newest = replace(
        registered(),
        attributes=("pay",),
        limits=(Fraction(1, 10),),
        codes=registered().codes[:1],
        spaces=registered().spaces[:1],
    )
    placed, n_persons = _place([before, newest])
    assert n_persons == 5
    assert [one.limits for one in placed] == [
        (Fraction(1, 10), Fraction(1, 3)),
        (Fraction(1, 10),),
    ]


def place(stale: list[int]) -> KnownRelease:
    persons = replace(registered(), stale=np.array(stale))
    return place_release(persons, np.arange(5), 5)


@pytest.mark.parametrize(
    ("jobs", "moved"),
    [
        (JOB, False),
        (["chef", "nurse", "chef", "clerk", "nurse"], True),  # told apart alike, and others
        (["cook", "nurse", "cook", "chef", "nurse"], False),  # in a cell that nobody is held in
    ],
)
def test_values_of_cells_with_held_rows(
    jobs: list[str], moved: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Registers tell values apart and no more: the files have to have the same ones."""
    entry = SeriesEntry(series="people", number=1, k=2, t={}, window=2, departures="hold",
                        register_sha256="0" * 64)  # fmt: skip
    then, now = (SeriesRelease(tmp_path / name, entry) for name in ("then", "now"))
    other = replace(published(), confidential=pa.table({"pay": PAY, "job": jobs}))
    files = {then.place: published(), now.place: other}
    monkeypatch.setattr(series_audit, "read_release", files.__getitem__)
    placed = [place([]), place([1, 0, 0, 0, 0])]
    assert _have_moved((then, now), placed, 5) == moved
