"""Representatives: each class releases one of its values, and all values keep their shares.

The mode gives majorities more records than they have: a value that few records of a class have is
never its mode. Here the classes of a region are apportioned to the values instead, so that as many
records release a value as have it, up to what sizes of classes allow, at the least loss that chains
of exchanges find. k and t are the classes' and stay what they were.

What a region has to release of a value is what its own records have of it. Of a value that is rare
there it may be less than a class: so regions are taken in the order of the plan, and each gets
whole classes of it, whenever the records up to there make up for one more; the last one that has
the value gets what is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose.data.category_trees import tree_of
from tclose.data.keys import Encoding, Keys
from tclose.kernels import apportion
from tclose.model.array_types import Float64, Int64
from tclose.model.attributes import REPRESENTATIVE
from tclose.model.column_terms import Kind
from tclose.passes.plan.plan import Plan

# How far a released share may be from the true one: of values with many records, and of rare ones
# as far as all of these together do not matter.
TOLERANCE = 0.005
RARE_TOLERANCE = 0.08
RARE_SHARE = 0.002
MANY = 100  # classes of a value, which can spare two for a value that is still short


# Of each quasi-identifier that is released as representatives, records of each value.
Wanted = Sequence[Int64]


def represented(plan: Plan) -> tuple[int, ...]:
    """Places of the quasi-identifiers of which classes release representatives."""
    return tuple(j for j, e in enumerate(plan.encodings) if e.column.aggregate == REPRESENTATIVE)


def apportion_regions(counts: Sequence[Int64], sizes: Sequence[float]) -> list[Int64]:
    """Records that each region has to release of each value: int64 (v,) of each.

    Parameters
    ----------
    counts : of each region, the records of each value int64 (v,)
    sizes : of each region, the mean size of its classes
    """
    up_to = np.cumsum(np.array(counts, dtype=np.int64), axis=0)
    n_classes = np.array([count.sum() for count in counts]) / np.array(sizes)
    size = max(1.0, float(up_to[-1].sum() / n_classes.sum()))
    whole = np.rint(np.rint(up_to / size) * size).astype(np.int64)
    whole = np.maximum.accumulate(np.minimum(whole, up_to[-1]), axis=0)
    whole = np.where(up_to == up_to[-1], up_to[-1], whole)
    return list(np.diff(whole, axis=0, prepend=0))


@dataclass(frozen=True, eq=False)
class _Entries:
    """The values that each class has, as `tclose.kernels.apportion` takes them."""

    starts: Int64
    values: Int64
    counts: Int64
    sizes: Int64


def choose_representatives(
    encoding: Encoding, keys: Keys, by_class: tuple[Int64, Int64], wanted: Int64 | None = None
) -> Keys:
    """The value that each class releases, in keys: (c,).

    Parameters
    ----------
    keys : of the records (n,)
    by_class : ``order`` and ``starts``; records that are in none count for nothing
    wanted : int64 (v,), records to be released of each value; by default those that there are
    """
    if wanted is None:
        wanted = encoding.count_categories(keys[by_class[0]])
    entries = _count_entries(encoding.find_categories(keys), by_class, wanted.size)
    costs = _measure_costs(encoding, entries)
    chosen: Int64 = entries.values[_choose(entries, costs, encoding, wanted)]
    return chosen if encoding.ranks is None else encoding.ranks[chosen]


def _count_entries(codes: Int64, by_class: tuple[Int64, Int64], n_values: int) -> _Entries:
    order, starts = by_class
    sizes = np.diff(starts)
    classes = np.repeat(np.arange(sizes.size), sizes)
    pairs, counts = np.unique(classes * n_values + codes[order], return_counts=True)
    first = np.searchsorted(pairs, np.arange(sizes.size + 1) * n_values)
    return _Entries(first, pairs % n_values, counts.astype(np.int64), sizes)


def _measure_costs(encoding: Encoding, entries: _Entries) -> Int64:
    """Return the loss of a class by each of its values, in whole numbers: int64 (e,)."""
    if encoding.column.kind is Kind.ORDINAL:
        costs = apportion.count_squares(
            entries.starts, entries.values, entries.counts, encoding.ranks
        )
        return np.asarray(costs)
    tree = tree_of(encoding)
    if tree is None:
        costs = np.repeat(entries.sizes, np.diff(entries.starts)) - entries.counts
    else:
        costs = apportion.count_apart(entries.starts, entries.values, entries.counts, tree.levels)
    return np.asarray(costs)


def _choose(entries: _Entries, costs: Int64, encoding: Encoding, wanted: Int64) -> Int64:
    """The entry that each class releases: int64 (c,)."""
    choice = apportion.choose_cheapest(entries.starts, entries.values, costs, encoding.priority)
    released = np.bincount(entries.values[choice], entries.sizes, wanted.size).astype(np.int64)
    class_of = np.repeat(np.arange(entries.sizes.size), np.diff(entries.starts))
    classes = apportion.Apportionment(
        entries.starts, class_of, entries.values, costs, entries.sizes, choice, released
    )
    low, high = _bounds(wanted)
    more = (costs - costs[choice][class_of]) / entries.sizes[class_of]
    apportion.fill_values(classes, np.argsort(more, kind="stable"), low)
    apportion.push_chains(classes, low)
    mean = entries.sizes.mean()
    apportion.push_chains(classes, np.where(wanted >= MANY * mean, low - int(2 * mean), low))
    by_value = np.argsort(entries.values, kind="stable")
    first_of = np.searchsorted(entries.values[by_value], np.arange(wanted.size + 1))
    apportion.fit_sizes(classes, by_value, first_of, wanted, low, high)
    return classes.choice


def _bounds(wanted: Int64) -> tuple[Int64, Int64]:
    """Records of each value, at least and at most: int64 (v,) each."""
    present = max(1, int(np.count_nonzero(wanted)))
    share: Float64 = np.minimum(RARE_TOLERANCE * wanted, RARE_SHARE * wanted.sum() / present)
    tolerance = np.floor(np.maximum(TOLERANCE * wanted, share)).astype(np.int64)
    return wanted - tolerance, wanted + tolerance
