"""(n, t)-closeness: classes close to some larger set of records that contains them.

Li, Li and Venkatasubramanian, *Closeness: A New Privacy Measure for Data Publishing* (2010), the
later paper of the authors of Li et al. 2007. Soria-Comas et al. 2015, section 2.2, name the model
and do not define it. What is implemented: a class is (n, t)-close if some superset of it, among
those of a given tree, has at least n records and is at a distance of at most t from the class. The
class itself and the whole table are always among its supersets: a class of n records is close, and
with n the size of the table the model is t-closeness.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.errors import DataError
from tclose.kernels.emd.ordered import class_emds, exceeds
from tclose.kernels.emd.tree import tree_emds, tree_exceeds
from tclose.kernels.emd.tree_counts import count_below
from tclose.model.array_types import Float64, Int64
from tclose.model.distribution import TreeMetric
from tclose.privacy.class_counts import ClassMeasures, require_limit


@dataclass(frozen=True, eq=False)
class ClassTree:
    """Supersets of classes, each a range of one ordering of the classes.

    ``order`` int64 (c,): the classes in that order. ``bounds`` int64 (2, s): superset j is made of
    classes ``order[bounds[0, j] : bounds[1, j]]``.
    """

    order: Int64
    bounds: Int64


def grow_class_tree(centres: Float64, sizes: Int64, least: int) -> ClassTree:
    """Cells of the released quasi-identifiers, halved again and again: generalisations of classes.

    A cell is cut at the median class along its widest quasi-identifier, by value: classes that
    share a value stay together, so each superset is all records whose released values lie in a box.
    Where that leaves a side with fewer than ``least`` records the next widest is tried.

    Parameters
    ----------
    centres : float64 (d, c): released quasi-identifiers of each class on one scale, categories as
        positions in an order that says what is alike
    sizes : int64 (c,): records of each class
    least : records below which a superset is of no use
    """
    order = np.arange(sizes.size)
    bounds, cells = [], [(0, sizes.size)]
    while cells:
        start, stop = cells.pop()
        bounds.append((start, stop))
        members = order[start:stop]
        lower = _halve(centres[:, members], sizes[members], least)
        if lower is not None:
            order[start:stop] = np.concatenate([members[lower], members[~lower]])
            middle = start + int(np.count_nonzero(lower))
            cells += [(start, middle), (middle, stop)]
    return ClassTree(order, np.array(bounds, dtype=np.int64).T)


def _halve(centres: Float64, sizes: Int64, least: int) -> NDArray[np.bool_] | None:
    """Choose the classes of a cell that form its lower half; None where it cannot be cut."""
    n_records = int(sizes.sum())
    if n_records < 2 * least:
        return None
    for axis in np.argsort(-np.ptp(centres, axis=1), kind="stable"):
        keys = centres[axis]
        if keys.min() == keys.max():
            return None
        cut = np.partition(keys, (keys.size - 1) // 2)[(keys.size - 1) // 2]
        lower: NDArray[np.bool_] = keys <= cut if cut < keys.max() else keys < cut
        if least <= int(sizes[lower].sum()) <= n_records - least:
            return lower
    return None


def check_supersets(
    starts: Int64,
    codes: Int64,
    table: Int64,
    tree: ClassTree,
    least: int,
    limit: Fraction,
    metric: TreeMetric | None = None,
) -> ClassMeasures:
    """Check (n, t)-closeness, n = ``least``, t = ``limit``.

    The measure is the least distance to a superset with n records; infinite where there is none, or
    for an empty class. **Not monotone**: two classes may each be close to a superset of its own
    while their union is close to none; where both are close to the same superset, their union is
    (Li et al. 2007, section 4, Fact 2, whatever the set that is compared with). Merging all is
    always close.

    Costs O(m + n log m) for each superset and level of the tree, m the distinct values.

    Parameters
    ----------
    starts : int64 (c + 1,): where each class begins; all classes of the table
    codes : int64 (n,): positions among the distinct values of the table
    table : int64 (m,): records of each value
    metric : how far values are from each other, where that is not by their order

    Raises
    ------
    PolicyError : if n is below 1 or t below 0
    DataError : if the classes are not all of the table
    """
    require_limit("n of (n, t)-closeness", least, 1)
    require_limit("t of (n, t)-closeness", limit, 0)
    members = codes[starts[0] : starts[-1]]
    if not np.array_equal(np.bincount(members, minlength=table.size), table):
        raise DataError("(n, t)-closeness needs every class of the table: check it as a whole")
    sizes = np.diff(starts)
    closest = np.where(sizes >= least, 0.0, np.inf)
    meets = sizes >= least
    moved_starts, moved = _reorder(starts, codes, tree.order)
    for first, last in _large_supersets(tree, moved_starts, least):
        of_set = tree.order[first:last]
        emds, above = _distances(moved_starts[first : last + 1], moved, table.size, limit, metric)
        closest[of_set] = np.minimum(closest[of_set], emds)
        meets[of_set] |= ~above
    return ClassMeasures(closest, meets)


def _large_supersets(tree: ClassTree, starts: Int64, least: int) -> Iterator[tuple[int, int]]:
    """Bounds of the supersets with enough records, each once, the whole table among them."""
    table_bounds = np.array([[0], [tree.order.size]])
    bounds = np.unique(np.concatenate([tree.bounds, table_bounds], axis=1), axis=1)
    large = starts[bounds[1]] - starts[bounds[0]] >= least
    yield from zip(*bounds[:, large].tolist(), strict=True)


def _reorder(starts: Int64, codes: Int64, order: Int64) -> tuple[Int64, Int64]:
    """The classes one after the other in another order: their starts and their codes."""
    sizes = np.diff(starts)[order]
    moved = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    rows = np.arange(moved[-1]) + np.repeat(starts[:-1][order] - moved[:-1], sizes)
    return moved, codes[rows]


def _distances(
    starts: Int64, codes: Int64, n_values: int, limit: Fraction, metric: TreeMetric | None
) -> tuple[Float64, NDArray[np.bool_]]:
    """Distance of each class of a superset to all of it, and whether it is above the limit."""
    members, bounds = codes[starts[0] : starts[-1]], starts - starts[0]
    counts = np.bincount(members, minlength=n_values)
    above = np.zeros(bounds.size - 1, dtype=np.bool_)  # an empty class is: its distance is NaN
    emds: Float64
    if metric is None:
        cumulative = np.cumsum(counts)
        prefix = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(cumulative)])
        emds = class_emds(members, bounds, cumulative, prefix)
        above[exceeds(emds, limit, members, bounds, cumulative)] = True
    else:
        below = count_below(metric.paths, counts, metric.below.size)
        of_set = replace(metric, below=below)
        emds = tree_emds(members, bounds, metric.paths, metric.weights, below)
        above[tree_exceeds(emds, limit, members, bounds, of_set)] = True
    return np.where(np.isnan(emds), np.inf, emds), above
