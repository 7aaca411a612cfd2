"""Values that persist, intersected over the classes of a cell, and what subtraction leaves of them.

The persons of a cell are in one class of each release. What does not change from release to release
is, for each of them, a value that all of these classes have (Ganta, Kasiviswanathan, Smith,
*Composition attacks and auxiliary information in data privacy*, KDD 2008). Where the values of a
class are known to be those of its persons, those that only some of them can have are the others':
so leavers and newcomers are found by subtraction (Fung et al. 2008).

A value here is the combination of all attributes that persist, as a code.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.assess.over_time.cells import ABSENT, PersonCells, spread
from tclose.model.array_types import Int64


@dataclass(frozen=True, eq=False)
class Candidates:
    """Number of times that each value occurs in each class of a release.

    ``group``, ``value``, ``count`` int64 (e,): ascending by group and value, each pair once.
    """

    group: Int64
    value: Int64
    count: Int64

    @property
    def totals(self) -> Int64:
        """Records of each class."""
        weights = np.bincount(self.group, weights=self.count)
        return weights.astype(np.int64)


def count_class_values(classes: Int64, values: Int64, n_values: int) -> Candidates:
    """Count the values (n,) of rows in classes (n,)."""
    keys, counts = np.unique(classes * n_values + values, return_counts=True)
    return Candidates(keys // n_values, keys % n_values, counts)


@dataclass(frozen=True, eq=False)
class CellValues:
    """The values that the persons of each cell can have, and at most how many have each.

    ``entries``: as of classes, by cell. ``is_open`` bool (c,): cells of persons who were in no
    release yet, of whom no value is known.
    """

    entries: Candidates
    is_open: NDArray[np.bool_]


def no_values() -> CellValues:
    """Return the knowledge before any release: none, of one cell."""
    empty = np.empty(0, dtype=np.int64)
    return CellValues(Candidates(empty, empty, empty), np.array([True]))


def follow_values(
    known: CellValues,
    before: PersonCells,
    cells: PersonCells,
    published: Candidates,
    n_values: int,
) -> CellValues:
    """The values of cells after a release, from those of the cells before it.

    Parameters
    ----------
    known, before : the cells before the release, and their values
    cells : the cells after it
    published : the values in the release's classes
    """
    is_open = known.is_open[cells.parent]
    is_there = cells.last != ABSENT
    inherited = _of_groups(known.entries, cells.parent, ~is_open)
    joined = _keep_published(inherited, cells, published, n_values)
    fresh = _of_groups(published, cells.last, is_open & is_there)
    entries = _merge(joined, fresh)
    sizes, certain = cells.sizes, cells.is_certain
    entries = _cap(entries, sizes + int(cells.is_lost.sum()))
    if certain.any():
        before_sizes = np.bincount(cells.parent, weights=sizes, minlength=before.parent.size)
        entries = _subtract(
            entries, cells.parent, known.entries, before_sizes.astype(np.int64), sizes, certain,
            n_values,
        )  # fmt: skip
        in_class = np.bincount(cells.last[is_there], weights=sizes[is_there]).astype(np.int64)
        entries = _subtract(entries, cells.last, published, in_class, sizes, certain, n_values)
    return CellValues(entries, is_open & ~is_there)


def _of_groups(values: Candidates, groups: Int64, is_wanted: NDArray[np.bool_]) -> Candidates:
    """The entries of a group for each cell that is wanted: as those of the cells."""
    cells = np.flatnonzero(is_wanted)
    of_cells = groups[cells]
    starts = np.searchsorted(values.group, of_cells)
    lengths = np.searchsorted(values.group, of_cells, side="right") - starts
    places = spread(starts, lengths)
    return Candidates(np.repeat(cells, lengths), values.value[places], values.count[places])


def _keep_published(
    entries: Candidates, cells: PersonCells, published: Candidates, n_values: int
) -> Candidates:
    """Keep what the class of each cell has too, as often as both have it; all if it is absent."""
    classes = cells.last[entries.group]
    counts = _look_up(published, classes, entries.value, n_values)
    counts = np.where(classes == ABSENT, entries.count, np.minimum(entries.count, counts))
    is_kept = counts > 0
    return Candidates(entries.group[is_kept], entries.value[is_kept], counts[is_kept])


def _look_up(values: Candidates, groups: Int64, codes: Int64, n_values: int) -> Int64:
    """Return how often groups (n,) have values (n,): 0 where they have not."""
    if not values.group.size:
        return np.zeros(groups.size, dtype=np.int64)
    keys, search_keys = values.group * n_values + values.value, groups * n_values + codes
    places = np.minimum(np.searchsorted(keys, search_keys), keys.size - 1)
    counts: Int64 = np.where(keys[places] == search_keys, values.count[places], 0)
    return counts


def _merge(first: Candidates, second: Candidates) -> Candidates:
    """The entries of two sets of cells that have none in common."""
    group = np.concatenate((first.group, second.group))
    order = np.argsort(group, kind="stable")  # values ascend in each already
    value = np.concatenate((first.value, second.value))
    count = np.concatenate((first.count, second.count))
    return Candidates(group[order], value[order], count[order])


def _cap(entries: Candidates, sizes: Int64) -> Candidates:
    """No value occurs in a cell more often than the cell has persons."""
    return Candidates(entries.group, entries.value, np.minimum(entries.count, sizes[entries.group]))


def _subtract(
    entries: Candidates,
    group_of: Int64,
    totals: Candidates,
    group_sizes: Int64,
    sizes: Int64,
    certain: NDArray[np.bool_],
    n_values: int,
) -> Candidates:
    """Narrow cells down to what the others of their group cannot have.

    A value that occurs a times in a group, and at most b times in its other cells, occurs a - b
    times in a cell at least. Where these add up to the persons of the cell, they are its values.
    Only where the group's counts are known to be those of its persons, who are all certain.

    Parameters
    ----------
    entries : of cells, with the most that each value can occur
    group_of : int64 (c,): the group of each cell, negative for none
    totals : the values of the groups
    group_sizes : int64: persons of each group
    """
    is_exact = _find_exact(totals, group_sizes, group_of, certain)
    groups = group_of[entries.group]
    usable = (groups >= 0) & is_exact[np.maximum(groups, 0)]
    inside = Candidates(groups[usable], entries.value[usable], entries.count[usable])
    keys = inside.group * n_values + inside.value
    distinct, place = np.unique(keys, return_inverse=True)
    most = np.bincount(place, weights=inside.count, minlength=distinct.size).astype(np.int64)
    total = _look_up(totals, inside.group, inside.value, n_values)
    least = np.zeros(entries.group.size, dtype=np.int64)
    least[usable] = np.maximum(total - (most[place] - inside.count), 0)
    needed = np.bincount(entries.group, weights=least, minlength=sizes.size).astype(np.int64)
    is_settled = (needed == sizes)[entries.group] & usable
    count = np.where(is_settled, least, entries.count)
    is_kept = count > 0
    return Candidates(entries.group[is_kept], entries.value[is_kept], count[is_kept])


def _find_exact(
    totals: Candidates, group_sizes: Int64, group_of: Int64, certain: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return whether the values of each group are known to be those of its persons, one each."""
    n_groups = max(group_sizes.size, *(int(g.max(initial=0)) + 1 for g in (totals.group, group_of)))
    counted = np.bincount(totals.group, weights=totals.count, minlength=n_groups).astype(np.int64)
    persons = np.zeros(n_groups, dtype=np.int64)
    persons[: group_sizes.size] = group_sizes
    exact: NDArray[np.bool_] = (counted == persons) & (persons > 0)
    uncertain = group_of[~certain]
    exact[uncertain[uncertain >= 0]] = False
    return exact
