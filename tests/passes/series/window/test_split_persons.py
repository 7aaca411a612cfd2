"""Persons who are two in a window: forgotten in one register, and themselves in another."""

import numpy as np
import pytest

from tclose.model.array_types import UInt64
from tclose.passes.series.window import split_persons
from tclose.passes.series.window.split_persons import SplitPersons, find_split
from tclose.releases.series.register_file import NOBODY

pytestmark = pytest.mark.every_case  # each takes milliseconds

ANNA, BERT, CORA = (7, 1), (7, 2), (9, 0)  # two with the same first word


def rows(*persons: tuple[int, int]) -> UInt64:
    return np.array([*persons], dtype=np.uint64) if persons else NOBODY


@pytest.mark.parametrize(
    ("forgotten", "released", "found"),
    [
        ([rows(), rows()], [rows(ANNA), rows(ANNA)], None),
        ([rows(ANNA), rows(ANNA)], [rows(), rows(BERT, CORA)], None),
        ([rows(BERT), rows()], [rows(), rows(ANNA, CORA, (8, 2), (10, 1))], None),
        ([rows(ANNA), rows()], [rows(BERT), rows(BERT, ANNA)], (1, 0)),
        ([rows(BERT), rows()], [rows(), rows(ANNA, BERT)], (1, 0)),
        ([rows(), rows(CORA)], [rows(CORA), rows()], (1, 0)),
        ([rows(ANNA), rows(ANNA), rows(), rows()], [*[rows()] * 3, rows(ANNA)], (1, 1)),
        ([rows(ANNA, CORA), rows(CORA), rows(), rows()], [*[rows()] * 3, rows(CORA, ANNA)], (2, 1)),
        # forgotten again, by another number
        ([rows(ANNA), rows(), rows(ANNA, ANNA)], [rows()] * 3, (1, 0)),
        ([rows(ANNA), rows(ANNA, ANNA), rows(ANNA, ANNA)], [rows()] * 3, (1, 0)),
        ([], [], None),
    ],
)
def test_who_is_two_persons(
    forgotten: list[UInt64],
    released: list[UInt64],
    found: tuple[int, int] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The newest release that another one is not to be held with is named."""
    monkeypatch.setattr(split_persons, "_PIECE", 2)
    asked = None if found is None else SplitPersons(*found)
    assert find_split(forgotten, lambda place: released[place].T) == asked


def test_hashes_of_rows_are_not_read_where_nobody_was_forgotten() -> None:
    def refuse(_: int) -> UInt64:
        raise AssertionError

    assert find_split([NOBODY, NOBODY], refuse) is None
