"""Refusals of releases that lack too many records, with what can be done."""

import pytest

from tclose.errors import InfeasibleError
from tclose.passes.series.refused_releases import check_left_out


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("departures", "most", "other_ways"),
    [("report", 10, False), ("unite", 10, False), ("refuse", 10, False), ("drop", 50, True),
     ("hold", 50, False)],
)  # fmt: skip
def test_so_much_may_be_left_out(departures: str, most: int, other_ways: bool) -> None:
    """Who dropped cells can report from now on; who held records would have all of them found."""
    check_left_out(most, 100, 0.98, departures)
    with pytest.raises(InfeasibleError, match="begin a new series") as refused:
        check_left_out(most + 1, 100, 0.98, departures)
    message = str(refused.value)
    assert f"{most + 1} of 100 records would have to be left out" in message
    assert ("or report those who leave" in message) == other_ways
