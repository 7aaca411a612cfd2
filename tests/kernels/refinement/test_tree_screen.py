"""What is barred of exchanges is what would bring values without an order above their limit."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.naive.naive_refine import exchanged
from support.tables.classed_records import ClassedRecords, classed_records, star_over
from support.tables.random_tables import repeatable
from tclose.kernels.refinement.block import Block
from tclose.kernels.refinement.screen import Screen, make_screen
from tclose.kernels.refinement.tree_screen import (
    ERROR_OF_CHANGES,
    bar_exchanges,
    fill_changes,
)
from tclose.model.distribution import make_distribution

pairs = classed_records(n_classes=st.just(2), max_size=20)


def barred(block: Block, first: int = 0) -> Screen:
    """The screen of both classes in which nothing else is computed, from one record on."""
    screen = make_screen(block)
    fill_changes(block, 0, 1, screen)
    bar_exchanges(block, 0, 1, (first, block.sizes[0]), screen)
    return screen


def least_excess(records: ClassedRecords, after: list[list[int]]) -> float:
    """By how much a class is above a limit of a tree, or the nearest is within it: less than 0."""
    above = [
        float(records.emd(a, rows)) - records.limits[a]
        for a in records.nominal_ones
        for rows in after
    ]
    return max(above, default=-1.0)


@repeatable
@given(pairs)
def test_exchanges_above_a_limit_are_barred_and_no_others(records: ClassedRecords) -> None:
    block, rows = records.gather()
    gains = barred(block).gains
    margin = 2 * ERROR_OF_CHANGES * max(np.diff(block.trees.columns), default=1)
    for m, n in product(range(block.sizes[0]), range(block.sizes[1])):
        x, y = rows[block.members[0, 0, m]], rows[block.members[0, 1, n]]
        before = least_excess(records, records.classes)
        after = least_excess(records, exchanged(records.classes[0], records.classes[1], ([x], [y])))
        if before > 0 or abs(after) <= margin:
            continue
        assert (gains[m, n] == -np.inf) == (after > 0)


def two_at_their_limit() -> Block:
    """Classes of the values 0, 0, 1 and 0, 1, 1 of a table that has as many of both."""
    codes, ground = np.array([0, 0, 1, 0, 1, 1]), star_over(2)
    table = ground.measure(make_distribution(np.arange(2), np.bincount(codes)))
    block, _ = ClassedRecords(
        np.zeros((1, 6)), np.empty((0, 6), np.int32), 1, codes[np.newaxis], (table,), (1 / 6,),
        np.array([0, 0, 0, 1, 1, 1]), 3, (ground,),
    ).gather()  # fmt: skip
    return block


def test_like_values_are_exchanged_at_the_limit_and_rare_ones_not_for_common_ones() -> None:
    allowed = barred(two_at_their_limit()).gains[:3, :3] == 0
    assert allowed.tolist() == [[True, True, True], [True, True, True], [False, True, True]]


def test_rows_are_those_that_are_asked_for() -> None:
    block = two_at_their_limit()
    assert (barred(block, 1).gains[:2, :3] == barred(block).gains[1:3, :3]).all()
