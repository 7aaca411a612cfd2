"""Groups of classes that a kernel searches, and what has to hold of what it leaves."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from support.naive import naive_refine
from support.tables.classed_records import MARGIN, ClassedRecords, relabel
from support.tables.random_tables import starts_of
from tclose.kernels.aggregate import group_by_label

# Takes the records as kernels do, their labels, these by class, and the groups.
Search = Callable[[tuple[Any, ...], Any, Any, Any], int]


@st.composite
def groupings(draw: st.DrawFn, n_classes: int) -> list[list[int]]:
    """Groups of classes in any order, some classes in none."""
    order = list(draw(st.permutations(range(n_classes))))
    chosen = order[: draw(st.integers(1, n_classes))]
    cut = draw(st.integers(0, len(chosen)))
    return [group for group in (chosen[:cut], chosen[cut:]) if group]


def search_groups(
    records: ClassedRecords, groups: list[list[int]], search: Search
) -> tuple[ClassedRecords, int]:
    """The records after a search of the groups, and what it returns."""
    by_class = group_by_label(records.labels, records.n_classes)
    labels = records.labels.copy()
    in_groups = np.array([c for group in groups for c in group], dtype=np.int64)
    starts = starts_of([len(group) for group in groups])
    found = search(records.arrays(), labels, by_class, (in_groups, starts))
    rows = [np.flatnonzero(labels == c).tolist() for c in range(records.n_classes)]
    return relabel(records, rows), found


def check_groups(before: ClassedRecords, after: ClassedRecords, groups: list[list[int]]) -> bool:
    """Return whether any group has changed; other classes have not, and none is below k."""
    old, new = before.classes, after.classes
    assert len(new) == len(old)
    assert min(map(len, new)) >= before.k
    in_groups = {c for group in groups for c in group}
    for c in set(range(len(old))) - in_groups:
        assert new[c] == old[c]
    have_changed = [_check_group(before, after, group) for group in groups]
    return any(have_changed)


def _check_group(before: ClassedRecords, after: ClassedRecords, group: list[int]) -> bool:
    """A group's records stay within it; what has changed lost less or is less above."""
    old = [before.classes[c] for c in group]
    new = [after.classes[c] for c in group]
    assert sorted(i for rows in old for i in rows) == sorted(i for rows in new for i in rows)
    if old == new:
        return False
    excess = [naive_refine.excess(before, classes) for classes in (old, new)]
    loss = [naive_refine.released_loss(before, classes) for classes in (old, new)]
    assert excess[1] <= excess[0] + Fraction(MARGIN)
    assert loss[1] < loss[0] or excess[1] < excess[0]
    if excess[0] == 0:
        assert excess[1] == 0
    return True
