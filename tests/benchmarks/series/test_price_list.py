"""The price list: its rows are what series cost; refused months are told, and drawn nowhere."""

import pytest

from benchmarks.series import price_list
from benchmarks.series.price_list import Price, Terms, draw_prices, parse_arguments, render_prices

REPORT, DROP = Terms(5, 0.1, 0.02, "report"), Terms(5, 0.1, 0.02, "drop")
PRICES = {
    REPORT: Price((0.2, 0.3), 1_000, 5, 20, 18, 9),
    DROP: Price((0.2,), 0, 0, 0, 0, 0, 7),
}
ALONE = {0.02: [0.1, 0.1]}


def test_rows_are_what_series_cost() -> None:
    rows = render_prices(PRICES, ALONE, 2).splitlines()
    assert rows[0].startswith("| k' | t' | churn | departures | month 1 | month 2 | mean |")
    assert rows[2] == (
        "| 5 | 0.1 | 2% | report | 2.00 | 3.00 | 2.50 | 5 (0.50%) | 0 | 18 of 20 | 9 |"
    )
    assert rows[3] == (
        "| 5 | 0.1 | 2% | drop | 2.00 | refused | 2.00 | 0 (0.00%) | 7 | 0 of 0 | 0 |"
    )


def test_series_that_were_refused_are_not_drawn() -> None:
    pytest.importorskip("matplotlib")
    picture = draw_prices(PRICES, ALONE, "two months", 2)
    assert "report" in picture
    assert "drop" not in picture


def test_default_is_the_list_that_is_published() -> None:
    given = parse_arguments([])
    assert (given.k, given.t, given.churn) == ([3, 5], [0.1, 0.2], [0.01, 0.02, 0.05, 0.1])
    assert tuple(given.departures) == price_list.WAYS
