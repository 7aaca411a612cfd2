"""Efforts: what the policy says of them, by name, in rounds or as a time."""

import pytest

from tclose.passes.plan.search_budget import (
    FAST,
    FAST_RECORDS,
    FULL,
    FULL_RECORDS,
    LEAN,
    OFF,
    WIDE,
    SearchBudget,
    choose_search_budget,
)


class TestEffort:
    @pytest.mark.parametrize(
        ("said", "search_budget"), [("off", OFF), ("fast", FAST), ("full", WIDE)]
    )
    def test_named(self, said: str, search_budget: SearchBudget) -> None:
        assert choose_search_budget(said, 1) is search_budget

    def test_fast_is_leaner_for_tables_that_would_take_long(self) -> None:
        assert choose_search_budget("fast", FAST_RECORDS) is FAST
        assert choose_search_budget("fast", FAST_RECORDS + 1) is LEAN

    def test_full_is_wide_where_that_takes_minutes(self) -> None:
        assert choose_search_budget("full", FULL_RECORDS) is WIDE
        assert choose_search_budget("full", FULL_RECORDS + 1) is FULL

    def test_names_are_in_order(self) -> None:
        assert OFF.n_rounds == 0 < FAST.n_rounds <= FULL.n_rounds
        assert FAST.seconds is FULL.seconds is WIDE.seconds is None

    @pytest.mark.parametrize("n_rounds", [0, 1, 17])
    def test_rounds(self, n_rounds: int) -> None:
        assert choose_search_budget(n_rounds, 1) == SearchBudget(n_rounds)

    @pytest.mark.parametrize(
        ("said", "seconds"),
        [
            ("30s", 30),
            ("30 s", 30),
            ("10min", 600),
            ("10 min", 600),
            ("1.5 h", 5_400),
            ("2h", 7_200),
            ("0.25min", 15),
            ("0s", 0),
        ],
    )
    def test_times(self, said: str, seconds: float) -> None:
        search_budget = choose_search_budget(said, 1)
        assert search_budget.seconds == seconds
        assert search_budget.n_rounds >= 1_000
        assert search_budget.least_gain == 0.0
