"""Efforts: what the policy says of them, by name, in rounds or as a time."""

from dataclasses import replace

import pytest

from tclose.passes.plan.search_budget import (
    FAST,
    FAST_SMALL,
    FULL,
    LARGE_TABLE,
    LARGEST_LEAST_GAIN,
    LEAN,
    LEAN_LARGE,
    LEAST_GAIN_OF_A_MILLION,
    MOST_OF_BLOCK,
    OFF,
    SMALL_TABLE,
    USUAL_SIZE,
    WIDE,
    SearchBudget,
    choose_search_budget,
    count_block_classes,
)


class TestEffort:
    @pytest.mark.parametrize(
        ("said", "search_budget"),
        [("off", OFF), ("lean", LEAN), ("fast", FAST_SMALL), ("full", WIDE)],
    )
    def test_named(self, said: str, search_budget: SearchBudget) -> None:
        assert choose_search_budget(said, 1) == search_budget

    @pytest.mark.parametrize(("said", "n_budgets"), [("off", 1), ("lean", 2)])
    def test_of_these_few_depend_on_the_size(self, said: str, n_budgets: int) -> None:
        """Of lean one of large tables: the same search in smaller blocks, for larger gains."""
        budgets = {choose_search_budget(said, 10**power) for power in range(11)}
        assert len(budgets) == n_budgets
        assert choose_search_budget("lean", LARGE_TABLE) is LEAN
        assert choose_search_budget("lean", LARGE_TABLE + 1) is LEAN_LARGE
        assert (
            replace(
                LEAN_LARGE,
                block_classes=LEAN.block_classes,
                least_exchange=LEAN.least_exchange,
            )
            == LEAN
        )
        assert LEAN_LARGE.block_classes < LEAN.block_classes
        assert LEAN_LARGE.least_exchange > LEAN.least_exchange

    def test_the_larger_a_table_the_more_a_round_has_to_save(self) -> None:
        sizes = [SMALL_TABLE + 1, 100_000, 300_000, 1_000_000, 3_000_000, 10**11]
        gains = [choose_search_budget("fast", size).least_gain for size in sizes]
        largest = LARGEST_LEAST_GAIN
        assert gains == pytest.approx([0.005, 0.005, 0.015, 0.05, largest, largest])
        assert {
            replace(choose_search_budget("fast", size), least_gain=FAST.least_gain)
            for size in sizes
        } == {FAST}

    def test_fast_is_ended_by_what_a_round_saves(self) -> None:
        """Not by a number of rounds: at the least gain these would leave half of the loss."""
        assert (1 - FAST.least_gain) ** FAST.n_rounds < 0.6
        assert FAST.least_gain > 0

    def test_full_is_wide_where_that_takes_minutes(self) -> None:
        assert choose_search_budget("full", SMALL_TABLE) is WIDE
        assert choose_search_budget("full", SMALL_TABLE + 1) is FULL

    def test_full_goes_on_from_where_fast_ends(self) -> None:
        """So that it never loses more."""
        assert FULL.after is FAST
        assert WIDE.after is FAST_SMALL

    def test_names_are_in_order(self) -> None:
        assert OFF.n_rounds == 0 < LEAN.n_rounds < FAST.n_rounds
        assert LEAN.least_gain <= FULL.least_gain < FAST.least_gain
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


class TestRounds:
    """Budgets of single rounds."""

    @pytest.mark.parametrize("said", ["fast", "full"])
    @pytest.mark.parametrize(("n_records", "n_first"), [(SMALL_TABLE, 0), (SMALL_TABLE + 1, 2)])
    def test_the_first_look_as_little_as_lean(
        self, said: str, n_records: int, n_first: int
    ) -> None:
        """But for small tables, where all takes little."""
        whole = choose_search_budget(said, n_records)
        of_fast = whole.after or whole
        searched = [of_fast.of_round(r) for r in range(4)]
        assert searched == [LEAN] * n_first + [of_fast] * (4 - n_first)

    def test_others_are_alike(self) -> None:
        for budget in (LEAN, FULL, SearchBudget(40)):
            assert budget.of_round(0) is budget.of_round(9) is budget

    def test_exchanges_of_large_classes_may_save_less(self) -> None:
        """As a class grows, a record's part of its loss falls."""
        shares = [LEAN.share_of_exchange(size) for size in (2, USUAL_SIZE, 10 * USUAL_SIZE)]
        assert shares == [LEAN.least_exchange, LEAN.least_exchange, LEAN.least_exchange / 10]

    def test_blocks_of_large_classes_have_fewer(self) -> None:
        blocks = [count_block_classes(FAST, size) for size in (14, 1_000, 10**9)]
        assert blocks == [FAST.block_classes, MOST_OF_BLOCK // 1_000, 2]

    def test_classes_are_merged_after_six_sweeps(self) -> None:
        """Of two sweeps a round, or of four."""
        budgets = [FAST, FAST_SMALL, LEAN, FULL, SearchBudget(40)]
        assert [budget.rounds_before_merging for budget in budgets] == [3, 2, 3, 2, 2]


class TestToCompare:
    """The part of a search that tells which of several goes on."""

    def test_is_the_same_search_of_fewer_rounds(self) -> None:
        for said, n_records in (("fast", 1), ("fast", 100_000), ("full", 1), ("full", 100_000)):
            whole = choose_search_budget(said, n_records)
            part = whole.to_compare
            assert part is not None
            first = whole.after or whole
            assert (part.free_effort, part.least_gain) == (0, LARGEST_LEAST_GAIN)
            least_gain, free = first.least_gain, first.free_effort
            assert replace(part, least_gain=least_gain, free_effort=free) == first

    @pytest.mark.parametrize("said", ["off", "lean", 40, "10s"])
    def test_is_none_of_what_no_gain_ends(self, said: str | int) -> None:
        assert choose_search_budget(said, 100_000).to_compare is None

    def test_is_none_where_it_would_be_all(self) -> None:
        n_records = int(1e6 * LARGEST_LEAST_GAIN / LEAST_GAIN_OF_A_MILLION)
        assert choose_search_budget("fast", n_records - 1).to_compare is not None
        assert choose_search_budget("fast", n_records).to_compare is None
