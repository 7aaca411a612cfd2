"""Refinement of a region: k and t hold after every round, and no round loses more."""

from dataclasses import replace
from fractions import Fraction
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.naive import naive_refine
from support.naive.naive_taxonomy import Tree
from support.tables.classed_records import (
    MARGIN,
    ClassedRecords,
    classed_records,
    draw_attribute,
    ground_over,
    relabel,
    star_over,
)
from support.tables.random_tables import distribution_of, repeatable, seeds, unweighted
from support.tables.refined_regions import (
    fewer,
    keep,
    largest_emds,
    losing_region,
    refiner_of,
    regions,
    regions_within,
    run,
    search_budgets,
)
from tclose.kernels.emd.ordered import ERROR_PER_STEP
from tclose.kernels.refinement.search import LARGEST_MENDED
from tclose.methods.clustering_problem import group_classes
from tclose.passes.microaggregate.search.cut_points import orthonormal
from tclose.passes.microaggregate.search.make_refiners import make_refiner
from tclose.passes.microaggregate.search.refine_classes import ROOM_OF_BLOCK
from tclose.passes.plan.search_budget import MAX_SEARCHED, SearchBudget
from tclose.privacy.t_closeness import class_distances


class TestRefinement:
    @fewer
    @given(regions, search_budgets)
    def test_gives_a_partition_of_classes_of_k(
        self, records: ClassedRecords, search_budget: SearchBudget
    ) -> None:
        before = records.labels.copy()
        labels, _ = refiner_of(records).refine(records.labels, search_budget, keep, 1.0)
        assert records.labels.tolist() == before.tolist()
        sizes = np.bincount(labels)
        assert labels.size == records.n_records
        assert sizes.min() >= records.k
        if not search_budget.n_pooled:
            assert sizes.size == records.n_classes

    @fewer
    @given(regions_within(), search_budgets)
    def test_classes_within_t_stay_within(
        self, records: ClassedRecords, search_budget: SearchBudget
    ) -> None:
        """By the definition, in fractions, and after every round."""
        for after in run(refiner_of(records), records, search_budget):
            for emd, limit in zip(largest_emds(after), records.max_emds, strict=True):
                assert emd <= limit

    @fewer
    @given(regions, search_budgets)
    def test_classes_at_exactly_t_stay_within(
        self, records: ClassedRecords, search_budget: SearchBudget
    ) -> None:
        limits = tuple(largest_emds(records))
        for after in run(refiner_of(records, limits), records, search_budget):
            for emd, limit in zip(largest_emds(after), limits, strict=True):
                assert emd <= limit

    @fewer
    @given(regions_within(1), search_budgets)
    def test_loses_less_from_round_to_round(
        self, records: ClassedRecords, search_budget: SearchBudget
    ) -> None:
        """If all are within the limits, which are a margin below t, or further."""
        refiner = refiner_of(records)
        _, rounds = refiner.refine(records.labels, search_budget, keep, 1.0)
        for before, after in pairwise(rounds):
            assert after.loss <= before.loss + 1e-12
        released = [
            naive_refine.released_loss(records, after.classes)
            for after in run(refiner, records, search_budget)
        ]
        assert all(b <= a for a, b in pairwise(released))

    @fewer
    @given(regions, search_budgets)
    def test_comes_no_farther_above_t(
        self, records: ClassedRecords, search_budget: SearchBudget
    ) -> None:
        """But for the room that limits leave, by which each distance counts as less or more."""
        after = run(refiner_of(records), records, search_budget)
        excess = [naive_refine.excess(records, r.classes) for r in after]
        room = records.n_classes * len(records.tables) * Fraction(MARGIN)
        assert all(b <= a + room for a, b in pairwise(excess))

    @fewer
    @given(regions, search_budgets)
    def test_measures_each_round(
        self, records: ClassedRecords, search_budget: SearchBudget
    ) -> None:
        refiner = refiner_of(records)
        labels, rounds = refiner.refine(records.labels, search_budget, keep, 1.0)
        assert 2 <= len(rounds) <= search_budget.n_rounds + 1
        ends = (records, replace(records, labels=labels))
        for measured, state in zip((rounds[0], rounds[-1]), ends, strict=True):
            assert measured == refiner.measure(state.labels)
            loss = naive_refine.released_loss(state, state.classes)
            assert measured.loss == pytest.approx(float(loss), abs=1e-11)
            largest = max(largest_emds(state), default=Fraction(0))
            assert measured.largest_emd == pytest.approx(float(largest), abs=MARGIN)

    @fewer
    @given(regions, search_budgets)
    def test_gives_the_same_again(
        self, records: ClassedRecords, search_budget: SearchBudget
    ) -> None:
        first = refiner_of(records).refine(records.labels, search_budget, keep, 1.0)
        again = refiner_of(records).refine(records.labels.copy(), search_budget, keep, 1.0)
        assert again[0].tolist() == first[0].tolist()
        assert again[1] == first[1]

    @fewer
    @given(regions, search_budgets)
    def test_longer_goes_on_where_shorter_ends(
        self, records: ClassedRecords, search_budget: SearchBudget
    ) -> None:
        refiner = refiner_of(records)
        _, rounds = refiner.refine(records.labels, search_budget, keep, 1.0)
        shorter = replace(search_budget, n_rounds=search_budget.n_rounds - 1)
        _, fewer_rounds = refiner.refine(records.labels, shorter, keep, 1.0)
        assert rounds[: len(fewer_rounds)] == fewer_rounds


def test_limits_leave_room_for_what_sums_can_err() -> None:
    """By steps: of a class's records, or of a tree's nodes where these are more."""
    for n_values in (5, 3_000):
        ground = star_over(n_values)
        table, codes, _ = draw_attribute(np.random.default_rng(3), ground, 20_000)
        ordered, places = distribution_of(codes)
        assert table.metric is not None
        refiner = make_refiner(
            unweighted(np.zeros((1, codes.size))),
            np.array([codes, places]), (table, ordered), (0.3, 0.4), 2, (1,),
        )  # fmt: skip
        margin = ERROR_PER_STEP * max(2 * MAX_SEARCHED, table.metric.below.size)
        above = margin if n_values == 5 else -margin  # distances of many values are near each other
        assert refiner.trees.limits.tolist() == [0.3 + margin]
        assert refiner.limits.tolist() == [0.4 + above]
        assert margin >= MARGIN


@repeatable
@given(seeds, st.sampled_from(["few", "rules", "distinct"]), st.booleans())
def test_limits_tell_what_is_above_t_from_what_is_at_it(
    seed: int, style: str, is_nominal: bool
) -> None:
    """Of classes that reach their limits exactly: in floats against fractions."""
    rng = np.random.default_rng(seed)
    drawn = star_over(int(rng.integers(2, 9))) if is_nominal else style
    table, codes, ground = draw_attribute(rng, drawn, int(rng.choice([10, 40, 60])))
    records = ClassedRecords(
        np.zeros((1, codes.size)), np.empty((0, codes.size), np.int32), 1, codes[np.newaxis],
        (table,), (1.0,), np.repeat(np.arange(codes.size // 5), 5), 5, (ground,),
    )  # fmt: skip
    order, starts = group_classes(records.labels)
    found = class_distances(codes[order], starts, table)
    exact = [records.emd(0, rows) for rows in records.classes]
    for t in exact:
        refiner = refiner_of(records, (t,))
        (held,) = [*refiner.trees.limits, *refiner.limits[np.isfinite(refiner.limits)]] or [np.inf]
        assert held > float(t)  # of a table this small
        assert [emd <= held for emd in found.tolist()] == [emd <= t for emd in exact]


def test_where_t_is_1_no_distance_is_held() -> None:
    table, codes, _ = draw_attribute(np.random.default_rng(3), star_over(4), 40)
    ordered, places = distribution_of(codes)
    refiner = make_refiner(
        unweighted(np.zeros((1, 40))), np.array([codes, places]), (table, ordered), (1.0, 1.0), 2,
        (1,),
    )  # fmt: skip
    assert refiner.limits.tolist() == [np.inf]
    assert refiner.trees.limits.size == refiner.trees.columns[-1] == 0


def test_the_order_of_nominal_values_forbids_nothing() -> None:
    """Two siblings stand at the ends of the order: classes of one of them are near by the tree."""
    tree: Tree = ("any", [("g", [("h", ["a", "b"])]), "c"])
    ground = replace(ground_over(tree), leaves=("a", "c", "b"))
    codes = np.array([0, 2, 1, 0, 2, 1])
    table, _ = distribution_of(codes)
    records = ClassedRecords(
        np.array([[0, 1, 0.5, 0, 1, 0.5]]), np.empty((0, 6), np.int32), 1, codes[np.newaxis],
        (ground.measure(table),), (), np.array([0, 0, 0, 1, 1, 1]), 3, (ground,),
    )  # fmt: skip
    t = Fraction(2, 10)
    assert records.emd(0, [0, 3, 2]) == Fraction(1, 9) < t
    assert naive.ordered_emd([0, 0, 1], codes.tolist()) == Fraction(1, 3) > t
    labels, rounds = refiner_of(records, (t,)).refine(records.labels, SearchBudget(1), keep)
    assert labels[0] == labels[3] != labels[1] == labels[4]
    assert [round(r.loss, 9) for r in rounds] == [1.0, round(1 / 3, 9)]


class TestGroups:
    @fewer
    @given(classed_records(n_classes=st.integers(2, 30), max_size=4), st.integers(1, 9), seeds)
    def test_are_a_partition_of_those_searched(
        self, records: ClassedRecords, block_classes: int, seed: int
    ) -> None:
        refiner = refiner_of(records)
        rng = np.random.default_rng(seed)
        n_axes = refiner.values.shape[1], refiner.levels.shape[1]
        points = (
            rng.random((records.n_classes, n_axes[0])),
            rng.integers(0, records.n_levels, (records.n_classes, n_axes[1]), dtype=np.int32),
        )
        searched = np.flatnonzero(rng.random(records.n_classes) < 0.8)
        if searched.size < 2:
            return
        classes, starts = refiner._group_classes(points, searched, block_classes, rng)
        assert sorted(classes.tolist()) == searched.tolist()
        assert starts[0] == 0
        assert starts[-1] == searched.size
        sizes = np.diff(starts)
        assert sizes.min() >= 1
        assert sizes.max() <= block_classes

    def test_of_large_classes_have_room_for_them(self) -> None:
        """Those that have none are as they were cut; the others are cut anew, near ones again."""
        rng = np.random.default_rng(5)
        sizes = np.full(1_000, 20)
        sizes[::300] = 2_000, 20, 1_500, 900
        refiner = refiner_of(losing_region())
        points = rng.random((1_000, 3)), np.empty((1_000, 0), np.int32)
        groups = refiner._group_classes(points, np.arange(1_000), 512, rng)
        classes, starts = refiner._cut_wide(points, groups, sizes, rng)
        assert sorted(classes.tolist()) == list(range(1_000))
        assert (starts[0], starts[-1]) == (0, 1_000)
        cut = np.split(classes, starts[1:-1])
        assert all(sizes[group].max() * group.size <= ROOM_OF_BLOCK for group in cut)
        assert len(cut) > groups[1].size - 1 == 2
        sizes[:] = 20
        same = refiner._cut_wide(points, groups, sizes, rng)
        assert [one.tolist() for one in same] == [one.tolist() for one in groups]

    def test_those_too_large_are_left_as_they_are(self) -> None:
        records = classes_of([MAX_SEARCHED + 1, MAX_SEARCHED, MAX_SEARCHED - 1, 1_000, 300])
        labels, _ = refiner_of(records).refine(records.labels, SearchBudget(1), keep, 1.0)
        assert np.flatnonzero(labels == 0).tolist() == records.classes[0]
        for c in range(1, 5):
            assert np.flatnonzero(labels == c).tolist() != records.classes[c]
        # Two that are too large: there is none to search.
        pair = relabel(records, [records.classes[0], list(chain(*records.classes[1:]))])
        kept, _ = refiner_of(pair).refine(pair.labels, SearchBudget(2), keep, 1.0)
        assert kept.tolist() == pair.labels.tolist()

    def test_large_ones_among_small_are_searched(self) -> None:
        records = classes_of([LARGEST_MENDED + 1, LARGEST_MENDED, 3, 5, 4])
        labels, _ = refiner_of(records).refine(records.labels, SearchBudget(1), keep, 1.0)
        for c in range(5):
            assert np.flatnonzero(labels == c).tolist() != records.classes[c]

    @repeatable
    @given(st.integers(1, 8), seeds)
    def test_axes_are_orthonormal(self, n_axes: int, seed: int) -> None:
        rows = np.random.default_rng(seed).standard_normal((n_axes, n_axes))
        made = orthonormal(rows)
        np.testing.assert_allclose(made @ made.T, np.eye(n_axes), rtol=0, atol=1e-14)
        # Row by row as Gram-Schmidt has it: numpy's decomposition, with signs that point along.
        q, r = np.linalg.qr(rows.T)
        expected = (q * np.sign(np.diag(r))).T
        np.testing.assert_allclose(made, expected, rtol=0, atol=1e-9)


def classes_of(sizes: list[int]) -> ClassedRecords:
    """Classes of so many records of two numbers, drawn, held to no t."""
    rng, n_records = np.random.default_rng(2), sum(sizes)
    return ClassedRecords(
        rng.random((2, n_records)),
        np.empty((0, n_records), np.int32),
        1,
        np.empty((0, n_records), np.int64),
        (),
        (),
        rng.permutation(np.repeat(np.arange(len(sizes)), sizes)),
        3,
    )
