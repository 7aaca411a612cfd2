"""What shares may cost is spent where it is needed."""

import numpy as np
import pytest

from tclose.passes.microaggregate.shares.representatives import MORE_LOSS, keep_shares


class Column:
    """An attribute whose shares want so much more loss in all."""

    def __init__(self, wants: float, *, was_asked: bool = False) -> None:
        self.loss, self.wants, self.was_asked = 100.0, wants, was_asked

    def keep_shares(self, more_loss: float) -> None:
        spent = min(self.wants, more_loss)
        self.loss, self.wants = self.loss + spent, self.wants - spent


def spend(*columns: Column, other_loss: float = 0.0) -> list[float]:
    keep_shares(columns, other_loss)  # type: ignore[arg-type]
    return [column.loss - 100.0 for column in columns]


@pytest.mark.parametrize("places", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_what_others_leave_is_spent_by_those_before_and_after(places: tuple[int, ...]) -> None:
    wanted = np.array([20.0, 1.0, 0.0])[list(places)]
    spent = spend(*map(Column, wanted))
    assert spent == pytest.approx(np.where(wanted == 20, 300 * MORE_LOSS - 1, wanted))


def test_where_all_want_more_each_has_a_part() -> None:
    assert spend(Column(50), Column(50), other_loss=100.0) == pytest.approx([150 * MORE_LOSS] * 2)


def test_nobody_gets_more_than_it_wants() -> None:
    assert spend(Column(2), Column(3)) == [2.0, 3.0]


def test_who_was_asked_spends_what_it_wants_of_its_own() -> None:
    assert spend(Column(50, was_asked=True), Column(50)) == pytest.approx([50, 200 * MORE_LOSS])
