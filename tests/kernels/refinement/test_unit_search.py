"""Search over persons with all of their rows, beside the definitions in fractions."""

from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.naive import naive_units
from support.tables.person_tables import KeptPersons, kept_persons, make_kept_persons
from support.tables.random_tables import repeatable
from tclose.kernels.aggregate import group_by_label
from tclose.kernels.refinement.unit_block import (
    SPARE_UNITS,
    gather_unit_rows,
    gather_units,
    measure_excess,
    measure_kept,
)
from tclose.kernels.refinement.unit_search import exchange_units, find_gains, search_units

MARGIN = 1e-9


def gather(kept: KeptPersons) -> tuple[Any, Any, Any]:
    """All classes as a block; the units and the tables."""
    refiner = kept.refiner()
    n_classes = int(kept.classes.max()) + 1
    by_class = group_by_label(kept.classes, n_classes)
    scaled = kept.scaled
    block = gather_units(
        refiner.units, by_class, np.arange(n_classes), scaled.weights, scaled.n_levels
    )
    return block, refiner.units, refiner.tables


def members_of(block: Any) -> list[list[int]]:
    """The persons of each class, ascending."""
    sizes = block.n_members.tolist()
    return [sorted(block.units[block.members[c, :size]].tolist()) for c, size in enumerate(sizes)]


def room_for(kept: KeptPersons, tables: Any) -> tuple[Any, ...]:
    n_rows = kept.persons.size
    return np.empty(n_rows, np.int64), np.empty((2, n_rows)), np.zeros(tables.weights.size)


@repeatable
@given(kept_persons(most=12), st.data())
def test_an_exchange_is_what_the_definitions_say(kept: KeptPersons, data: st.DataObject) -> None:
    """What it saves, and the distances afterwards: measured before it, and the same after it."""
    block, units, tables = gather(kept)
    classes = members_of(block)
    if len(classes) < 2:
        return
    k = 2
    gains = find_gains(units, block, 0, 1, k)
    able = np.argwhere(np.isfinite(gains)).tolist()
    assert [len(one) for one in classes[:2]] == [n - 1 for n in gains.shape]
    m, n = data.draw(st.sampled_from(able))
    x = int(block.members[0, m]) if m < block.n_members[0] else -1
    y = int(block.members[1, n]) if n < block.n_members[1] else -1
    whose = [int(block.units[v]) if v >= 0 else None for v in (x, y)]
    after = [set(classes[0]), set(classes[1])]
    for person, (here, there) in zip(whose, ((0, 1), (1, 0)), strict=True):
        if person is not None:
            after[here].remove(person)
            after[there].add(person)
    assert min(map(len, after)) >= min(k, *map(len, classes[:2]))
    lost = [
        sum(float(naive_units.paired_loss(kept, sorted(c))) for c in one)
        for one in (classes[:2], after)
    ]
    assert gains[m, n] == pytest.approx(lost[0] - lost[1], abs=MARGIN)
    found = [
        measure_excess(
            units, block, tables, gather_unit_rows(units, block, c), (gone, new, len(after[c])),
            room_for(kept, tables), np.inf,
        )
        for c, (gone, new) in enumerate(((x, y), (y, x)))
    ]  # fmt: skip
    expected = [float(naive_units.excess(kept, sorted(c))) for c in after]
    assert found == pytest.approx(expected, abs=MARGIN)
    exchange_units(units, block, (0, 1), m, n)
    assert members_of(block)[:2] == [sorted(c) for c in after]
    for c in range(2):
        rows = naive_units.rows_of(kept, sorted(after[c]))
        assert block.n_rows[c] == len(rows)
        own = measure_excess(
            units, block, tables, gather_unit_rows(units, block, c), (-1, -1, len(after[c])),
            room_for(kept, tables), np.inf,
        )  # fmt: skip
        assert own == pytest.approx(expected[c], abs=MARGIN)


@repeatable
@given(kept_persons())
def test_what_is_kept_is_what_is_not_lost(kept: KeptPersons) -> None:
    """Of a block's squared sizes, from its middle: all, less the loss of a release."""
    block, _, _ = gather(kept)
    lost = sum(naive_units.released_loss(kept, c) for c in members_of(block))
    numeric, n_rows = kept.scaled.numeric, kept.persons.size
    whole = float(((numeric - numeric.mean(axis=1, keepdims=True)) ** 2).sum())
    whole += float(kept.scaled.weights.sum()) * n_rows
    assert measure_kept(block) == pytest.approx(whole - float(lost), abs=1e-7)


# What the first of two classes leaves to the other is rounded, and so is the sum of both.
@repeatable
@given(kept_persons())
@example(make_kept_persons(9925, 30, 3, ["equal", "equal"], 0, 3, [Fraction(1, 5)] * 2))
def test_search_keeps_what_holds(kept: KeptPersons) -> None:
    """Persons, k and t; no class gets farther above its limits together with the others."""
    block, units, tables = gather(kept)
    before = members_of(block)
    n_classes = len(before)
    others = [[d for d in range(n_classes) if d != c] for c in range(n_classes)]
    nearest = np.array(others, dtype=np.int32).reshape(n_classes, n_classes - 1)
    search_units(units, block, tables, nearest, kept.k, 3, 1e-9)
    after = members_of(block)
    assert sorted(chain(*after)) == sorted(chain(*before))
    for old, new in zip(before, after, strict=True):
        assert len(new) >= min(kept.k, len(old))
        assert len(new) <= max(map(len, before)) + SPARE_UNITS
    excesses = [float(naive_units.excess(kept, c)) for c in after]
    assert block.excess.tolist() == pytest.approx(excesses, abs=MARGIN)
    assert sum(excesses) <= sum(float(naive_units.excess(kept, c)) for c in before) + MARGIN
    if all(naive_units.excess(kept, c) == 0 for c in before):
        lost = [sum(naive_units.paired_loss(kept, c) for c in one) for one in (before, after)]
        assert lost[1] <= lost[0]
        exact = [naive_units.distances(kept, c) for c in after]
        limits = kept.limits
        assert all(
            d <= t for one in exact for both, t in zip(one, limits, strict=True) for d in both
        )
