"""Searches in which nobody gets a second record into a class, and the mending of classes."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.length import count
from support.tables.classed_records import ClassedRecords, classed_records
from support.tables.person_tables import weigh_table
from support.tables.random_tables import repeatable
from support.tables.refined_regions import keep, search_budgets
from tclose.kernels.aggregate import group_by_label
from tclose.kernels.refinement.block import count_seconds_after, gather_block
from tclose.kernels.refinement.screen import (
    count_seconds_together,
    fill_person_counts,
    make_screen,
)
from tclose.methods.scaling import Scaled
from tclose.model.array_types import Int64
from tclose.passes.microaggregate.search.make_refiners import make_person_refiner
from tclose.passes.microaggregate.search.mend_persons import PersonMender
from tclose.passes.microaggregate.search.refine_classes import Refiner
from tclose.passes.plan.search_budget import SearchBudget
from tclose.privacy.person_closeness import PersonDemand

K = 3
LIMITS = (Fraction(1, 4), Fraction(3, 10))


def make_region(
    n_records: int, n_persons: int, seed: int, metrics: tuple[str, str] = ("ordered", "ordered")
) -> tuple[Refiner, PersonDemand]:
    """A refiner of records of some persons, of whom many have several."""
    rng = np.random.default_rng(seed)
    persons = rng.integers(0, n_persons, n_records)
    codes = np.array([rng.integers(0, 6, n_records), rng.integers(0, 4, n_records)])
    codes[:, :6], codes[1, :4] = np.arange(6), np.arange(4)
    tables = tuple(weigh_table(persons, row, m) for row, m in zip(codes, metrics, strict=True))
    demand = PersonDemand(K, LIMITS, tables)
    levels = rng.integers(0, 3, (1, n_records)).astype(np.int32)
    numbers = rng.integers(0, 64, (2, n_records)) / 64
    scaled = Scaled(numbers, levels, 3, np.ones(1), np.ones(1, dtype=np.int64))
    of_records = tuple(table.rows for table in tables)
    return make_person_refiner(scaled, codes, of_records, (persons, demand), (1, 0, 0)), demand


def deal_out(persons: Int64, n_classes: int) -> Int64:
    """Labels of classes in which nobody has two records, where nobody has more than classes."""
    labels = np.empty(persons.size, dtype=np.int64)
    labels[np.argsort(persons, kind="stable")] = np.arange(persons.size) % n_classes
    return labels


def holding(refiner: Refiner, demand: PersonDemand, labels: Int64) -> tuple[int, int]:
    """How many classes fail, and how many records follow the first of a person in a class."""
    order, starts = group_by_label(labels, int(labels.max()) + 1)
    measures = demand.measure(starts, refiner.persons[order], refiner.codes[:, order])
    failing = (measures.n_persons < demand.k) | measures.above.any(axis=0)
    return int(failing.sum()), int(labels.size - measures.n_persons.sum())


class TestSearch:
    @repeatable
    @given(st.integers(0, 2**32), search_budgets, st.sampled_from(["ordered", "equal"]))
    def test_classes_that_hold_go_on_to_hold(
        self, seed: int, budget: SearchBudget, metric: str
    ) -> None:
        refiner, demand = make_region(60, 40, seed, ("ordered", metric))
        labels = deal_out(refiner.persons, 6)
        assume(holding(refiner, demand, labels) == (0, 0))
        refined, _ = refiner.refine(labels, budget, keep)
        assert holding(refiner, demand, refined) == (0, 0)

    def test_some_do_and_less_is_lost(self) -> None:
        """The assumption above holds for many, and they are searched."""
        budget = SearchBudget(2, block_classes=6, n_partners=4, n_pooled=4)
        better = 0
        for seed in range(60):
            refiner, demand = make_region(60, 40, seed)
            labels = deal_out(refiner.persons, 6)
            if holding(refiner, demand, labels) == (0, 0):
                refined, rounds = refiner.refine(labels, budget, keep)
                assert holding(refiner, demand, refined) == (0, 0)
                better += rounds[-1].loss < rounds[0].loss
        assert better > 20

    def test_second_records_are_brought_apart(self) -> None:
        """At any loss: they are told as if they were above a limit."""
        refiner, demand = make_region(60, 40, 3)
        labels = np.arange(60) // 10
        assert holding(refiner, demand, labels)[1] > 4
        budget = SearchBudget(3, block_classes=6, n_partners=5)
        refined, _ = refiner.refine(labels, budget, keep)
        assert holding(refiner, demand, refined) == (0, 0)


class TestMender:
    @pytest.mark.parametrize("seed", range(count(10, 50)))
    def test_none_fails_and_no_class_is_lost(self, seed: int) -> None:
        refiner, demand = make_region(400, 250, seed)
        labels = np.random.default_rng(seed).permutation(400) // 5
        assert holding(refiner, demand, labels)[0] > 2
        mended = PersonMender(refiner, demand).mend(labels)
        assert holding(refiner, demand, mended)[0] == 0
        assert np.bincount(mended).size == 80
        assert np.bincount(mended).min() >= K

    def test_classes_that_hold_with_second_records_are_left_alone(self) -> None:
        refiner, demand = make_region(400, 250, 1)
        loose = replace(demand, limits=(Fraction(1), Fraction(1)))
        labels = np.arange(400) // 10
        assert holding(refiner, loose, labels)[0] == 0
        assert holding(refiner, loose, labels)[1] > 0
        mended = PersonMender(refiner, loose).mend(labels)
        np.testing.assert_array_equal(mended, labels)


@repeatable
@given(classed_records(n_classes=st.integers(1, 4)), st.data())
def test_second_records_are_counted(records: ClassedRecords, data: st.DataObject) -> None:
    """Of each class as it is, without one of its records, with one of another, and both.

    Of 64 bits, by which most are told apart, three persons share one, and two another.
    """
    n = records.labels.size
    drawn = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    persons = 32 * np.array(drawn, dtype=np.int64)
    by_class = group_by_label(records.labels, records.n_classes)
    classes = np.arange(records.n_classes)
    block, rows = gather_block(
        (*records.arrays()[:7], persons, records.arrays()[8]), by_class, classes
    )
    for c, members in enumerate(records.classes):
        inside = [i for i in range(n) if rows[i] in members]
        others = [i for i in range(n) if rows[i] not in members]
        for x in (-1, *inside):
            for y in (-1, *others):
                held = [persons[rows[i]] for i in inside if i != x]
                held += [persons[rows[y]]] if y >= 0 else []
                expected = len(held) - len(set(held))
                assert count_seconds_after(block, c, np.int64(x), np.int64(y)) == expected


@repeatable
@given(classed_records(n_classes=st.just(2), max_size=12), st.data())
def test_second_records_of_both_classes_are_counted_at_once(
    records: ClassedRecords, data: st.DataObject
) -> None:
    n = records.labels.size
    drawn = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    block, _ = gather_block(
        (*records.arrays()[:7], np.array(drawn, dtype=np.int64), records.arrays()[8]),
        group_by_label(records.labels, 2),
        np.arange(2),
    )
    screen = make_screen(block)
    fill_person_counts(block, 0, 1, screen)
    for m, i in enumerate(block.members[0, 0, : block.sizes[0]]):
        for o, j in enumerate(block.members[0, 1, : block.sizes[1]]):
            x, y = np.int64(i), np.int64(j)
            expected = count_seconds_after(block, 0, x, y) + count_seconds_after(block, 1, y, x)
            assert count_seconds_together(block, 0, 1, m, o, screen) == expected
