"""Perturbations of near classes after the rounds: how many, of which classes, what ends them."""

from dataclasses import replace

import numpy as np
import pytest

from support.tables.random_tables import distribution_of
from support.tables.refined_regions import keep, losing_region, refiner_of
from tclose.kernels.refinement.refine_blocks import measure_classes
from tclose.passes.microaggregate.search import refine_classes
from tclose.passes.microaggregate.search import rounds as rounds_module
from tclose.passes.microaggregate.search.perturb_classes import perturb_classes
from tclose.passes.microaggregate.search.rounds import Round, is_exhausted, is_worth_more
from tclose.passes.plan.search_budget import SearchBudget


def refine(n_perturbed: int, share: float = 1.0, n_threads: int = 1):
    records = losing_region()
    budget = SearchBudget(40, least_gain=0.1, n_perturbed=n_perturbed)
    refiner = replace(refiner_of(records), n_threads=n_threads)
    return refiner.refine(records.labels, budget, keep, share)


@pytest.mark.parametrize(
    ("n_perturbed", "share", "n_passes"),
    [(0, 1, 0), (2399, 1, 0), (2400, 1, 1), (12_000, 1, 9), (12_000, 0.5, 4)],
)
def test_are_as_many_as_are_paid_for(n_perturbed: int, share: float, n_passes: int) -> None:
    """Each of 600, 300, 152 or 76 records counts four times, as its group is perturbed."""
    n_rounds = len(refine(0)[1])
    assert len(refine(n_perturbed, share)[1]) == n_rounds + n_passes


@pytest.mark.parametrize(("much", "is_more"), [(0.0, True), (1.0, False)])
def test_go_on_as_long_as_many_save_much(
    much: float, is_more: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds_module, "MUCH", much)
    records = losing_region()
    budget = SearchBudget(40, least_gain=0.1, n_perturbed=48_000)
    _, usual = refiner_of(records).refine(records.labels, budget, keep)
    _, more = refiner_of(records).refine(records.labels, replace(budget, n_more=48_000), keep)
    assert more[: len(usual)] == usual
    assert (len(more) > 30 + len(usual)) == is_more


@pytest.mark.parametrize(
    ("share", "n_rounds", "expected"),
    [(0.001, 99, True), (0.0001, 99, False), (0.001, 32, False)],
)
def test_many_of_them_save_much(share: float, n_rounds: int, expected: bool) -> None:
    rounds = [Round((1 - share) ** r, 0.0, (1 - share) ** r) for r in range(n_rounds)]
    assert is_worth_more(rounds) == expected


def test_are_of_classes_that_lose_most_by_turns(monkeypatch) -> None:
    """Of all, and of ever fewer of them, so that more passes are paid for."""
    refiner, taken = refiner_of(losing_region()), []

    def note(records, labels, by_class, groups, settings, n_threads):
        taken.append((by_class, np.sort(groups[0])))
        return perturb_classes(records, labels, by_class, groups, settings, n_threads)

    monkeypatch.setattr(refine_classes, "perturb_classes", note)
    budget = SearchBudget(40, least_gain=0.1, n_perturbed=24_000)
    labels = refiner.refine(losing_region().labels, budget, keep)[0]
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


def test_lose_less_from_one_pass_to_the_next() -> None:
    _, rounds = refine(0)
    _, more = refine(120_000)
    assert more[: len(rounds)] == rounds
    losses = [one.loss for one in more[len(rounds) - 1 :]]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.97 * losses[0]


def test_classes_that_are_at_t_lose_no_more_either() -> None:
    """Limits are lowered by rounding, which all of these are above: that is not mended."""
    codes = np.arange(600) % 2
    table, codes = distribution_of(codes)
    order = np.concatenate([np.flatnonzero(codes == v).reshape(75, 4) for v in (0, 1)], axis=1)
    labels = np.empty(
        600, np.int64
    )  # two classes of each eight: three of one value, one of the other
    labels[order[:, [0, 1, 2, 4]]] = 2 * np.arange(75)[:, None]
    labels[order[:, [3, 5, 6, 7]]] = 2 * np.arange(75)[:, None] + 1
    records = replace(losing_region(), codes=codes[None], tables=(table,), labels=labels)
    budget = SearchBudget(2, n_perturbed=48_000)
    _, rounds = refiner_of(records).refine(labels, budget, keep, 1.0)
    losses = [one.loss for one in rounds]
    assert len(losses) == 3 + 41
    assert losses == sorted(losses, reverse=True)
    assert rounds[0].largest_emd == rounds[-1].largest_emd == 0.25


@pytest.mark.parametrize(("limit", "is_more"), [(0.25, False), (0.99, False), (1.0, True)])
def test_without_a_t_rounds_go_on_before(limit: float, is_more: bool) -> None:
    """A hundred of 600 records, unless many of them save nothing."""
    records = replace(losing_region(), limits=(limit,))
    budget = SearchBudget(120, least_gain=0.1)
    _, few = refiner_of(records).refine(records.labels, budget, keep)
    _, rounds = refiner_of(records).refine(records.labels, replace(budget, n_perturbed=1), keep)
    assert rounds[: len(few)] == few
    assert (len(rounds) > 30 + len(few)) == is_more
    assert (rounds[-1].loss < few[-1].loss) == is_more


def test_threads_change_nothing() -> None:
    one, three = (refine(24_000, n_threads=n) for n in (1, 3))
    assert one[0].tolist() == three[0].tolist()
    assert one[1] == three[1]


def test_end_where_nothing_is_lost() -> None:
    records = replace(losing_region(), numeric=np.zeros((3, 600)))
    budget = SearchBudget(2, n_perturbed=10**6)
    _, rounds = refiner_of(records).refine(records.labels, budget, keep, 1.0)
    assert len(rounds) == 3


@pytest.mark.parametrize(
    ("share", "n_rounds", "expected"),
    [(0.00001, 99, False), (0.000001, 99, True), (0.000001, 32, False)],
)
def test_end_where_many_save_next_to_nothing(share: float, n_rounds: int, expected: bool) -> None:
    rounds = [Round((1 - share) ** r, 0.0, (1 - share) ** r) for r in range(n_rounds)]
    assert is_exhausted(rounds) == expected
