"""Assignments against scipy's, re-assignment against all permutations."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from support.naive import naive_refine
from support.tables.classed_records import ClassedRecords, check_state, classed_records, classes_of
from support.tables.random_tables import repeatable, seeds
from tclose.kernels.refinement.assignment import reassign, solve_assignment
from tclose.kernels.refinement.search import LEAST_GAIN

shares = st.integers(0, 15).map(lambda sixteenths: sixteenths / 16)


@st.composite
def cost_matrices(draw: st.DrawFn) -> np.ndarray:
    """Square, of many ties or none, negative too; some infinite, but never on the diagonal."""
    n = draw(st.integers(1, 24))
    rng = np.random.default_rng(draw(seeds))
    if draw(st.booleans()):
        costs = rng.integers(-3, 4, (n, n)).astype(np.float64)
    else:
        costs = rng.normal(size=(n, n)) * 10.0 ** draw(st.integers(-6, 6))
    forbidden = rng.random((n, n)) < draw(st.sampled_from([0.0, 0.3, 0.9, 1.0]))
    np.fill_diagonal(forbidden, False)
    return np.where(forbidden, np.inf, costs)


def solve(costs: np.ndarray) -> np.ndarray:
    """Of all columns for each row."""
    n = costs.shape[0]
    return solve_few(np.tile(np.arange(n), (n, 1)), costs)


def solve_few(columns: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Of some columns for each row, those of finite costs put first."""
    first = np.argsort(np.isinf(costs), axis=1, kind="stable")
    taken: np.ndarray = solve_assignment(
        np.take_along_axis(columns, first, axis=1), np.take_along_axis(costs, first, axis=1)
    )
    return taken


class TestSolution:
    @repeatable
    @given(cost_matrices())
    def test_costs_what_scipys_does(self, costs: np.ndarray) -> None:
        taken = solve(costs)
        n = costs.shape[0]
        assert sorted(taken.tolist()) == list(range(n))
        least = costs[linear_sum_assignment(costs)].sum()
        scale = np.abs(costs[np.isfinite(costs)]).max()
        assert costs[np.arange(n), taken].sum() == pytest.approx(
            least, rel=1e-12, abs=1e-13 * n * scale
        )

    @pytest.mark.parametrize("n", [100, 257])
    def test_of_large_ones(self, n: int) -> None:
        costs = np.random.default_rng(n).random((n, n))
        costs[costs > 0.9] = np.inf
        np.fill_diagonal(costs, 0.95)
        taken = solve(costs)
        assert taken.tolist() == linear_sum_assignment(costs)[1].tolist()

    def test_of_none(self) -> None:
        assert solve(np.empty((0, 0))).size == 0

    @repeatable
    @given(cost_matrices(), seeds)
    def test_of_few_columns_for_each_row(self, costs: np.ndarray, seed: int) -> None:
        """In any order, with room for more: what is not a column of a row costs no end."""
        n = costs.shape[0]
        rng = np.random.default_rng(seed)
        n_candidates = int(rng.integers(1, n + 1))
        columns = np.array([rng.permutation(n)[:n_candidates] for _ in range(n)])
        columns[np.all(columns != np.arange(n)[:, None], axis=1), 0] = np.flatnonzero(
            np.all(columns != np.arange(n)[:, None], axis=1)
        )
        of_few = np.take_along_axis(costs, columns, axis=1)
        dense = np.full((n, n), np.inf)
        np.put_along_axis(dense, columns, of_few, axis=1)
        spare = rng.integers(0, n, (n, 2))
        taken = solve_few(np.hstack([columns, spare]), np.hstack([of_few, np.full((n, 2), np.inf)]))
        assert sorted(taken.tolist()) == list(range(n))
        found = dense[np.arange(n), taken].sum()
        scale = np.abs(costs[np.isfinite(costs)]).max()
        least = dense[linear_sum_assignment(dense)].sum()
        assert found == pytest.approx(least, rel=1e-12, abs=1e-13 * n * scale)


def draw_classes(data: st.DataObject, records: ClassedRecords, max_size: int) -> np.ndarray:
    order = data.draw(st.permutations(range(records.n_classes)))
    return np.array(order[: data.draw(st.integers(1, max_size))], dtype=np.int64)


class TestReassignment:
    @repeatable
    @given(classed_records(), shares, st.data())
    def test_keeps_sizes_and_limits_and_costs_no_more(
        self, records: ClassedRecords, share: float, data: st.DataObject
    ) -> None:
        block, rows = records.gather()
        classes = draw_classes(data, records, records.n_classes)
        n_changed = reassign(block, classes, share)
        after = classes_of(block, rows)
        check_state(block, rows, records)
        assert [len(members) for members in after] == [len(c) for c in records.classes]
        n_differ = 0
        for c, (old, new) in enumerate(zip(records.classes, after, strict=True)):
            if old == new:
                continue
            n_differ += 1
            assert c in classes
            assert len(set(new) - set(old)) == 1
            assert naive_refine.excess(records, [old]) == 0
            assert naive_refine.excess(records, [new]) == 0
        assert n_changed == n_differ
        before = naive_refine.searched_loss(records, records.classes)
        assert naive_refine.searched_loss(records, after) <= before
        assert (naive_refine.searched_loss(records, after) < before) == (n_changed > 0)

    @repeatable
    @given(classed_records(n_classes=st.integers(2, 4), max_size=5), shares, st.data())
    def test_is_the_cheapest_of_all_permutations(
        self, records: ClassedRecords, share: float, data: st.DataObject
    ) -> None:
        block, rows = records.gather()
        classes = draw_classes(data, records, 4)
        ranks = [int(share * block.sizes[c]) for c in classes]
        given_rows = [
            int(rows[block.members[0, c, r]]) for c, r in zip(classes, ranks, strict=True)
        ]
        old = [records.classes[c] for c in classes]
        least = naive_refine.cheapest_deal(records, old, given_rows)
        reassign(block, classes, share)
        new = [classes_of(block, rows)[c] for c in classes]
        found = naive_refine.searched_loss(records, new)
        assert least <= found <= least + Fraction(LEAST_GAIN) + Fraction(1, 10**12)

    def test_a_ring_of_three_is_turned(self) -> None:
        """No exchange of two records gains anything, all three at once do."""
        corner = np.array([[0, 1, 0], [0, 0, 1]])  # of a triangle
        home, stray = np.repeat([0, 1, 2], 4), np.array([1, 2, 0])
        place = home.copy()
        place[[3, 7, 11]] = stray
        records = ClassedRecords(
            corner[:, place].astype(np.float64),
            np.empty((0, 12), np.int32),
            1,
            np.empty((0, 12), np.int64),
            (),
            (),
            home,
            4,
        )
        block, rows = records.gather()
        assert reassign(block, np.arange(3), 0.75) == 3
        assert classes_of(block, rows) == [[0, 1, 2, 11], [3, 4, 5, 6], [7, 8, 9, 10]]
        assert naive_refine.searched_loss(records, classes_of(block, rows)) == 0

    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_of_many_classes_it_is_nearly_that_of_all_pairs(self, seed: int) -> None:
        """Though few classes are looked at for each record at first: to a thousandth."""
        rng = np.random.default_rng(seed)
        n_classes, size = 150, 4
        values, classes = rng.random((2, n_classes * size)), np.arange(n_classes).repeat(size)
        records = ClassedRecords(
            values, np.empty((0, values.shape[1]), np.int32), 1,
            np.empty((0, values.shape[1]), np.int64), (), (), classes, size,
        )  # fmt: skip
        block, rows = records.gather()
        offered = [int(rows[block.members[0, c, 2]]) for c in range(n_classes)]
        totals = values.reshape(2, n_classes, size).sum(axis=2)
        rests = totals - values[:, offered]
        costs = -((rests[:, :, None] + values[:, None, offered]) ** 2).sum(axis=0) / size
        least = costs[linear_sum_assignment(costs)].sum() - np.trace(costs)
        before = float(naive_refine.searched_loss(records, records.classes))
        assert reassign(block, np.arange(n_classes), 0.5) > n_classes // 4
        after = float(naive_refine.searched_loss(records, classes_of(block, rows)))
        assert least - 1e-9 <= after - before <= 0.999 * least
