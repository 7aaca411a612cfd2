"""Refusals of releases that lack too many records, with what can be done."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tclose.errors import InfeasibleError, PolicyError
from tclose.passes.series.kept_records import ColumnAbove
from tclose.passes.series.refused_releases import check_left_out, check_once
from tclose.passes.series.series_cells import KnownRelease
from tclose.policy.sections.privacy_settings import OverTimeSettings


def release_of(*sizes: int) -> KnownRelease:
    """A release of classes of so many persons."""
    classes = np.repeat(np.arange(len(sizes)), sizes)
    no_codes = np.empty((0, classes.size), dtype=np.int64)
    return KnownRelease(classes.size, np.arange(classes.size), classes, no_codes, (), (), ())


def settings_of(departures: Any) -> OverTimeSettings:
    return OverTimeSettings(k=5, t=0.1, departures=departures)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("departures", "most", "other_ways"),
    [("report", 10, False), ("unite", 10, False), ("refuse", 10, False), ("drop", 50, True),
     ("hold", 50, False)],
)  # fmt: skip
def test_so_much_may_be_left_out(departures: str, most: int, other_ways: bool) -> None:
    """Who dropped cells can report from now on; who held records would have all of them found."""
    window, settings = [release_of(6, 6)], settings_of(departures)
    check_left_out(window, most, 100, 0.98, settings)
    with pytest.raises(InfeasibleError, match="begin a new series") as refused:
        check_left_out(window, most + 1, 100, 0.98, settings)
    message = str(refused.value)
    assert f"{most + 1} of 100 records would have to be left out" in message
    assert ("or report those who leave" in message) == other_ways


@pytest.mark.parametrize(("sizes", "is_said"), [((4, 4, 4, 92), True), ((4, 96), False)])
def test_classes_that_are_too_small_for_a_larger_k_are_said(
    sizes: tuple[int, ...], is_said: bool
) -> None:
    """Where at least half of what is left out is of these: whoever stays, nothing else helps."""
    window = [release_of(50, 50), release_of(*sizes)]
    with pytest.raises(InfeasibleError) as refused:
        check_left_out(window, 24, 100, 1.0, settings_of("report"))
    said = "12 persons of an earlier release are in classes of fewer than over_time.k = 5"
    assert (said in str(refused.value)) == is_said


@pytest.mark.parametrize("departures", ["hold", "drop"])
def test_somebody_who_was_forgotten_is_the_reason_where_records_are_held(departures: str) -> None:
    """Of whoever forgot a month ago, who runs the next release may not know."""
    with pytest.raises(InfeasibleError, match="; begin a new series") as refused:
        check_left_out(
            [release_of(50, 50)], 60, 100, 0.98, settings_of(departures), has_forgotten=True
        )
    said = "somebody was forgotten in the release before: over it nobody who left is held"
    assert (said in str(refused.value)) == (departures == "hold")
    assert ("a smaller over_time.k" in str(refused.value)) == (departures == "drop")


@pytest.mark.parametrize("departures", ["report", "drop"])
def test_what_is_above_t_is_named(departures: str) -> None:
    """With what its values were, where they are others now; nothing is dropped for that."""
    above = [
        ColumnAbove("income", 0.991, Fraction(1, 5), was_ordered=True, is_ordered=False),
        ColumnAbove("rank", 0.25, Fraction(1, 5), was_ordered=True, is_ordered=True),
    ]
    window, settings = [release_of(50, 50)], settings_of(departures)
    with pytest.raises(InfeasibleError) as refused:
        check_left_out(window, 60, 100, 0.98, settings, lambda: above)
    message = str(refused.value)
    assert "'income' (up to 0.991, t 0.2), whose values had an order and have none" in message
    assert "; 'rank' (up to 0.250, t 0.2) (98% of" in message
    with pytest.raises(InfeasibleError) as refused:
        check_left_out(window, 60, 100, 0.98, settings)
    assert ("who left are too few" in str(refused.value)) == (departures == "drop")


@pytest.mark.parametrize(
    ("persons", "said"),
    [
        ([*range(50), *[7] * 30], "31 of 80 records have one value in the column of role person"),
        ([*range(50), *range(30)], "30 of 80 records are of persons who have another one"),
        ([*range(50), 7], "1 of 51 records is of a person who has another one"),
    ],
)
def test_a_value_of_many_records_may_be_nobody(persons: list[int], said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        check_once(np.array(persons))
    check_once(np.unique(persons))
