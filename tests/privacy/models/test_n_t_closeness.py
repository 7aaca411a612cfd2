"""(n, t)-closeness and the tree of supersets: definitions, the paper's tables, what unions keep."""

from fractions import Fraction
from itertools import combinations
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.naive import naive_models
from support.tables.model_classes import SALARIES_4, SALARIES_5, Classes, classes_of, classified
from support.tables.random_tables import repeatable, seeds
from tclose.errors import DataError, PolicyError
from tclose.kernels.emd.tree import star_metric
from tclose.model.array_types import Int64
from tclose.privacy.class_counts import ClassMeasures
from tclose.privacy.models.n_t_closeness import ClassTree, check_supersets, grow_class_tree

TINY = Fraction(1, 10**18)


def tree_of(order: list[int], *bounds: tuple[int, int]) -> ClassTree:
    return ClassTree(np.array(order), np.array(bounds, dtype=np.int64).reshape(-1, 2).T)


def check(classes: Classes, tree: ClassTree, least: int, limit: Fraction) -> ClassMeasures:
    return check_supersets(classes.starts, classes.codes, classes.table, tree, least, limit)


def sets_of(tree: ClassTree) -> list[set[int]]:
    return [set(tree.order[a:b].tolist()) for a, b in tree.bounds.T]


@st.composite
def with_trees(draw: st.DrawFn) -> tuple[Classes, ClassTree]:
    """A table and supersets of its classes, nested or not."""
    classes = draw(classified())
    n_classes = classes.starts.size - 1
    order = draw(st.permutations(range(n_classes)))
    place = st.integers(0, n_classes)
    pairs = draw(st.lists(st.tuples(place, place).map(sorted), max_size=5))
    return classes, tree_of(order, *[(a, b) for a, b in pairs if a < b])


class TestPaper:
    def test_with_n_the_whole_table_it_is_t_closeness(self) -> None:
        """0.375 and 0.167 in Table 4; Table 5 has 0.167-closeness: 1/6.

        Li et al. 2007, section 5.3.
        """
        found = check(SALARIES_4, tree_of([0, 1, 2]), 9, Fraction(1, 6))
        assert found.values[:2].tolist() == pytest.approx([3 / 8, 1 / 6])
        assert found.meets.tolist() == [False, True, False]
        assert check(SALARIES_5, tree_of([0, 1, 2]), 9, Fraction(1, 6)).n_failing == 0
        assert check(SALARIES_5, tree_of([0, 1, 2]), 9, Fraction(1, 6) - TINY).n_failing == 2

    def test_a_smaller_superset_may_be_closer(self) -> None:
        """The low salaries 3, 4, 5 beside 6, 8, 11: 13/48 to these six, 3/8 to all."""
        tree = tree_of([0, 1, 2], (0, 2))
        expected = Fraction(1 + 2 + 3 + 2 + 2 + 1 + 1 + 1, 6 * 8)  # up to 3 .. 10, in sixths
        assert expected == naive_models.superset_distance(SALARIES_4.members, 0, [{0, 1}], 6)
        assert check(SALARIES_4, tree, 6, expected).meets.tolist() == [True, True, True]
        assert not check(SALARIES_4, tree, 6, expected - TINY).meets[0]
        assert not check(SALARIES_4, tree, 7, expected).meets[0]

    def test_steps_between_values_are_those_of_the_table(self) -> None:
        """The low salaries 3, 4, 5 beside 7, 9, 10: of nine values, though none of these has 11."""
        tree = tree_of([0, 2, 1], (0, 2))
        expected = Fraction(1 + 2 + 3 + 3 + 2 + 2 + 1, 6 * 8)  # up to 3 .. 9, in sixths
        found = check(SALARIES_4, tree, 6, expected)
        assert found.values[0] == pytest.approx(float(expected))
        assert found.meets[0]
        assert not check(SALARIES_4, tree, 6, expected - TINY).meets[0]

    def test_equal_distance_is_to_the_superset_as_well(self) -> None:
        """Three salaries of nine beside three others: half are theirs, of all nine a third."""
        tree, metric = tree_of([0, 1, 2], (0, 2)), star_metric(SALARIES_4.table)
        of_table = SALARIES_4.starts, SALARIES_4.codes, SALARIES_4.table, tree, 6
        found = check_supersets(*of_table, Fraction(1, 2), metric)
        assert found.values.tolist() == pytest.approx([1 / 2, 1 / 2, 2 / 3])
        assert found.meets.tolist() == [True, True, False]
        assert not check_supersets(*of_table, Fraction(1, 2) - TINY, metric).meets.any()


class TestDefinition:
    @repeatable
    @given(with_trees(), st.data())
    def test_is_decided_as_in_exact_arithmetic(
        self, case: tuple[Classes, ClassTree], data: st.DataObject
    ) -> None:
        classes, tree = case
        sizes = [sum(len(classes.members[j]) for j in of_set) for of_set in sets_of(tree)]
        least = data.draw(st.sampled_from([*sizes, 1, classes.codes.size + 1]))
        exact = [
            naive_models.superset_distance(classes.members, i, sets_of(tree), least)
            for i in range(len(classes.members))
        ]
        finite = [d for d in exact if d < inf] or [Fraction(1, 3)]
        difference = data.draw(st.sampled_from([-TINY, Fraction(0), TINY]))
        limit: Any = data.draw(st.sampled_from(finite)) + difference
        found = check(classes, tree, least, max(limit, Fraction(0)))
        assert found.meets.tolist() == [d <= max(limit, 0) for d in exact]
        assert found.values.tolist() == pytest.approx([float(d) for d in exact], abs=1e-13)

    @repeatable
    @given(classified(), st.fractions(0, 1))
    def test_of_the_whole_table_is_that_of_t_closeness(
        self, classes: Classes, limit: Fraction
    ) -> None:
        table = classes.codes.tolist()
        n_classes = len(classes.members)
        found = check(classes, tree_of(list(range(n_classes))), len(table), limit)
        expected = [naive.ordered_emd(members, table) <= limit for members in classes.members]
        assert found.meets.tolist() == expected

    @repeatable
    @given(with_trees(), st.integers(1, 40))
    def test_a_class_of_n_records_is_close_at_zero(
        self, case: tuple[Classes, ClassTree], least: int
    ) -> None:
        classes, tree = case
        found = check(classes, tree, least, Fraction(0))
        assert found.meets[np.diff(classes.starts) >= least].all()

    def test_more_records_than_the_table_has_are_never_found(self) -> None:
        found = check(SALARIES_4, tree_of([0, 1, 2]), 10, Fraction(1))
        assert found.values.tolist() == [inf, inf, inf]
        assert found.n_failing == 3

    def test_an_empty_class_is_close_to_nothing(self) -> None:
        starts, codes = np.array([0, 0, 2]), np.array([0, 1])
        found = check_supersets(starts, codes, np.array([1, 1]), tree_of([0, 1]), 1, Fraction(1))
        assert found.values.tolist() == [inf, 0]
        assert found.meets.tolist() == [False, True]


class TestUnions:
    @repeatable
    @given(classified(), st.data())
    def test_of_classes_close_to_the_same_superset_are_close(
        self, classes: Classes, data: st.DataObject
    ) -> None:
        members = classes.members
        assume(len(members) > 1)
        i = data.draw(st.integers(0, len(members) - 2))
        first, last = data.draw(st.integers(0, i)), data.draw(st.integers(i + 2, len(members)))
        n_records = int(classes.starts[last] - classes.starts[first])
        limit = max(_distance(members, [j], range(first, last)) for j in (i, i + 1))
        tree = tree_of(list(range(len(members) - 1)), (first, last - 1))
        assert check(classes.merged(i), tree, n_records, limit).meets[i]

    def test_of_classes_close_to_supersets_of_their_own_may_be_far(self) -> None:
        """So (n, t)-closeness is not monotone: a merge can undo it."""
        low, high = [0], [1]
        classes = classes_of(low * 9, low, high * 4, high * 6)
        tree = tree_of([0, 1, 2, 3], (0, 2), (2, 4))
        assert check(classes, tree, 10, Fraction(1, 10)).n_failing == 0
        merged = classes.merged(1)
        after = check(merged, tree_of([0, 1, 2]), 10, Fraction(1, 10))
        assert after.meets.tolist() == [False, False, False]
        assert after.values[1] == pytest.approx(0.3)


def _distance(members: list[list[int]], of: list[int], superset: range) -> Fraction:
    """Distance of the union of some classes to a superset of them."""
    union = [value for i in of for value in members[i]]
    other = [value for i in superset for value in members[i]]
    place = {v: i for i, v in enumerate(sorted({v for m in members for v in m}))}
    return naive_models.emd_over_places(union, other, place)


@st.composite
def centred(draw: st.DrawFn) -> tuple[np.ndarray, Int64, int]:
    """Centres with ties of some classes, their sizes, and the least records of a superset."""
    rng = np.random.default_rng(draw(seeds))
    n_classes, n_axes = draw(st.integers(1, 30)), draw(st.integers(1, 3))
    centres = rng.integers(0, draw(st.integers(1, 20)), (n_axes, n_classes)) / 4
    return centres, rng.integers(1, 6, n_classes), draw(st.integers(1, 30))


class TestTree:
    @repeatable
    @given(centred())
    def test_supersets_nest_have_n_records_and_are_boxes(
        self, case: tuple[np.ndarray, Int64, int]
    ) -> None:
        centres, sizes, least = case
        tree = grow_class_tree(centres, sizes, least)
        supersets = sets_of(tree)
        assert sorted(tree.order.tolist()) == list(range(sizes.size))
        assert set(range(sizes.size)) in supersets
        for a, b in combinations(supersets, 2):
            assert a.issubset(b) or b.issubset(a) or a.isdisjoint(b)
        for superset in supersets:
            members = sorted(superset)
            assert sizes[members].sum() >= least or len(members) == sizes.size
            low, high = centres[:, members].min(axis=1), centres[:, members].max(axis=1)
            inside = (low <= centres.T).all(axis=1) & (high >= centres.T).all(axis=1)
            assert np.flatnonzero(inside).tolist() == members

    @repeatable
    @given(centred())
    def test_stops_only_where_no_median_leaves_both_sides_enough(
        self, case: tuple[np.ndarray, Int64, int]
    ) -> None:
        centres, sizes, least = case
        supersets = sets_of(grow_class_tree(centres, sizes, least))
        leaves = [s for s in supersets if not any(other < s for other in supersets)]
        for leaf in leaves:
            members = sorted(leaf)
            for keys in centres[:, members]:
                middle = sorted(keys)[(keys.size - 1) // 2]
                left = keys <= middle if middle < keys.max() else keys < middle
                of_left = int(sizes[members][left].sum())
                assert min(of_left, int(sizes[members].sum()) - of_left) < least

    def test_halves_eight_classes_three_times(self) -> None:
        tree = grow_class_tree(np.arange(8.0)[np.newaxis, ::-1], np.full(8, 5), 5)
        assert sorted((b - a) for a, b in tree.bounds.T) == [1] * 8 + [2] * 4 + [4] * 2 + [8]
        assert tree.order.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]

    def test_cuts_the_widest_axis_first_and_another_where_that_one_cannot(self) -> None:
        wide = np.array([[0, 0, 0, 9.0], [0, 1, 2, 3]])
        assert {0, 1} in sets_of(grow_class_tree(wide, np.ones(4, np.int64), 2))
        assert {3} in sets_of(grow_class_tree(wide, np.ones(4, np.int64), 1))

    def test_makes_classes_close_that_the_table_is_far_from(self) -> None:
        """A table of two regions, each with values of its own: far from the whole, close within."""
        classes = classes_of(*[[0, 1]] * 5, *[[8, 9]] * 5)
        centres = np.array([[0, 1, 2, 3, 4, 100, 101, 102, 103, 104.0]])
        tree = grow_class_tree(centres, np.full(10, 2), 10)
        assert check(classes, tree, 10, Fraction(0)).n_failing == 0
        assert check(classes, tree, 11, Fraction(1, 10)).n_failing == 10


class TestRefusals:
    def test_a_part_of_the_table(self) -> None:
        with pytest.raises(DataError, match="needs every class of the table"):
            check_supersets(
                np.array([0, 2]), np.array([0, 1]), np.array([1, 2]), tree_of([0]), 1, Fraction(1)
            )

    @pytest.mark.parametrize(
        ("least", "limit", "message"),
        [(0, Fraction(1), "n of .* at least 1, not 0"), (1, Fraction(-1), "at least 0, not -1")],
    )
    def test_limits_without_meaning(self, least: int, limit: Fraction, message: str) -> None:
        with pytest.raises(PolicyError, match=message):
            check(SALARIES_4, tree_of([0, 1, 2]), least, limit)
