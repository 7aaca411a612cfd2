"""What exchanges do to a distance over a tree: sums over nodes against the definition."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.classed_records import (
    MARGIN,
    ClassedRecords,
    Ground,
    classed_records,
    draw_attribute,
    grounds,
    star_over,
)
from support.tables.random_tables import repeatable, seeds
from tclose.kernels.emd.ordered import ERROR_PER_STEP
from tclose.kernels.emd.tree import star_metric
from tclose.kernels.emd.tree_delta import (
    LESS,
    MORE,
    SAME,
    sum_nodes,
    take_records,
    tree_after_move,
    tree_after_swap,
)
from tclose.kernels.refinement.block import Block
from tclose.model.distribution import make_distribution
from tclose.passes.plan.search_budget import MAX_SEARCHED
from tclose.privacy.t_closeness import stack_trees

of_trees = classed_records(n_classes=st.integers(2, 3), attributes=grounds)


def err_at_most(block: Block) -> Fraction:
    """What a sum over so many nodes is off by."""
    return Fraction(ERROR_PER_STEP) * (block.trees.weights.size + 8)


def after_swap(block: Block, u: int, c: int, x: int, y: int) -> Fraction:
    return Fraction(
        tree_after_swap(block.trees, block.below, block.tree_sums, u, c, block.sizes[c], x, y)
    )


def after_move(block: Block, u: int, c: int, x: int, sign: int) -> Fraction:
    return Fraction(
        tree_after_move(block.trees, block.below, block.tree_sums, u, c, block.sizes[c], x, sign)
    )


class TestState:
    @repeatable
    @given(of_trees)
    def test_sums_are_the_distance(self, records: ClassedRecords) -> None:
        block, _ = records.gather()
        for c, members in enumerate(records.classes):
            for u, a in enumerate(records.nominal_ones):
                found = Fraction(block.tree_sums[c, u, SAME])
                assert abs(found - records.emd(a, members)) <= err_at_most(block)

    @repeatable
    @given(of_trees)
    def test_sums_at_another_size_are_over_the_same_counts(self, records: ClassedRecords) -> None:
        """Shares of one record less or more, before any record has gone or come."""
        block, _ = records.gather()
        trees = block.trees
        for c, size in enumerate(block.sizes.tolist()):
            for u in range(trees.limits.size):
                nodes = slice(trees.ends[u], trees.ends[u + 1])
                for at, n in ((LESS, size - 1), (MORE, size + 1)):
                    shares = block.below[c, nodes] / n if n else np.zeros(0)
                    work = trees.weights[nodes] * np.abs(shares - trees.shares[nodes]) if n else []
                    absent = trees.absent[u] if n or at == LESS else 0.0
                    expected = absent + sum(work)
                    assert block.tree_sums[c, u, at] == pytest.approx(expected, abs=1e-13)

    @repeatable
    @given(of_trees)
    def test_counts_are_those_below_each_node(self, records: ClassedRecords) -> None:
        """Of the nodes that a record of the block is below; the root is not among them."""
        block, _ = records.gather()
        for c, members in enumerate(records.classes):
            expected = []
            for a in records.nominal_ones:
                metric = records.tables[a].metric
                root = metric.below.size - 1
                there = np.unique(metric.paths[records.codes[a]])
                paths = metric.paths[records.codes[a][members]]
                kept = [node for node in there.tolist() if 0 <= node < root]
                expected += [int((paths == node).sum()) for node in kept]
            assert block.below[c].tolist() == expected


class TestExchanges:
    @repeatable
    @given(of_trees)
    def test_are_at_the_exact_distance(self, records: ClassedRecords) -> None:
        """Every record that a class has against every one that it has not."""
        block, rows = records.gather()
        error = err_at_most(block)
        for c in range(records.n_classes):
            inside = np.flatnonzero(records.labels[rows] == c).tolist()
            outside = np.flatnonzero(records.labels[rows] != c).tolist()
            for u, a in enumerate(records.nominal_ones):
                for x in inside:
                    left = [rows[i] for i in inside if i != x]
                    if left:
                        found = after_move(block, u, c, x, -1)
                        assert abs(found - records.emd(a, left)) <= error
                    for y in outside[:6]:
                        swapped = records.emd(a, [*left, rows[y]])
                        assert abs(after_swap(block, u, c, x, y) - swapped) <= error
                for y in outside:
                    joined = records.emd(a, [*rows[inside], rows[y]])
                    assert abs(after_move(block, u, c, y, 1) - joined) <= error

    @repeatable
    @given(of_trees)
    def test_of_equal_values_change_nothing(self, records: ClassedRecords) -> None:
        block, rows = records.gather()
        for u, a in enumerate(records.nominal_ones):
            codes = records.codes[a][rows]
            for x in np.flatnonzero(records.labels[rows] == 0).tolist():
                for y in np.flatnonzero(codes == codes[x]).tolist():
                    same = Fraction(block.tree_sums[0, u, SAME])
                    assert after_swap(block, u, 0, x, y) == same


class TestRecords:
    @repeatable
    @given(of_trees, st.data())
    def test_some_of_them(self, records: ClassedRecords, data: st.DataObject) -> None:
        trees = records.arrays()[6]
        rows = data.draw(st.lists(st.integers(0, records.n_records - 1), max_size=9))
        taken = take_records(trees, np.array(rows, dtype=np.int64))
        wanted = trees.nodes[np.array(rows, dtype=np.int64)]
        kept = np.unique(wanted[wanted >= 0])
        assert np.where(taken.nodes >= 0, kept[taken.nodes] if kept.size else -1, -1).tolist() == (
            wanted.tolist()
        )
        for field in ("columns", "limits"):
            assert getattr(taken, field).tolist() == getattr(trees, field).tolist()
        for field in ("weights", "shares"):
            assert getattr(taken, field).tolist() == getattr(trees, field)[kept].tolist()
        for u, (first, last) in enumerate(pairwise(trees.ends.tolist())):
            inside = kept[(kept >= first) & (kept < last)]
            assert taken.ends[u + 1] - taken.ends[u] == inside.size
            left = np.setdiff1d(np.arange(first, last), inside)
            work = float(np.sum(trees.weights[left] * trees.shares[left]))
            assert taken.absent[u] == pytest.approx(work, abs=1e-13)

    def test_room_grows_with_the_records_not_with_the_values(self) -> None:
        """Three records of a table with 100,000 values."""
        star, codes = star_metric(np.ones(100_000, np.int64)), np.array([7, 99_999, 7])
        table = replace(make_distribution(np.arange(100_000), np.ones(100_000, int)), metric=star)
        taken = take_records(stack_trees([(codes, table, 1.0)], 3), np.arange(3))
        assert taken.weights.size == 2
        assert taken.nodes.tolist() == [[0], [1], [0]]
        assert taken.absent[0] == pytest.approx(0.5 * (1 - 2 / 100_000), abs=1e-9)


class TestManyNodes:
    """Refinement lowers its limits by a margin: no running sum may be off by as much."""

    @pytest.mark.parametrize("size", [2, MAX_SEARCHED])
    def test_sums_are_off_by_less_than_the_margin(self, size: int) -> None:
        given = star_over(3_000)
        table, codes, ground = draw_attribute(np.random.default_rng(5), given, 20_000)
        trees = stack_trees([(codes, table, 1.0)], codes.size)
        counts = np.zeros(trees.weights.size, dtype=np.int32)
        for node in trees.nodes[:size].ravel():
            counts[node] += 1
        sums = np.zeros((1, 3))
        sum_nodes(trees, counts, size, sums)
        expected = ground.emd(codes[:size].tolist(), table)
        assert abs(Fraction(sums[0, SAME]) - expected) <= Fraction(MARGIN)


@repeatable
@given(seeds, st.lists(grounds, max_size=3))
def test_examples_are_not_all_trivial(seed: int, drawn: list[Ground]) -> None:
    """Codes are places among the leaves that are there. A guard of the strategy."""
    for one in drawn:
        rng = np.random.default_rng(seed)
        table, codes, ground = draw_attribute(rng, one, 30)
        assert ground is not None
        assert set(ground.leaves) <= set(one.leaves)
        assert sorted(set(codes.tolist())) == list(range(len(ground.leaves)))
        assert table.counts.tolist() == np.bincount(codes).tolist()
