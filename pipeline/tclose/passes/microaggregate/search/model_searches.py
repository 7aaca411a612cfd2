"""Searches for further models, of which no exchange knows.

Classes that fail a model are merged after all exchanges, with whatever is near, which loses more
than if they had been larger, or closer to the table, from the beginning: a class within the least
distance of those that fail seldom fails. So larger and closer ones are searched shortly, as the
longer a search is the more classes can fail after it; and at length those that end best.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from operator import attrgetter
from typing import NamedTuple

from tclose.methods.clustering_problem import Clustering, group_classes
from tclose.model.array_types import Int64
from tclose.passes.microaggregate.repair.repair_region import Merger
from tclose.passes.microaggregate.search.compared_searches import (
    NEARLY_BEST,
    SearchEnd,
    SearchEnds,
    SearchRun,
)
from tclose.passes.plan.search_budget import LEAN
from tclose.privacy.bound_models import meet_all
from tclose.privacy.t_closeness import class_distances
from tclose.runtime.monitoring.task_shares import part_of_task

# What is left of the classes of a search by merging those that fail, as a share of them, up to
# which others are tried.
FEW_MERGED = 2 / 3
# Sizes of larger ones: the first in times k, each next one in times the one before.
FIRST_LARGER, EACH_LARGER = 1.5, 1.75
# Distances of closer ones: each at most so much of the one before; how many are tried, as long as
# each loses so much of what the one before did.
EACH_CLOSER, MOST_CLOSER, WORTH_CLOSER = 0.75, 6, 0.98
# The share of balanced clusters that meet the models where they are searched; and how often the
# steps between sizes are halved to find the least.
NEARLY_ALL, HALVINGS = 0.9, 2
# Digits of a distance that classes are made within: it is below that of those that fail.
_DIGITS = 10**6

Held = tuple[int, tuple[Fraction, ...]]  # k, and t of each attribute


class _Tried(NamedTuple):
    """What a short search ended with: classes that do not hold, loss, and classes that are left."""

    n_violating: int
    loss: float
    n_left: int
    held: Held
    made: Clustering


@dataclass(eq=False)
class _Trials:
    """Short searches, each during a part of the task that is as long, and the best of them.

    ``begin``, ``step``: the share of the task that is done, and that of each.
    """

    ends: SearchEnds
    search: SearchRun
    begin: float
    step: float
    tried: list[_Tried] = field(default_factory=list, init=False)

    def try_shortly(self, held: Held, made: Clustering) -> SearchEnd:
        """Search clusters shortly, held to so many records and such distances."""
        found = self._run(self.search.held_to(*held, LEAN), made)
        n_left = int(found.clusters.labels.max()) + 1
        self.tried.append(_Tried(*self.ends.lose(found), n_left, held, made))
        n_violating, least = min(one[:2] for one in self.tried)
        most = n_violating, NEARLY_BEST * least
        self.tried = [one for one in self.tried if one[:2] <= most]
        return found

    def go_on(self) -> None:
        """Search those with most classes at length, of all that may end best."""
        if self.tried and self.search.merger.plan.search_budget != LEAN:
            best = max(self.tried, key=attrgetter("n_left"))
            self._run(self.search.held_to(*best.held), best.made)

    def _run(self, search: SearchRun, made: Clustering) -> SearchEnd:
        with part_of_task(self.begin, self.begin + self.step):
            found = search.run(made)
        self.begin += self.step
        self.ends.keep_best([found])
        self.ends.drop_worse()
        return found


def search_for_models(ends: SearchEnds, search: SearchRun, start: Clustering, begin: float) -> None:
    """Make clusters otherwise, where many fail the further models.

    Those that hold from the beginning are kept as they are.

    ``begin``: the share of the task that is done.
    """
    shares = [n_left / n_searched for n_searched, n_left in map(_count_left, ends.kept)]
    few = [end for end, share in zip(ends.kept, shares, strict=True) if share < FEW_MERGED]
    if min(shares) < 1 and start.held is not None and (held := start.held()) is not None:
        ends.keep_best([SearchRun(search.merger).run(held)])
    plan = search.merger.plan
    if not few or plan.search_budget.seconds is not None:
        return
    assert start.larger is not None
    sizes = _list_sizes(few, plan.k)
    step = (1.0 - begin) / (len(sizes) + MOST_CLOSER + 1)
    trials = _Trials(ends, search, begin, step)
    for size in sizes:
        trials.try_shortly((size, plan.max_emds), start.larger(size))
    _try_closer(trials, min(few, key=ends.lose), start, sizes)
    if search.refiner is not None:
        trials.go_on()


def _try_closer(trials: _Trials, end: SearchEnd, start: Clustering, sizes: Sequence[int]) -> None:
    """Search balanced clusters of which few fail, ever closer as long as they lose less."""
    merger = trials.search.merger
    made = _find_balanced(merger, start, sizes)
    if made is None:
        return
    plan, lost = merger.plan, (math.inf, math.inf)
    limits = plan.max_emds
    for _ in range(MOST_CLOSER):
        closer = _find_closer(merger, end.searched, limits)
        if closer is None:
            return
        limits = closer
        end = trials.try_shortly((plan.k, limits), made)
        before, lost = lost, trials.ends.lose(end)
        if lost >= (before[0], WORTH_CLOSER * before[1]):
            return


def _find_balanced(merger: Merger, start: Clustering, sizes: Sequence[int]) -> Clustering | None:
    """Balanced clusters of nearly the least size of which nearly all meet the models, if any do."""
    found, too_small = None, merger.plan.k
    size = too_small
    for size in sizes:
        if (found := _balance(merger, start, size)) is not None:
            break
        too_small = size
    if found is None:
        return None
    for _ in range(HALVINGS):
        between = math.ceil(math.sqrt(too_small * size))
        if (smaller := _balance(merger, start, between)) is None:
            too_small = between
        else:
            found, size = smaller, between
    return found


def _balance(merger: Merger, start: Clustering, size: int) -> Clustering | None:
    """Balanced clusters of so many records, if nearly all meet the models."""
    assert start.balanced is not None
    made = start.balanced(size)
    order, starts = group_classes(made.labels)
    models, codes = merger.plan.privacy_models.by_class, merger.records.codes[:, order]
    holds = meet_all(models, starts, codes, merger.distributions)
    return made if holds.mean() >= NEARLY_ALL else None


def _find_closer(
    merger: Merger, labels: Int64, limits: tuple[Fraction, ...]
) -> tuple[Fraction, ...] | None:
    """Distances below those of the classes, int64 (n,), that fail a model; None if none fails.

    Or if there is none.
    """
    order, starts = group_classes(labels)
    codes, closer = merger.records.codes[:, order], list(limits)
    for requirement in merger.plan.privacy_models.by_class:
        a, distribution = requirement.attribute, merger.distributions[requirement.attribute]
        fails = ~meet_all([requirement], starts, codes, merger.distributions)
        if not fails.any():
            continue
        least = float(class_distances(codes[a], starts, distribution)[fails].min())
        most = min(least, EACH_CLOSER * float(limits[a]))
        closer[a] = min(closer[a], Fraction(math.floor(most * _DIGITS) - 1, _DIGITS))
    return tuple(closer) if closer != list(limits) and min(closer) > 0 else None


def _list_sizes(few: Sequence[SearchEnd], k: int) -> list[int]:
    """Sizes from k on, up to those of the classes that merging has left."""
    most = max(end.searched.size / _count_left(end)[1] for end in few)
    sizes, size = [], FIRST_LARGER * k
    while size <= most:
        sizes.append(math.ceil(size))
        size *= EACH_LARGER
    return sizes


def _count_left(end: SearchEnd) -> tuple[int, int]:
    """The classes of a search, those that are released alike as one, and what merging has left."""
    n_left = int(end.clusters.labels.max()) + 1
    return n_left + end.clusters.n_repaired, n_left
