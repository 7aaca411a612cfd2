"""The screen has what each exchange saves, as near as it says."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.naive.naive_refine import exchanged, worth
from support.tables.classed_records import ClassedRecords, classed_records
from support.tables.random_tables import repeatable
from tclose.kernels.refinement.block import Block
from tclose.kernels.refinement.screen import (
    Screen,
    bound_positions,
    bound_shifts,
    find_insertion_ranks,
    is_shifted_beyond,
    make_screen,
    screen_exchanges,
    screen_records,
)
from tclose.kernels.refinement.search import LEAST_GAIN, improve_pair

pairs = classed_records(n_classes=st.just(2), max_size=20)


def screened(block: Block) -> tuple[Screen, float]:
    screen = make_screen(block)
    return screen, screen_records(block.lanes, block.counts, block.sizes, 0, 1, screen)


@repeatable
@given(pairs)
def test_gains_are_those_of_the_loss(records: ClassedRecords) -> None:
    block, rows = records.gather()
    screen, error = screened(block)
    both = records.classes[0], records.classes[1]
    screen_exchanges(block.lanes, 0, 1, block.sizes, (0, block.sizes[0]), screen)
    for m in range(block.sizes[0]):
        for n in range(block.sizes[1]):
            x, y = rows[block.members[0, 0, m]], rows[block.members[0, 1, n]]
            saved, _, _ = worth(records, *both, ([x], [y]), 0.0)
            assert abs(float(saved) - screen.gains[m, n]) <= error


@repeatable
@given(pairs)
def test_moves_are_those_of_the_loss(records: ClassedRecords) -> None:
    block, rows = records.gather()
    screen, error = screened(block)
    both = records.classes[0], records.classes[1]
    for side in (0, 1):
        if block.sizes[side] == 1:
            continue
        for m in range(block.sizes[side]):
            x = [rows[block.members[0, side, m]]]
            move = ([], x) if side else (x, [])
            saved, _, _ = worth(records, *both, move, 0.0)
            assert abs(float(saved) - screen.moves[side, m]) <= error


@repeatable
@given(pairs)
def test_insertion_ranks_count_what_precedes(records: ClassedRecords) -> None:
    block, _ = records.gather()
    insertion_ranks = make_screen(block).insertion_ranks
    find_insertion_ranks(block, 0, 1, insertion_ranks)
    for side, i in product((0, 1), range(block.limits.size)):
        z = block.record_terms[i, :, 0]
        others = z[block.members[i, 1 - side, : block.sizes[1 - side]]]
        for m, record in enumerate(block.members[0, side, : block.sizes[side]]):
            assert insertion_ranks[side, i, m] == (others <= z[record]).sum()


def mean_is_beyond(records: ClassedRecords, classes: list[list[int]]) -> bool | None:
    """Whether a class's mean position is farther from the table's than a limit; None: at it."""
    farther = [-1.0]
    for a in records.ordered:
        counts = records.tables[a].counts
        scale = max(counts.size - 1, 1)
        of_table = np.average(np.arange(counts.size), weights=counts) / scale
        for rows in classes:
            shift = records.codes[a][rows].mean() / scale - of_table
            farther.append(abs(shift) - records.limits[a])
    return None if abs(max(farther)) < 1e-8 else max(farther) > 0


@repeatable
@given(pairs)
def test_exchanges_beyond_the_bounds_move_a_mean_beyond_a_limit(records: ClassedRecords) -> None:
    block, rows = records.gather()
    shifts = make_screen(block).bounds
    bound_shifts(block, 0, 1, shifts)
    for m, n in product(range(block.sizes[0]), range(block.sizes[1])):
        x, y = rows[block.members[0, 0, m]], rows[block.members[0, 1, n]]
        after = exchanged(records.classes[0], records.classes[1], ([x], [y]))
        is_beyond = is_shifted_beyond(block.lanes.positions, shifts, 0, 1, m, n)
        assert mean_is_beyond(records, after) in (is_beyond, None)


@repeatable
@given(pairs)
def test_moves_beyond_the_bounds_move_a_mean_beyond_a_limit(records: ClassedRecords) -> None:
    block, rows = records.gather()
    allowed = make_screen(block).bounds
    bound_positions(block, 0, 1, allowed)
    for m in range(block.sizes[0] if block.sizes[0] > 1 else 0):
        position = block.lanes.positions[0, :, m]
        after = exchanged(
            records.classes[0], records.classes[1], ([rows[block.members[0, 0, m]]], [])
        )
        is_beyond = bool(((position < allowed[:, 0]) | (position > allowed[:, 1])).any())
        assert mean_is_beyond(records, after) in (is_beyond, None)


def test_numbers_beyond_single_precision_are_exchanged_all_the_same() -> None:
    records = ClassedRecords(
        np.array([[0.0, 1e25, 1e25, 0.0]]), np.empty((0, 4), np.int32), 1,
        np.empty((0, 4), np.int64), (), (), np.array([0, 0, 1, 1]), 2,
    )  # fmt: skip
    block, _ = records.gather()
    assert improve_pair(block, 0, 1, 2, make_screen(block), LEAST_GAIN)
    assert block.totals.ravel().tolist() in ([0.0, 2e25], [2e25, 0.0])
