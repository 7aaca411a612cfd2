"""Rounds of refinement: how many there are, what ends them, and those of regions together."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable
from support.tables.refined_regions import keep, losing_region, refiner_of
from tclose.model.array_types import Int64
from tclose.passes.microaggregate.search import refine_classes
from tclose.passes.microaggregate.search import rounds as rounds_module
from tclose.passes.microaggregate.search.pool_classes import Pooled
from tclose.passes.microaggregate.search.rounds import (
    Round,
    SearchState,
    estimate_share,
    is_hopeless,
    is_little,
    is_worth_pools,
    merge_rounds,
    sum_usual,
)
from tclose.passes.plan.search_budget import (
    FAST,
    LEAN,
    OFF,
    SearchBudget,
    choose_search_budget,
)


class TestBudget:
    """On a region on which every round finds something."""

    def refine(self, search_budget: SearchBudget, merge=keep, share: float = 1.0):
        records = losing_region()
        return refiner_of(records).refine(records.labels, search_budget, merge, share)

    def test_none_returns_what_it_got(self) -> None:
        records = losing_region()
        labels, rounds = refiner_of(records).refine(records.labels, OFF, keep, 1.0)
        assert labels is records.labels
        assert rounds == ()

    @pytest.mark.parametrize("n_rounds", [1, 2, 5])
    def test_number_of_rounds(self, n_rounds: int) -> None:
        _, rounds = self.refine(choose_search_budget(n_rounds, 1))
        assert len(rounds) == n_rounds + 1
        assert rounds[-1].loss < 0.7 * rounds[0].loss

    def test_first_rounds_may_look_at_less(self) -> None:
        little = SearchBudget(2, n_partners=1, least_exchange=0.5)
        _, rounds = self.refine(SearchBudget(4, first=little))
        _, of_little = self.refine(little)
        _, without = self.refine(SearchBudget(4))
        assert rounds[:3] == of_little
        assert rounds[1].loss > without[1].loss
        assert rounds[3].loss < rounds[2].loss

    def test_little_gain_ends_it(self) -> None:
        """Two rounds have to save twice the share; they are looked at once classes were merged."""
        _, rounds = self.refine(SearchBudget(10, least_gain=0.6))
        assert len(rounds) == SearchBudget(10).rounds_before_merging + 1
        _, rounds = self.refine(SearchBudget(30, least_gain=0.01))
        assert SearchBudget(10).rounds_before_merging + 1 < len(rounds) < 31
        losses = [r.loss for r in rounds]
        assert losses[-3] - losses[-1] <= 0.02 * losses[-3]
        assert losses[-4] - losses[-2] > 0.02 * losses[-4]

    @pytest.mark.parametrize(("at_once", "n_more"), [(2, 1), (150, 2)])
    def test_a_round_follows_where_merging_lost_much(self, at_once: int, n_more: int) -> None:
        """Where the first classes become one: two of them lose little, all of them most.

        The rounds before save half of the usual loss each, which is little beside the least gain.
        """

        def merge(labels):
            return np.maximum(labels - at_once + 1, 0)

        _, rounds = self.refine(SearchBudget(10, least_gain=0.9), merge)
        assert len(rounds) == SearchBudget(10).rounds_before_merging + n_more

    @pytest.mark.parametrize(("share", "n_rounds"), [(1.0, 4), (0.5, 2), (0.1, 0), (0.0, 0)])
    def test_time_ends_it(self, share: float, n_rounds: int, monkeypatch) -> None:
        """Ten seconds; the clock says two more each time it is looked at."""
        ticks = iter(range(100, 1_000, 2))
        monkeypatch.setattr(rounds_module, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
        budget = choose_search_budget("10s", 1)
        labels, rounds = self.refine(budget, share=share)
        assert len(rounds) == n_rounds + 1
        monkeypatch.undo()
        expected, _ = self.refine(replace(budget, n_rounds=n_rounds, n_perturbed=0, seconds=None))
        assert labels.tolist() == expected.tolist()

    def test_real_time_ends_it(self) -> None:
        budget = choose_search_budget("0.05s", 1)
        _, rounds = self.refine(budget)
        assert 1 < len(rounds) < budget.n_rounds

    def test_merging_comes_once_after_some_rounds(self) -> None:
        seen = []

        def merge(labels: Int64) -> Int64:
            seen.append(labels.copy())
            return np.maximum(labels - 1, 0)  # the first two classes are one

        n = SearchBudget(10).rounds_before_merging
        labels, rounds = self.refine(SearchBudget(n + 2, n_pooled=0), merge)
        assert len(seen) == 1
        before, rounds_before = self.refine(SearchBudget(n, n_pooled=0))
        assert seen[0].tolist() == before.tolist()
        assert np.bincount(labels).size == 149
        assert rounds[n].loss > rounds_before[n].loss

    def test_no_merging_before_that_round(self) -> None:
        self.refine(SearchBudget(1), merge=lambda labels: pytest.fail("too early"))


class TestSearchThatGoesOn:
    @pytest.mark.parametrize(
        "budget",
        [
            SearchBudget(40, least_gain=0.01),
            SearchBudget(40, least_gain=0.01, n_perturbed=60_000),
        ],
    )
    def test_ends_as_if_it_had_never_stopped(self, budget: SearchBudget) -> None:
        """Its classes are merged once, and what it has done counts."""
        records, n_merged = losing_region(), 0

        def merge(labels: Int64) -> Int64:
            nonlocal n_merged
            n_merged += 1
            return labels

        refiner, state = refiner_of(records), SearchState()
        at_once, rounds = refiner.refine(records.labels, budget, merge)
        assert n_merged == 1
        assert budget.to_compare is not None
        labels, some = refiner.refine(records.labels, budget.to_compare, merge, state=state)
        labels, all_rounds = refiner.refine(labels, budget, merge, state=state)
        assert n_merged == 2
        assert len(some) < len(rounds)
        assert all_rounds == rounds
        assert labels.tolist() == at_once.tolist()


class TestHopelessSearch:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("losses", "most_lost", "expected"),
        [
            ([100.0, 50.0, 20.0], 4.0, False),  # 4 once they have saved as much again
            ([100.0, 50.0, 20.0], 3.9, True),
            ([900.0, 100.0, 50.0, 20.0], 3.9, True),
            ([50.0, 15.0, 22.0, 21.0], 21.0, False),  # nothing is taken to rise
            ([0.0, 0.0, 0.0], 0.0, False),
        ],
    )
    def test_will_end_with_too_much(
        self, losses: list[float], most_lost: float, expected: bool
    ) -> None:
        rounds = [Round(loss, 0.0, loss) for loss in losses]
        assert is_hopeless(rounds, most_lost) == expected

    def test_is_given_up_and_may_go_on(self) -> None:
        records, budget = losing_region(), SearchBudget(40, least_gain=0.01)
        refiner, state = refiner_of(records), SearchState(most_lost=0.0)
        labels, some = refiner.refine(records.labels, budget, keep, state=state)
        assert len(some) == 1 + budget.rounds_before_merging  # what is repaired first falls late
        state = replace(state, most_lost=math.inf)
        gone_on = refiner.refine(labels, budget, keep, state=state)
        at_once = refiner.refine(records.labels, budget, keep)
        assert gone_on[1] == at_once[1]
        assert gone_on[0].tolist() == at_once[0].tolist()


class TestUsualLoss:
    """What a search has to gain is a share of what classes lose that do not lose most."""

    def test_is_not_that_of_outliers(self) -> None:
        assert sum_usual(np.array([1.0] * 90 + [1e9] * 10)) == 100.0
        assert sum_usual(np.array([2.0] * 89 + [1e9] * 11)) > 1e8

    def test_is_of_classes_that_lose_anything(self) -> None:
        assert sum_usual(np.array([0.0] * 80 + [3.0] * 20)) == 60.0
        assert sum_usual(np.array([1e-17] * 80 + [3.0] * 20)) == 60.0  # rounding of a mean
        assert sum_usual(np.array([3.0])) == 3.0
        assert sum_usual(np.zeros(4)) == sum_usual(np.empty(0)) == 0.0

    def test_decides_whether_rounds_go_on(self) -> None:
        budget = SearchBudget(99, least_gain=0.01)
        rounds = [Round(1e6, 0.0, 100.0), Round(1e6 - 5, 0.0, 95.0), Round(1e6 - 9, 0.0, 91.0)]
        assert not is_little(rounds, budget)
        same = [Round(one.loss, 0.0, one.loss) for one in rounds]
        assert is_little(same, budget)


class TestWorthPools:
    @pytest.mark.parametrize(
        ("losses", "expected"),
        [
            ([100.0], False),
            ([100.0, 96.0], True),
            ([100.0, 94.0], False),
            ([200.0, 100.0, 95.0], False),
            ([200.0, 100.0, 95.0, 91.0], True),
        ],
    )
    def test_once_exchanges_save_little(self, losses: list[float], expected: bool) -> None:
        assert is_worth_pools([Round(loss, 0.0, loss) for loss in losses]) == expected


class TestBarredPools:
    @pytest.mark.parametrize(
        ("n_kept", "n_broken", "n_cut"), [(0, 1, 2), (1, 11, 2), (1, 10, 3), (0, 0, 3)]
    )
    def test_are_cut_in_two_rounds(
        self, n_kept: int, n_broken: int, n_cut: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls = []

        def pool_classes(records, n_levels, labels, *_):
            calls.append(labels.size)
            return labels, Pooled(50, n_kept, n_broken)

        monkeypatch.setattr(refine_classes, "pool_classes", pool_classes)
        records = losing_region()
        labels, _ = TestBudget().refine(SearchBudget(14, n_pooled=0))
        _, rounds = refiner_of(records).refine(
            labels, SearchBudget(4, least_gain=-1.0), keep, 1.0
        )  # of which the first says what exchanges save
        assert len(rounds) == 5
        assert len(calls) == n_cut


losses = st.floats(0, 1e6)
regions_of_rounds = st.lists(
    st.lists(st.builds(Round, losses, st.floats(0, 1), losses), max_size=5).map(tuple), max_size=5
)


class TestRounds:
    @repeatable
    @given(regions_of_rounds)
    def test_of_regions_are_merged(self, of_regions: list[tuple[Round, ...]]) -> None:
        merged = merge_rounds(of_regions)
        there = [rounds for rounds in of_regions if rounds]
        assert len(merged) == max(map(len, there), default=0)
        for r, total in enumerate(merged):
            padded = [(*rounds, *rounds[-1:] * 5)[r] for rounds in there]
            assert total.loss == pytest.approx(sum(one.loss for one in padded))
            assert total.usual_loss == pytest.approx(sum(one.usual_loss for one in padded))
            assert total.largest_emd == max(one.largest_emd for one in padded)

    def test_example(self) -> None:
        """A region that stopped early stays as it was; one that was not refined says nothing."""
        long = (Round(8.0, 0.3, 7.0), Round(4.0, 0.1, 3.0), Round(2.0, 0.1, 1.0))
        short = (Round(1.0, 0.2, 0.5),)
        total = (Round(9.0, 0.3, 7.5), Round(5.0, 0.2, 3.5), Round(3.0, 0.2, 1.5))
        assert merge_rounds([long, (), short]) == total
        assert merge_rounds([]) == merge_rounds([(), ()]) == ()


class TestShares:
    """How much of a search is done, as it is shown: from what rounds save and have to."""

    BUDGET = replace(FAST, least_gain=0.01, n_rounds=100)

    @staticmethod
    def estimate(losses: list[float], budget: SearchBudget = BUDGET) -> float:
        rounds = [Round(loss, 0.1, 100.0) for loss in losses]
        return estimate_share(rounds, budget, len(rounds) - 1)

    def test_what_rounds_save_says_it(self) -> None:
        """From a tenth to a hundredth of the loss: a third of the way, and two thirds."""
        assert self.estimate([100, 90, 90 - 10 ** (2 / 3)]) == pytest.approx(1 / 3)
        assert self.estimate([100, 90, 90 - 10 ** (1 / 3)]) == pytest.approx(2 / 3)
        assert self.estimate([100, 90, 89.5]) == 1.0
        assert self.estimate([100, 100, 100]) == 1.0

    def test_without_a_gain_to_reach_rounds_are_counted(self) -> None:
        assert self.estimate([100, 90, 80], budget=replace(LEAN, n_rounds=4)) == 0.5
        assert self.estimate([100]) == 0.0
