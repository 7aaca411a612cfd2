"""Apportionment: what a class releases is one of its values, and shares come near what is asked."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable
from tclose.kernels import apportion
from tclose.model.array_types import Int64

N_VALUES = 3
ANY = 1 << 62
classes = st.lists(
    st.lists(st.integers(0, N_VALUES - 1), min_size=2, max_size=4), min_size=1, max_size=5
)


def entries_of(rows: list[list[int]]) -> tuple[Int64, Int64, Int64]:
    """Starts, values and counts of classes with these values."""
    counted = [np.unique(row, return_counts=True) for row in rows]
    starts = np.cumsum([0, *(values.size for values, _ in counted)])
    values = np.concatenate([values for values, _ in counted])
    return starts, values, np.concatenate([counts for _, counts in counted])


def apportioned(rows: list[list[int]], low: Int64, left: int = ANY) -> apportion.Apportionment:
    """Classes by their modes, for kernels to change; ``left``: what that may cost."""
    starts, values, counts = entries_of(rows)
    costs = apportion.count_apart(starts, values, counts, np.arange(N_VALUES)[None, :])
    sizes = np.array([len(row) for row in rows])
    choice = apportion.choose_cheapest(starts, values, costs, np.arange(N_VALUES))
    released = np.bincount(values[choice], sizes, low.size).astype(np.int64)
    class_of = np.repeat(np.arange(sizes.size), np.diff(starts))
    return apportion.Apportionment(
        starts, class_of, values, costs, sizes, choice, released, np.array([left])
    )


def fill(made: apportion.Apportionment, low: Int64) -> None:
    more = made.costs - made.costs[made.choice][made.class_of]
    order = np.argsort(more / made.sizes[made.class_of], kind="stable")
    apportion.fill_values(made, order, low, low, 0)
    apportion.push_chains(made, low, 0)


def fit(made: apportion.Apportionment, wanted: Int64, slack: int = 0) -> None:
    """``slack``: so many records more or less the first value may have; the others are exact."""
    few = np.eye(1, wanted.size, dtype=np.int64)[0] * slack

    by_value = np.argsort(made.values, kind="stable")
    first_of = np.searchsorted(made.values[by_value], np.arange(wanted.size + 1))
    apportion.fit_sizes(made, by_value, first_of, wanted, wanted - few, wanted + few)


def check(made: apportion.Apportionment, rows: list[list[int]]) -> None:
    """Each class releases an own entry, and the released records are counted."""
    assert (made.class_of[made.choice] == np.arange(len(rows))).all()
    values = made.values[made.choice]
    assert all(value in row for value, row in zip(values, rows, strict=True))
    counted = np.bincount(values, made.sizes, N_VALUES).astype(np.int64)
    assert made.released.tolist() == counted.tolist()


def count_short(released: Int64, low: Int64) -> int:
    return int(np.maximum(0, low - released).sum())


@repeatable
@given(classes)
def test_costs_by_hand(rows: list[list[int]]) -> None:
    starts, values, counts = entries_of(rows)
    levels = np.array([[0, 1, 2], [0, 0, 1]])
    ranks = np.array([0, 3, 4])
    apart = apportion.count_apart(starts, values, counts, levels)
    squares = apportion.count_squares(starts, values, counts, ranks)
    for i, row in enumerate(rows):
        for e in range(starts[i], starts[i + 1]):
            assert apart[e] == sum((levels[:, values[e]] != levels[:, v]).sum() for v in row)
            assert squares[e] == sum((ranks[values[e]] - ranks[v]) ** 2 for v in row)


@repeatable
@given(classes)
def test_every_step_leaves_fewer_records_short(rows: list[list[int]]) -> None:
    wanted = np.bincount(np.concatenate(rows), minlength=N_VALUES)
    made = apportioned(rows, wanted)
    check(made, rows)
    by_mode = count_short(made.released, wanted)
    fill(made, wanted)
    check(made, rows)
    filled = count_short(made.released, wanted)
    assert filled <= by_mode
    fit(made, wanted)
    check(made, rows)


def test_ties_of_cost_go_to_the_commoner_value() -> None:
    starts, values, counts = entries_of([[0, 1], [1, 2]])
    costs = np.full(4, 1)
    chosen = apportion.choose_cheapest(starts, values, costs, np.array([2, 1, 0]))
    assert values[chosen].tolist() == [1, 2]
    assert counts.tolist() == [1, 1, 1, 1]


def test_a_value_gets_its_records_through_another() -> None:
    """No class of the first value has the last one, but both have the middle one."""
    rows = [[0, 0, 1]] * 3 + [[1, 1, 2]] * 1
    low = np.array([6, 3, 3])
    made = apportioned(rows, low)
    assert made.released.tolist() == [9, 3, 0]
    fill(made, low)
    assert made.released.tolist() == [6, 3, 3]


@repeatable
@given(classes, st.integers(0, 3))
def test_no_step_costs_more_than_it_may(rows: list[list[int]], left: int) -> None:
    wanted = np.bincount(np.concatenate(rows), minlength=N_VALUES)
    made = apportioned(rows, wanted, left)
    by_mode = int(made.costs[made.choice].sum())
    fill(made, wanted)
    fit(made, wanted)
    check(made, rows)
    spent = int(made.costs[made.choice].sum()) - by_mode
    assert spent <= left
    assert made.left.tolist() == [left - spent]


def test_a_step_that_costs_too_much_is_left_out() -> None:
    rows = [[0, 0, 1]] * 3
    wanted = np.array([6, 3, 0])
    assert released_for(rows, wanted, 0) == [9, 0, 0]
    assert released_for(rows, wanted, 1) == [6, 3, 0]


def released_for(rows: list[list[int]], wanted: Int64, left: int) -> list[int]:
    """Records that release each value, at so much more cost at most."""
    made = apportioned(rows, wanted, left)
    fill(made, wanted)
    return list(made.released.tolist())


def test_enough_is_enough() -> None:
    """Of three classes that could change one does, as two records too many are let be."""
    made = apportioned([[0, 0, 1]] * 6, np.array([12, 6, 0]))
    apportion.fill_values(made, np.arange(12), np.array([12, 6, 0]), np.array([12, 6, 0]), 6)
    assert made.released.tolist() == [15, 3, 0]


def test_sizes_are_exchanged() -> None:
    """Four records are wanted: a class of four rather than one of two."""
    rows = [[0, 0, 0, 1], [0, 1], [0, 0, 0, 0]]
    made = apportioned(rows, np.array([6, 4, 0]))
    made.choice[1] = 3
    made.released[:] = [8, 2, 0]
    check(made, rows)
    fit(made, np.array([6, 4, 0]), slack=4)
    check(made, rows)
    assert made.released.tolist() == [6, 4, 0]


@pytest.mark.parametrize("seed", range(8))
def test_least_loss_is_found_or_nearly(seed: int) -> None:
    """Beside all choices of eight classes of one size, whose shares are as near."""
    rng = np.random.default_rng(seed)
    rows = [sorted(rng.choice(N_VALUES, 5, p=[0.6, 0.3, 0.1]).tolist()) for _ in range(8)]
    wanted = np.bincount(np.concatenate(rows), minlength=N_VALUES)
    made = apportioned(rows, wanted)
    fill(made, wanted)
    reached = count_short(made.released, wanted)
    entries = [range(made.starts[i], made.starts[i + 1]) for i in range(8)]
    losses = [
        int(made.costs[list(choice)].sum())
        for choice in product(*entries)
        if count_short(5 * np.bincount(made.values[list(choice)], minlength=3), wanted) <= reached
    ]
    assert made.costs[made.choice].sum() <= min(losses) + 1
