"""Representatives: each class releases one of its values, and all values keep their shares.

The mode gives majorities more records than they have: a value that few records of a class have is
never its mode. Here the classes of a region are apportioned to the values instead, so that about as
many records release a value as have it, at the least loss that is found: first no value is short by
more than a tenth, then all of them together are near enough. k and t are the classes' and stay what
they were. Where a policy does not ask for representatives, they may lose little more than modes do.

What a region has to release of a value is what its own records have of it, or what regions have
agreed on (`regional_shares`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose.data.category_trees import tree_of
from tclose.data.keys import Encoding, Keys
from tclose.kernels import apportion
from tclose.kernels.aggregate import group_by_label, sort_within
from tclose.model.array_types import Int64
from tclose.model.attributes import REPRESENTATIVE
from tclose.model.column_terms import Kind
from tclose.passes.microaggregate.losses import lose_by_aggregate
from tclose.passes.microaggregate.region_records import RegionRecords
from tclose.passes.microaggregate.release_classes import aggregate_column
from tclose.passes.plan.plan import Plan

APART = 0.0045  # total variation of the released shares from those of the records
NEAR = 10  # of the records that have a value, one in so many may be missing, or be more
MORE_LOSS = 0.03  # of the loss of all attributes, where representatives were not asked for
ANY_LOSS = 1 << 62
MOST_TRIES = 8  # of bringing the shares of an attribute nearer
NEARLY_SPENT = 0.01  # of what representatives may lose more: with so little left nothing is tried


@dataclass(frozen=True, eq=False)
class Allotment:
    """What a region has to release of each value, and what it may lose for that.

    ``wanted``: of each quasi-identifier that is released as representatives, records of each value,
    int64 (v,); ``apart``: total variation of what is released from that, which is near enough;
    ``more_loss``: in times what the region loses by modes.
    """

    wanted: tuple[Int64, ...]
    apart: float
    more_loss: float


@dataclass(frozen=True, eq=False)
class ValueChoices:
    """The values of one quasi-identifier that classes have, and what each would lose by them.

    Those of class i are the entries ``starts[i]`` to ``starts[i + 1]``: ``values`` int64 (e,),
    places among the categories, and ``costs`` int64 (e,), of which ``unit`` is the most that a
    record can lose; ``sizes`` int64 (c,): records of each class; ``counts`` int64 (v,): of each
    value.
    """

    starts: Int64
    values: Int64
    costs: Int64
    sizes: Int64
    counts: Int64
    unit: int

    @staticmethod
    def join(parts: Sequence["ValueChoices"]) -> "ValueChoices":
        """The classes of all parts, one after the other."""
        n_values = np.concatenate([np.diff(part.starts) for part in parts])
        return ValueChoices(
            np.concatenate([np.zeros(1, np.int64), np.cumsum(n_values)]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.costs for part in parts]),
            np.concatenate([part.sizes for part in parts]),
            np.sum([part.counts for part in parts], axis=0),
            parts[0].unit,
        )


def represented(plan: Plan) -> tuple[int, ...]:
    """Places of the quasi-identifiers of which classes release representatives."""
    return tuple(j for j, e in enumerate(plan.encodings) if e.column.aggregate == REPRESENTATIVE)


@dataclass(frozen=True, eq=False)
class Representatives:
    """The values of one quasi-identifier that classes release: first the cheapest of each.

    ``wanted`` int64 (v,): records to be released of each value; ``unit``: the cost of a record that
    loses all there is to lose; ``apart``: total variation that is near enough.
    """

    encoding: Encoding
    classes: apportion.Apportionment
    wanted: Int64
    unit: int
    apart: float = APART

    @property
    def loss(self) -> float:
        """The sum over the records of what they lose, as in eq. (5)."""
        return int(self.classes.costs[self.classes.choice].sum()) / self.unit

    @property
    def was_asked(self) -> bool:
        """True if the policy asks for representatives, whatever they lose."""
        return self.encoding.column.attribute.aggregate == REPRESENTATIVE

    def keys(self) -> Keys:
        """The keys that are released: (c,)."""
        values: Int64 = self.classes.values[self.classes.choice]
        return values if self.encoding.ranks is None else self.encoding.ranks[values]

    def keep_shares(self, more_loss: float) -> None:
        """Bring the shares of all values near those of the records, for so much more loss.

        Again while that changes something: what one step releases is what another can take.
        """
        classes = self.classes
        classes.left[0] = int(min(more_loss * self.unit, ANY_LOSS))
        nearly_spent = NEARLY_SPENT * classes.left[0]
        for _ in range(MOST_TRIES):
            if self._is_near():
                return
            before = classes.choice.copy()
            self._bring_nearer()
            if classes.left[0] <= nearly_spent or np.array_equal(before, classes.choice):
                return

    def _is_near(self) -> bool:
        apart = np.abs(self.classes.released - self.wanted)
        return bool(apart.sum() <= self._enough and (apart <= self.wanted // NEAR).all())

    @property
    def _enough(self) -> int:
        """Records of values that may be released more or less than they are wanted."""
        return int(2 * self.apart * self.wanted.sum())

    def _bring_nearer(self) -> None:
        classes, wanted, enough = self.classes, self.wanted, self._enough
        low, high = wanted - wanted // NEAR, wanted + wanted // NEAR
        apportion.fill_values(classes, self._order_entries(low, high), low, high, 0)
        apportion.push_chains(classes, low, 0)
        apportion.fill_values(classes, self._order_entries(wanted, wanted), wanted, wanted, enough)
        apportion.push_chains(classes, wanted, enough // 2)
        by_value, first_of = group_by_label(classes.values, wanted.size)
        apportion.fit_sizes(classes, by_value, first_of, wanted, low, high)

    def _order_entries(self, low: Int64, high: Int64) -> Int64:
        """Entries that bring values nearer, by what their classes lose more for each record."""
        classes, released = self.classes, self.classes.released
        given, taken = classes.values[classes.choice][classes.class_of], classes.values
        fills = (released < low)[taken] & (released > low)[given]
        drains = (released > high)[given] & (released < high)[taken]
        useful = np.flatnonzero(fills | drains)
        class_of = classes.class_of[useful]
        more = classes.costs[useful] - classes.costs[classes.choice][class_of]
        return useful[np.argsort(more / classes.sizes[class_of], kind="stable")]


def find_choices(encoding: Encoding, keys: Keys, by_class: tuple[Int64, Int64]) -> ValueChoices:
    """The values that each class has.

    Parameters
    ----------
    keys : of the records (n,)
    by_class : ``order`` and ``starts``; records that are in none count for nothing
    """
    order, starts = by_class
    sizes = np.diff(starts)
    first, values, n_records = _count_values(encoding.find_categories(keys), order.copy(), starts)
    costs, unit = _measure_costs(encoding, first, values, n_records, sizes)
    return ValueChoices(first, values, costs, sizes, encoding.count_categories(keys[order]), unit)


def release_cheapest(
    encoding: Encoding, classes: ValueChoices, wanted: Int64 | None = None, apart: float = APART
) -> Representatives:
    """The value of each class from which its records are least far.

    ``wanted`` int64 (v,): records to be released of each value; by default those that there are.
    """
    choice = apportion.choose_cheapest(
        classes.starts, classes.values, classes.costs, encoding.priority
    )
    n_values = classes.counts.size
    released = np.bincount(classes.values[choice], classes.sizes, n_values).astype(np.int64)
    made = apportion.Apportionment(
        classes.starts,
        np.repeat(np.arange(classes.sizes.size), np.diff(classes.starts)),
        classes.values,
        classes.costs,
        classes.sizes,
        choice,
        released,
        np.zeros(1, dtype=np.int64),
    )
    return Representatives(
        encoding, made, classes.counts if wanted is None else wanted, classes.unit, apart
    )


def aggregate_others(
    records: RegionRecords, plan: Plan, by_class: tuple[Int64, Int64]
) -> tuple[dict[int, Keys], float]:
    """The keys that classes release of the other quasi-identifiers, by place, and their loss.

    The loss is the sum over the records, as in eq. (5).
    """
    released, loss = {}, 0.0
    for j in sorted(set(range(len(plan.encodings))) - set(represented(plan))):
        encoding, keys = plan.encodings[j], records.keys[j]
        known = records.gaps.keep_known(j, by_class)
        released[j] = aggregate_column(encoding, keys, *known)
        loss += lose_by_aggregate(encoding, keys, released[j], known)
    return released, loss


def _count_values(codes: Int64, order: Int64, starts: Int64) -> tuple[Int64, Int64, Int64]:
    """The values that each class has, ascending, and how many of its records have them.

    Returns
    -------
    first : int64 (c + 1,), where the entries of each class begin
    values, counts : int64 (e,)
    """
    sort_within(order, starts, codes[np.newaxis])
    in_order = codes[order]
    is_first = np.ones(order.size, dtype=np.bool_)
    is_first[1:] = in_order[1:] != in_order[:-1]
    is_first[starts[:-1]] = True
    entries = np.flatnonzero(is_first)
    counts = np.diff(entries, append=order.size)
    return np.searchsorted(entries, starts), in_order[entries], counts


def _measure_costs(
    encoding: Encoding, starts: Int64, values: Int64, counts: Int64, sizes: Int64
) -> tuple[Int64, int]:
    """The loss of a class by each of its values, int64 (e,), and that of a record at the most."""
    if encoding.column.kind is Kind.ORDINAL:
        assert encoding.ranks is not None
        squares = apportion.count_squares(starts, values, counts, encoding.ranks)
        return np.asarray(squares), max(1, int(encoding.high - encoding.low) ** 2)
    tree = tree_of(encoding)
    if tree is None:
        return np.repeat(sizes, np.diff(starts)) - counts, 1
    apart = apportion.count_apart(starts, values, counts, tree.levels)
    return np.asarray(apart), max(1, tree.height)


def keep_shares(
    columns: Sequence[Representatives], other_loss: float, more_loss: float = MORE_LOSS
) -> None:
    """Let the values of all columns keep their shares.

    Of the loss that this may cost each column gets an equal part, and what those before it left;
    then each may spend what all have left.

    Parameters
    ----------
    other_loss : sum over the records of what the other quasi-identifiers lose, as in eq. (5)
    more_loss : what it may cost, in times what all lose before
    """
    left = more_loss * (other_loss + sum(column.loss for column in columns))
    nearly_spent = NEARLY_SPENT * left
    limited = [column for column in columns if not column.was_asked]
    for column in columns:
        if column.was_asked:
            column.keep_shares(np.inf)
    for place, column in enumerate(limited + limited):
        if place >= len(limited) and left <= nearly_spent:
            return
        before = column.loss
        column.keep_shares(left / max(1, len(limited) - place))
        left -= column.loss - before
