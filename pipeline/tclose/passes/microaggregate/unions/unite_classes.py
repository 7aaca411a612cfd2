"""Unions of classes that persons left, so that subtraction finds none of them among too few.

Classes that persons left are united with near ones that others left, until each union lost none or
k' of every earlier release, and exchanged between unions as long as that saves something. What was
in one class of an earlier release stays in one: were a union to come apart, a third release could
tell who had left which part.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tclose.kernels.aggregate import group_by_label
from tclose.kernels.refinement.neighbours import CENTRE, represent_classes
from tclose.methods.scaling import Scaled
from tclose.model.array_types import Bools, Int64
from tclose.passes.microaggregate.search.cut_points import cut_points
from tclose.passes.microaggregate.unions.union_block import BlockSums, UnionBlock
from tclose.passes.series.departed_groups import connect_classes

JOINED_CLASSES = 8192  # of a block in which unions are made, at most
JOINED_SUMS = 2**24  # of such a block: each class has one for every number and level
BLOCK_CLASSES = 128  # of a block in which classes are exchanged
SPREAD = 0.3  # how unevenly axes are stretched along which blocks are cut
ROUNDS = 4  # of exchanges, in blocks along other axes


@dataclass(frozen=True, eq=False)
class EarlierClasses:
    """The classes of some records in the earlier releases of a window, and who left these.

    ``classes`` int64 (w, n): of each release, -1 where the person was absent; ``gone`` int64
    (w, n): persons of that class who are not here; ``k``: how many have to leave together.
    """

    classes: Int64
    gone: Int64
    k: int

    def keep_together(self, labels: Int64) -> Int64:
        """Labels (n,) without gaps of unions in which no earlier class is apart."""
        for classes in self.classes:
            there = classes >= 0
            if there.any():
                first = np.append(labels[there], labels.max())
                second = np.append(classes[there], classes.max() + 1)
                labels = connect_classes(first, second)[labels]
        renumbered: Int64 = np.unique(labels, return_inverse=True)[1].reshape(-1)
        return renumbered

    def are_short(self, lost: Int64) -> Bools:
        """Return which unions lost 1 to k' - 1 persons of some release, of int64 (w, c)."""
        return np.asarray(((lost > 0) & (lost < self.k)).any(axis=0))

    def count_gone(self, labels: Int64) -> Int64:
        """Persons who left the earlier classes of each union: int64 (w, c)."""
        lost = np.zeros((len(self.classes), int(labels.max()) + 1), dtype=np.int64)
        for of_release, classes, gone in zip(lost, self.classes, self.gone, strict=True):
            rows = np.flatnonzero(classes >= 0)
            firsts = rows[np.unique(classes[rows], return_index=True)[1]]
            np.add.at(of_release, labels[firsts], gone[firsts])
        return lost


def unite_classes(labels: Int64, scaled: Scaled, earlier: EarlierClasses) -> Int64:
    """Labels (n,) of unions that lost none or k' persons of each release, wherever that can be.

    Classes that persons left are cut into blocks of near ones, and united and exchanged within
    these; then again in blocks that are cut along other axes.
    """
    labels = earlier.keep_together(labels)
    lost = earlier.count_gone(labels)
    if not earlier.are_short(lost).any():
        return labels
    united = _Unions(labels, lost, scaled, earlier).unite()
    renumbered: Int64 = np.unique(united[labels], return_inverse=True)[1].reshape(-1)
    return renumbered


class _Unions:
    """Classes to be united, and the union of each, which bears the name of one of its classes."""

    def __init__(self, labels: Int64, lost: Int64, scaled: Scaled, earlier: EarlierClasses) -> None:
        self._earlier, self._scaled = earlier, scaled
        self._values = np.ascontiguousarray(scaled.numeric.T)
        self._levels = np.ascontiguousarray(scaled.nominal.T)
        self._lost = lost
        self._order, self._starts = group_by_label(labels, lost.shape[1])
        self._union_of = np.arange(lost.shape[1])
        self._able = np.flatnonzero(lost.sum(axis=0) > 0)

    def unite(self) -> Int64:
        """The union of each class: int64 (c,); all in one where those that lost are too few."""
        n_sums = 1 + len(self._lost) + self._values.shape[1] + int(np.sum(self._scaled.n_levels))
        joined_classes = min(JOINED_CLASSES, max(BLOCK_CLASSES, JOINED_SUMS // n_sums))
        while self._count_short():
            for classes in self._cut(joined_classes, 0):
                self._change_block(classes, UnionBlock.join_short)
            if joined_classes >= self._able.size:
                break
            joined_classes *= 2
        if self._count_short():
            return np.zeros_like(self._union_of)
        for r in range(1, ROUNDS + 1):
            for classes in self._cut(BLOCK_CLASSES, r):
                self._change_block(classes, UnionBlock.exchange)
        return self._union_of

    def _count_short(self) -> int:
        lost = np.zeros_like(self._lost)
        for of_release, of_classes in zip(lost, self._lost, strict=True):
            np.add.at(of_release, self._union_of, of_classes)
        return int(self._earlier.are_short(lost).sum())

    def _cut(self, block_classes: int, r: int) -> list[Int64]:
        """Cut the classes that persons left into blocks of whole unions: int64 each."""
        unions, places = np.unique(self._union_of[self._able], return_inverse=True)
        if self._able.size <= block_classes:
            return [self._able]
        order, starts = group_by_label(places.reshape(-1), unions.size)
        of_unions = [self._find_records(self._able[one]) for one in np.split(order, starts[1:-1])]
        ends = np.cumsum([0, *(records.size for records in of_unions)])
        rng = np.random.Generator(np.random.Philox(np.random.SeedSequence((r,))))
        scaled = self._scaled
        points = represent_classes(
            self._values, self._levels, scaled.weights, scaled.n_levels,
            np.concatenate(of_unions), ends, CENTRE, np.empty(0),
        )  # fmt: skip
        n_together = max(2, block_classes * unions.size // self._able.size)
        cut, block_starts = cut_points(
            points, scaled.weights, scaled.n_levels, n_together, rng, SPREAD
        )
        return [
            self._able[np.sort(np.concatenate([order[starts[u] : starts[u + 1]] for u in block]))]
            for block in np.split(cut, block_starts[1:-1])
        ]

    def _find_records(self, classes: Int64) -> Int64:
        """The records of some classes, class by class."""
        parts = [self._order[self._starts[c] : self._starts[c + 1]] for c in classes.tolist()]
        return np.concatenate(parts)

    def _change_block(self, classes: Int64, change: Callable[[UnionBlock], None]) -> None:
        """Unite the classes of a block, or exchange them."""
        labels = np.unique(self._union_of[classes], return_inverse=True)[1]
        block = UnionBlock(self._sum_up(classes), labels.reshape(-1))
        change(block)
        self._union_of[classes] = classes[_first_members(block.labels)]

    def _sum_up(self, classes: Int64) -> BlockSums:
        """The sums of the classes of a block, numbers from the block's middle."""
        sizes = self._starts[classes + 1] - self._starts[classes]
        records = self._find_records(classes)
        of_records = np.repeat(np.arange(classes.size), sizes)
        columns = [sizes.astype(np.float64), *self._lost[:, classes].astype(np.float64)]
        values = self._values[records]
        middle = values.mean(axis=0)
        columns += [np.bincount(of_records, c, classes.size) for c in (values - middle).T]
        firsts = []
        for codes in self._levels[records].T:
            firsts.append(len(columns))
            kinds, places = np.unique(codes, return_inverse=True)
            cells = of_records * kinds.size + places.reshape(-1)
            counts = np.bincount(cells, minlength=classes.size * kinds.size)
            columns.extend(counts.reshape(-1, kinds.size).T.astype(np.float64))
        return BlockSums(
            np.ascontiguousarray(np.array(columns).T),
            len(self._lost),
            np.array(firsts, dtype=np.int64),
            self._scaled.weights,
            self._earlier.k,
        )


def _first_members(labels: Int64) -> Int64:
    """The first class that is in the union of each class: int64 (c,)."""
    _, firsts, places = np.unique(labels, return_index=True, return_inverse=True)
    first_members: Int64 = firsts[places.reshape(-1)]
    return first_members
