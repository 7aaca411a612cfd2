"""Rounds of refinement: how many there are, what ends them, and those of regions together."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.classed_records import ClassedRecords
from support.tables.random_tables import distribution_of, repeatable
from support.tables.refined_regions import keep, refiner_of
from tclose.kernels.refinement.refine_blocks import measure_classes
from tclose.model.array_types import Int64
from tclose.passes.microaggregate.search import refine_classes
from tclose.passes.microaggregate.search import rounds as rounds_module
from tclose.passes.microaggregate.search.perturb_classes import perturb_classes
from tclose.passes.microaggregate.search.pool_classes import Pooled
from tclose.passes.microaggregate.search.rounds import (
    Round,
    SearchState,
    estimate_share,
    is_exhausted,
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

    def region(self, n_records: int = 600) -> ClassedRecords:
        rng = np.random.default_rng(11)
        table, codes = distribution_of(rng.integers(0, 50, n_records))
        return ClassedRecords(
            rng.random((3, n_records)),
            np.empty((0, n_records), np.int32),
            1,
            codes[np.newaxis],
            (table,),
            (0.25,),
            rng.permutation(np.arange(n_records) % (n_records // 4)),
            4,
        )

    def refine(self, search_budget: SearchBudget, merge=keep, share: float = 1.0):
        records = self.region()
        return refiner_of(records).refine(records.labels, search_budget, merge, share)

    def test_none_returns_what_it_got(self) -> None:
        records = self.region()
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


class TestPerturbations:
    """After the rounds near classes are perturbed, pass by pass, and lose less."""

    def refine(self, n_perturbed: int, share: float = 1.0, n_threads: int = 1):
        records = TestBudget().region()
        budget = SearchBudget(40, least_gain=0.1, n_perturbed=n_perturbed)
        refiner = replace(refiner_of(records), n_threads=n_threads)
        return refiner.refine(records.labels, budget, keep, share)

    @pytest.mark.parametrize(
        ("n_perturbed", "share", "n_passes"),
        [(0, 1, 0), (2399, 1, 0), (2400, 1, 1), (12_000, 1, 9), (12_000, 0.5, 5)],
    )
    def test_are_as_many_as_are_paid_for(
        self, n_perturbed: int, share: float, n_passes: int
    ) -> None:
        """Each of 600, 300, 152 or 76 records counts four times, as its group is perturbed."""
        n_rounds = len(self.refine(0)[1])
        assert len(self.refine(n_perturbed, share)[1]) == n_rounds + n_passes

    def test_are_of_classes_that_lose_most_by_turns(self, monkeypatch) -> None:
        """Of all, and of ever fewer of them, so that more passes are paid for."""
        refiner, taken = refiner_of(TestBudget().region()), []

        def note(records, labels, by_class, groups, settings, n_threads):
            taken.append((by_class, np.sort(groups[0])))
            return perturb_classes(records, labels, by_class, groups, settings, n_threads)

        monkeypatch.setattr(refine_classes, "perturb_classes", note)
        budget = SearchBudget(40, least_gain=0.1, n_perturbed=24_000)
        labels = refiner.refine(TestBudget().region().labels, budget, keep)[0]
        assert labels.size == 600
        columns = refiner.values, refiner.levels, refiner.weights, refiner.n_levels
        n_searched = []
        for by_class, classes in taken:
            losses = measure_classes(*columns, *by_class)
            left = np.setdiff1d(np.arange(losses.size), classes)
            assert losses[classes].min() >= losses[left].max(initial=0.0)
            n_searched.append(classes.size)
        assert set(n_searched) == {150, 75, 38, 19}
        assert all(n_searched[i] == n_searched[i % 4] for i in range(len(n_searched)))
        assert 18 <= len(taken) <= 24

    def test_lose_less_from_one_pass_to_the_next(self) -> None:
        _, rounds = self.refine(0)
        _, more = self.refine(120_000)
        assert more[: len(rounds)] == rounds
        losses = [one.loss for one in more[len(rounds) - 1 :]]
        assert losses == sorted(losses, reverse=True)
        assert losses[-1] < 0.97 * losses[0]

    def test_classes_that_are_at_t_lose_no_more_either(self) -> None:
        """Limits are lowered by rounding, which all of these are above: that is not mended."""
        codes = np.arange(600) % 2
        table, codes = distribution_of(codes)
        order = np.concatenate([np.flatnonzero(codes == v).reshape(75, 4) for v in (0, 1)], axis=1)
        labels = np.empty(
            600, np.int64
        )  # two classes of each eight: three of one value, one of the other
        labels[order[:, [0, 1, 2, 4]]] = 2 * np.arange(75)[:, None]
        labels[order[:, [3, 5, 6, 7]]] = 2 * np.arange(75)[:, None] + 1
        records = replace(TestBudget().region(), codes=codes[None], tables=(table,), labels=labels)
        budget = SearchBudget(2, n_perturbed=48_000)
        _, rounds = refiner_of(records).refine(labels, budget, keep, 1.0)
        losses = [one.loss for one in rounds]
        assert len(losses) == 3 + 41
        assert losses == sorted(losses, reverse=True)
        assert rounds[0].largest_emd == rounds[-1].largest_emd == 0.25

    @pytest.mark.parametrize(("limit", "is_more"), [(0.25, False), (0.99, False), (1.0, True)])
    def test_without_a_t_rounds_go_on_before(self, limit: float, is_more: bool) -> None:
        """A hundred of 600 records, unless many of them save nothing."""
        records = replace(TestBudget().region(), limits=(limit,))
        budget = SearchBudget(120, least_gain=0.1)
        _, few = refiner_of(records).refine(records.labels, budget, keep)
        _, rounds = refiner_of(records).refine(records.labels, replace(budget, n_perturbed=1), keep)
        assert rounds[: len(few)] == few
        assert (len(rounds) > 30 + len(few)) == is_more
        assert (rounds[-1].loss < few[-1].loss) == is_more

    def test_threads_change_nothing(self) -> None:
        one, three = (self.refine(24_000, n_threads=n) for n in (1, 3))
        assert one[0].tolist() == three[0].tolist()
        assert one[1] == three[1]

    def test_end_where_nothing_is_lost(self) -> None:
        records = replace(TestBudget().region(), numeric=np.zeros((3, 600)))
        budget = SearchBudget(2, n_perturbed=10**6)
        _, rounds = refiner_of(records).refine(records.labels, budget, keep, 1.0)
        assert len(rounds) == 3

    @pytest.mark.parametrize(
        ("share", "n_rounds", "expected"),
        [(0.00001, 99, False), (0.000001, 99, True), (0.000001, 32, False)],
    )
    def test_end_where_many_save_next_to_nothing(
        self, share: float, n_rounds: int, expected: bool
    ) -> None:
        rounds = [Round((1 - share) ** r, 0.0, (1 - share) ** r) for r in range(n_rounds)]
        assert is_exhausted(rounds) == expected


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
        records, n_merged = TestBudget().region(), 0

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
        records, budget = TestBudget().region(), SearchBudget(40, least_gain=0.01)
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
        records = TestBudget().region()
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
