"""Efforts: what the policy says of them, by name, in rounds or as a time."""

from dataclasses import replace

import pytest

from tclose.passes.plan.search_budget import (
    FAST,
    FULL_PER_RECORD,
    FULL_TIMES,
    GAIN_TO_COMPARE,
    LARGE_TABLE,
    LARGEST_PERTURBED,
    LEAN,
    LEAN_LARGE,
    MORE_PER_RECORD,
    MOST_OF_BLOCK,
    MOST_PER_RECORD,
    OFF,
    TIMES,
    USUAL_SIZE,
    SearchBudget,
    choose_search_budget,
    count_block_classes,
)


class TestEffort:
    @pytest.mark.parametrize(
        ("said", "search_budget"),
        [("off", OFF), ("lean", LEAN), ("fast", FAST)],
    )
    def test_named(self, said: str, search_budget: SearchBudget) -> None:
        assert choose_search_budget(said, 30_000) == search_budget

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
        sizes = [50_000, 100_000, 300_000, 1_000_000, 3_000_000, 10**11]
        gains = [choose_search_budget("fast", size).least_gain for size in sizes]
        assert gains == pytest.approx([0.003, 0.005, 0.015, 0.05, 0.05, 0.05])
        assert {
            replace(
                choose_search_budget("fast", size),
                least_gain=FAST.least_gain,
                n_perturbed=FAST.n_perturbed,
                n_more=FAST.n_more,
                is_compared=FAST.is_compared,
            )
            for size in sizes
        } == {FAST}

    def test_fast_is_ended_by_what_a_round_saves(self) -> None:
        """Not by a number of rounds: at the least gain these would leave half of the loss."""
        assert (1 - FAST.least_gain) ** FAST.n_rounds < 0.6
        assert FAST.least_gain > 0

    @pytest.mark.parametrize("n_records", [1, 25_000, 60_000, 10**9])
    def test_full_goes_on_from_where_fast_ends(self, n_records: int) -> None:
        """Its rounds are fast's, or more of them where fast's end early, and so are its passes.

        It compares starts of any table.
        """
        fast, full = (choose_search_budget(said, n_records) for said in ("fast", "full"))
        assert full.n_perturbed >= FULL_TIMES * fast.n_perturbed
        assert full.n_perturbed >= fast.n_perturbed + fast.n_more
        assert full.n_perturbed >= FULL_PER_RECORD * n_records
        assert full.least_gain <= fast.least_gain
        assert full.is_compared
        of_fast = {
            name: getattr(fast, name)
            for name in ("n_perturbed", "n_more", "least_gain", "is_compared")
        }
        assert replace(full, **of_fast) == fast

    def test_records_of_small_tables_are_perturbed_alike(self) -> None:
        """Larger ones have some seconds for all: those of a million are not perturbed."""
        sizes = [1, 300, 20_000, 30_000, 100_000, LARGEST_PERTURBED, LARGEST_PERTURBED + 1]
        budgets = [choose_search_budget("fast", size) for size in sizes]
        each = [budget.n_perturbed / n for budget, n in zip(budgets, sizes, strict=True)]
        of_all = [FAST.n_perturbed / n for n in sizes[3:-1]]
        assert each == [*[MOST_PER_RECORD] * 3, *of_all, 0]
        more = [budget.n_more / n for budget, n in zip(budgets, sizes, strict=True)]
        assert more == [*[MORE_PER_RECORD - MOST_PER_RECORD] * 2, 200 - MOST_PER_RECORD, *[0] * 4]
        assert of_all[-1] >= TIMES  # a pass at least

    def test_names_are_in_order(self) -> None:
        full = choose_search_budget("full", 30_000)
        assert OFF.n_rounds == 0 < LEAN.n_rounds < FAST.n_rounds
        assert OFF.n_perturbed == LEAN.n_perturbed == 0 < FAST.n_perturbed < full.n_perturbed
        assert FAST.seconds is full.seconds is None

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
        fast = replace(FAST, n_rounds=search_budget.n_rounds, seconds=seconds)
        assert replace(search_budget, n_perturbed=FAST.n_perturbed) == fast
        assert search_budget.n_perturbed > 1e9 * FAST.n_perturbed


class TestRounds:
    """Budgets of single rounds."""

    @pytest.mark.parametrize("said", ["fast", "full"])
    @pytest.mark.parametrize("n_records", [300, 1_000_000])
    def test_the_first_look_as_little_as_lean(self, said: str, n_records: int) -> None:
        whole = choose_search_budget(said, n_records)
        searched = [whole.of_round(r) for r in range(4)]
        assert searched == [LEAN] * 2 + [whole] * 2

    def test_others_are_alike(self) -> None:
        for budget in (LEAN, SearchBudget(40)):
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
        budgets = [FAST, LEAN, SearchBudget(40)]
        assert [budget.rounds_before_merging for budget in budgets] == [3, 3, 2]


class TestToCompare:
    """The part of a search that tells which of several goes on."""

    def test_is_the_same_search_of_fewer_rounds(self) -> None:
        for said, n_records in (("fast", 1), ("fast", 100_000), ("full", 1), ("full", 100_000)):
            whole = choose_search_budget(said, n_records)
            part = whole.to_compare
            assert part is not None
            assert (part.n_perturbed, part.n_more, part.least_gain) == (0, 0, GAIN_TO_COMPARE)
            of_whole = {
                name: getattr(whole, name) for name in ("n_perturbed", "n_more", "least_gain")
            }
            assert replace(part, **of_whole) == whole

    @pytest.mark.parametrize("said", ["off", "lean", 40, "10s"])
    def test_is_none_of_what_no_gain_ends(self, said: str | int) -> None:
        assert choose_search_budget(said, 100_000).to_compare is None

    def test_is_none_where_it_would_take_too_long(self) -> None:
        assert choose_search_budget("fast", LARGE_TABLE).to_compare is not None
        assert choose_search_budget("fast", LARGE_TABLE + 1).to_compare is None
