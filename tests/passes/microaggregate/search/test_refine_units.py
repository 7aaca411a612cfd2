"""Rounds of exchanges of persons with all of their rows."""

from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_units
from support.tables.person_tables import KeptPersons, kept_persons, weigh_table
from support.tables.random_tables import repeatable
from tclose.kernels.aggregate import group_by_label
from tclose.methods.scaling import Scaled
from tclose.model.array_types import Int64
from tclose.passes.microaggregate.repair.merge_until import merge_until
from tclose.passes.microaggregate.search import refine_units
from tclose.passes.microaggregate.search.refine_units import number_units
from tclose.passes.microaggregate.unions.cluster_persons import find_medoids
from tclose.passes.plan.search_budget import FAST, SearchBudget

ROUNDS = SearchBudget(3)


def classes_of(kept: KeptPersons, labels: Int64) -> list[list[int]]:
    """The persons of each class, who are in no other one."""
    classes = [sorted(set(kept.persons[labels == c].tolist())) for c in range(labels.max() + 1)]
    assert sum(map(len, classes)) == len(set(kept.persons.tolist()))
    return classes


@repeatable
@given(kept_persons())
def test_persons_stay_together_and_what_holds_stays(kept: KeptPersons) -> None:
    before = classes_of(kept, kept.labels)
    labels, rounds = kept.refiner().refine(kept.labels, ROUNDS, 1.0)
    after = classes_of(kept, labels)
    assert len(after) == len(before)
    for old, new in zip(before, after, strict=True):
        assert len(new) >= min(kept.k, len(old))
    if all(naive_units.excess(kept, c) == 0 for c in before):
        assert all(naive_units.excess(kept, c) == 0 for c in after)
        losses = [state.loss for state in rounds]
        assert losses == sorted(losses, reverse=True)
        found = sum(float(naive_units.released_loss(kept, c)) for c in after)
        assert losses[-1] == pytest.approx(found, abs=1e-9)


@repeatable
@given(kept_persons(most=60), st.integers(2, 4))
def test_threads_change_nothing(kept: KeptPersons, n_threads: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refine_units, "BLOCK_CLASSES", 2)
        labels, _ = kept.refiner().refine(kept.labels, ROUNDS, 1.0)
        again, _ = kept.refiner(n_threads).refine(kept.labels, ROUNDS, 1.0)
        assert again.tolist() == labels.tolist()


@repeatable
@given(kept_persons(), st.randoms(use_true_random=False))
def test_numbers_of_persons_change_nothing(kept: KeptPersons, drawn: Random) -> None:
    """They follow a key, and so does their order."""
    numbers = list(range(int(kept.persons.max()) + 1))
    drawn.shuffle(numbers)
    persons = np.array(numbers)[kept.persons]
    classes = np.empty_like(kept.classes)
    classes[numbers] = kept.classes
    again = replace(kept, persons=persons, classes=classes)
    assert number_units(persons).tolist() == number_units(kept.persons).tolist()
    labels, _ = kept.refiner().refine(kept.labels, ROUNDS, 1.0)
    assert again.refiner().refine(again.labels, ROUNDS, 1.0)[0].tolist() == labels.tolist()


@repeatable
@given(kept_persons())
def test_union_of_classes_splits_no_person(kept: KeptPersons) -> None:
    """What makes classes hold exactly unites whole ones."""

    def holds(order: Int64, starts: Int64) -> np.ndarray:
        return kept.demand.holds(starts, kept.persons[order], kept.codes[:, order])

    scaled = kept.scaled
    labels, _, n_failing = merge_until(
        kept.labels, scaled.numeric, scaled.nominal, holds, scaled.weights
    )
    assert not n_failing
    for members in classes_of(kept, labels):
        assert len(members) >= kept.k
    order, starts = group_by_label(labels, int(labels.max()) + 1)
    assert holds(order, starts).all()


@repeatable
@given(kept_persons())
def test_medoids_are_records_of_their_persons(kept: KeptPersons) -> None:
    medoids = find_medoids(kept.scaled, kept.persons)
    assert kept.persons[medoids].tolist() == list(range(medoids.size))


def test_exchanges_lower_the_loss() -> None:
    """Of persons who are near one another, dealt out at random."""
    rng = np.random.default_rng(4)
    kept = drawn_persons(rng, 400)
    labels, rounds = kept.refiner().refine(kept.labels, FAST, 1.0)
    assert rounds[-1].loss < rounds[0].loss / 4
    assert max(max(map(max, naive_units.distances(kept, c))) for c in
               classes_of(kept, labels)[:9]) <= Fraction(2, 5)  # fmt: skip


def drawn_persons(rng: np.random.Generator, n_persons: int) -> KeptPersons:
    """Persons with a place each, in classes of eight at random."""
    persons = np.repeat(np.arange(n_persons), rng.choice([1, 2, 3], n_persons))
    codes = rng.integers(0, 4, (1, persons.size))
    numeric = rng.random((2, n_persons))[:, persons] + rng.random((2, persons.size)) / 50
    scaled = Scaled(
        numeric, np.empty((0, persons.size), np.int32), 1, np.empty(0), np.empty(0, np.int64)
    )
    classes = rng.permutation(np.arange(n_persons) % (n_persons // 8))
    return KeptPersons(
        persons, codes, scaled, classes, (weigh_table(persons, codes[0], "ordered"),),
        (Fraction(2, 5),), 4,
    )  # fmt: skip
