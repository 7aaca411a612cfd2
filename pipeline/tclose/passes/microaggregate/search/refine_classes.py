"""Refinement of a region's classes: rounds of exchanges, each among newly grouped classes.

The loss is the objective, k and t are the constraints: a round keeps both, so it can stop anywhere.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.aggregate import group_by_label
from tclose.kernels.emd.ordered import ERROR_PER_STEP
from tclose.kernels.emd.ordered_delta import compute_record_terms, table_sums
from tclose.kernels.emd.tree_delta import Trees
from tclose.kernels.refinement.block import SPARE
from tclose.kernels.refinement.neighbours import (
    CENTRE,
    DRAWN,
    FARTHEST,
    represent_classes,
)
from tclose.kernels.refinement.pool_parts import MOST_POOLED
from tclose.kernels.refinement.refine_blocks import (
    measure_classes,
    refine_blocks,
)
from tclose.kernels.refinement.search import LARGEST_MENDED, LEAST_GAIN
from tclose.methods.scaling import Scaled
from tclose.model.array_types import Float64, Int64
from tclose.model.distribution import Distribution
from tclose.passes.microaggregate.search.cut_points import cut_points
from tclose.passes.microaggregate.search.group_threads import map_groups
from tclose.passes.microaggregate.search.pool_classes import (
    BARRED_ROUNDS,
    EFFORT_OF_SEARCH,
    NO_POOLS,
    Pooled,
    pool_classes,
)
from tclose.passes.microaggregate.search.rounds import (
    Round,
    SearchState,
    estimate_share,
    is_hopeless,
    is_little,
    is_worth_pools,
    sum_usual,
)
from tclose.passes.plan.search_budget import MAX_SEARCHED, SearchBudget, count_block_classes
from tclose.privacy.person_closeness import PersonDemand
from tclose.privacy.t_closeness import class_distances, stack_trees
from tclose.runtime.monitoring.task_shares import part_of_task, tell_share

NO_PERSONS = np.empty(0, dtype=np.int64)
# Round by round, by what classes are grouped; strays are of nominal attributes: among numbers alone
# what is near a stray is near its class's centre, or nearly.
BY_TURNS = (CENTRE, FARTHEST, CENTRE, DRAWN)
SWEEPS_OF_MENDING = 4
# Classes above `LARGEST_MENDED` are searched up to so many times the median size of all.
MUCH_LARGER = 8
# Of the time for two searches, one after the other.
PARTS_OF_SEARCHES = (0.0, 0.15), (0.15, 1.0)


@dataclass(frozen=True, eq=False)
class Refiner:
    """The records of a region, as rounds need them.

    ``values`` float64 (n, d), ``levels`` int32 (n, q): quasi-identifiers, a record's adjacent;
    ``weights`` float64 (q,), ``n_levels``: of the nominal ones, as in `Scaled`; ``codes`` int64 (p,
    n); ``ordered``: the distributions of the ``record_terms``, ``limits`` float64 (p,) theirs;
    ``trees``: the attributes of the others; ``key``: what the draws depend on; ``n_threads``: that
    search side by side. ``persons`` int64 (n,): whose each record is, of whom no class gets a
    second one; of no record where that does not count. ``n_orders``: the first so many
    ``record_terms`` have the order of those after them, one by one.
    """

    values: Float64
    levels: NDArray[np.int32]
    weights: Float64
    n_levels: int
    codes: Int64
    distributions: tuple[Distribution, ...]
    ordered: tuple[Distribution, ...]
    limits: Float64
    record_terms: Float64
    trees: Trees
    k: int
    key: tuple[int, ...]
    n_threads: int = 1
    persons: Int64 = field(default_factory=lambda: NO_PERSONS)
    n_orders: int = 1
    _sums: list[Float64] = field(init=False, default_factory=list)

    def refine(
        self,
        labels: Int64,
        search_budget: SearchBudget,
        merge: Callable[[Int64], Int64],
        share: float = 1.0,
        block_starts: Int64 | None = None,
        state: SearchState | None = None,
    ) -> tuple[Int64, tuple[Round, ...]]:
        """Run rounds until they are done, save little, or time is up.

        Parameters
        ----------
        labels : int64 (n,): class of each record, without gaps
        merge : gives labels in which classes above t are merged
        share : the region's part of the budget's seconds
        block_starts : int64 (b + 1,): the first class of each of the blocks that they were made in
        state : of the search that led to the labels, if it is to go on; it is brought up to date

        Returns
        -------
        labels, and how each round left the region, the start first
        """
        if search_budget.n_rounds == 0:
            return labels, ()
        state = state or SearchState()
        if not state.rounds:
            state.rounds.append(self.measure(labels))
            if block_starts is not None:
                labels = self.repair(labels, block_starts)
                state.rounds.append(self.measure(labels))
            state.begin_anew()
        budgets = [one for one in (search_budget.after, search_budget) if one is not None]
        parts = PARTS_OF_SEARCHES if len(budgets) > 1 else ((0.0, 1.0),)
        for number, (budget, (begin, end)) in enumerate(zip(budgets, parts, strict=True)):
            if number:
                state.begin_anew()
            with part_of_task(begin, end):
                labels = self._search(labels, budget, merge, share, state)
        return labels, tuple(state.rounds)

    def _search(
        self,
        labels: Int64,
        search_budget: SearchBudget,
        merge: Callable[[Int64], Int64],
        share: float,
        state: SearchState,
    ) -> Int64:
        """Run the rounds of one budget."""
        started, free_effort = time.monotonic(), search_budget.free_effort * share
        for _ in range(search_budget.n_rounds):
            spent = time.monotonic() - started
            if search_budget.seconds is not None and spent >= search_budget.seconds * share:
                break
            is_pooled = state.n_barred < BARRED_ROUNDS and is_worth_pools(state.since_begin)
            of_round = search_budget.of_round(state.n_done)
            labels, pooled = self._run_round(
                labels,
                of_round,
                state.n_done,
                state.rounds[-1].usual_loss,
                is_pooled=is_pooled,
            )
            if is_pooled:
                state.n_barred = state.n_barred + 1 if pooled.are_barred else 0
            state.n_done += 1
            searched = EFFORT_OF_SEARCH * of_round.n_searches * labels.size
            state.effort += pooled.n_records + searched
            may_end = is_merged = state.n_done >= search_budget.rounds_before_merging
            if state.n_done == search_budget.rounds_before_merging:
                before, labels = labels, merge(labels)
                may_end = not self._lose_much(before, labels, search_budget.least_gain)
            state.rounds.append(self.measure(labels))
            is_free = state.effort < free_effort
            of_free = state.effort / free_effort if is_free else 1.0
            rounds = state.since_begin
            tell_share(
                spent / (search_budget.seconds * share)
                if search_budget.seconds is not None
                else estimate_share(rounds, search_budget, len(rounds) - 1, of_free)
            )
            if may_end and is_little(rounds, search_budget, is_free=is_free):
                break
            if is_merged and is_hopeless(rounds, state.most_lost):
                break
        return labels

    def _choose_searched(self, sizes: Int64) -> Int64:
        """Choose the classes that are searched: large ones where many are, as blocks are so wide.

        Where persons are counted, that is done pair by pair, and large ones are left.
        """
        if self.persons.size:
            return np.flatnonzero(sizes <= LARGEST_MENDED)
        most = min(MAX_SEARCHED, MUCH_LARGER * float(np.median(sizes)))
        return np.flatnonzero(sizes <= max(LARGEST_MENDED, most))

    def repair(self, labels: Int64, block_starts: Int64) -> Int64:
        """Work off what is above t within the blocks, which are balanced, at any loss.

        Classes after the last block are natural ones, which are within t.
        """
        order, starts = group_by_label(labels, int(labels.max()) + 1)
        largest = int(np.diff(starts)[: block_starts[-1]].max(initial=0))
        if largest > LARGEST_MENDED:
            return labels
        groups = np.arange(starts.size - 1), block_starts
        labels = labels.copy()
        records = self.as_kernels_take(largest)
        how = self.k, 0, 0, SWEEPS_OF_MENDING, 0
        refine_blocks(records, labels, (order, starts), groups, how, LEAST_GAIN)
        return labels

    def as_kernels_take(self, largest: int) -> tuple[Any, ...]:
        """The records as kernels take them, for classes of up to ``largest``."""
        sums = self._sum(largest)
        return (
            self.values, self.levels, self.weights, self.record_terms, sums, self.limits,
            self.trees, self.persons, self.n_orders,
        )  # fmt: skip

    def _sum(self, largest: int) -> Float64:
        """Return the sums of the tables, for classes of up to ``largest`` and a few more.

        They are kept: those of a larger size begin with all of a smaller one.
        """
        most = largest + SPARE + 1
        n_sums = (most + 1) * (most + 2) // 2
        kept = self._sums[0] if self._sums else np.zeros((1, 0))
        if kept.shape[1] < n_sums:
            kept = np.zeros((max(1, len(self.ordered)), n_sums))
            for i, distribution in enumerate(self.ordered):
                kept[i] = table_sums(distribution.cumulative, distribution.prefix, most)
            self._sums[:] = [kept]
        return kept

    def _run_round(
        self, labels: Int64, search_budget: SearchBudget, r: int, usual: float, *, is_pooled: bool
    ) -> tuple[Int64, Pooled]:
        """Search groups of classes, then, unless t bars pools, cut pools of them anew.

        ``usual``: the usual loss of the classes.
        """
        order, starts = group_by_label(labels, int(labels.max()) + 1)
        rng = np.random.Generator(np.random.Philox(np.random.SeedSequence((*self.key, r))))
        draws = rng.random(starts.size - 1)
        kind = BY_TURNS[r % len(BY_TURNS)] if self.levels.shape[1] else CENTRE
        points = represent_classes(
            self.values, self.levels, self.weights, self.n_levels, order, starts, kind, draws
        )
        searched = self._choose_searched(np.diff(starts))
        if searched.size < 2:
            return labels, NO_POOLS
        sizes = np.diff(starts)[searched]
        block_classes = count_block_classes(search_budget, float(sizes.mean()))
        groups = self._group_classes(points, searched, block_classes, rng)
        records = self.as_kernels_take(int(sizes.max()))
        labels = labels.copy()
        budget = search_budget
        how = self.k, budget.n_partners, budget.n_searches, budget.n_sweeps, budget.n_together
        usual_loss = usual / (starts.size - 1)
        of_exchange = search_budget.share_of_exchange(float(sizes.mean()))
        least_gain = max(LEAST_GAIN, of_exchange * usual_loss)

        def search(some: tuple[Int64, Int64], _: int) -> None:
            refine_blocks(records, labels, (order, starts), some, how, least_gain)

        map_groups(search, groups, self.n_threads)
        if not is_pooled or not search_budget.n_pooled:
            return labels, NO_POOLS
        records = self.as_kernels_take(MOST_POOLED)
        settings = self.k, search_budget.n_pooled, int(rng.integers(1 << 30))
        of_round = r, usual_loss, draws
        return pool_classes(
            records, self.n_levels, labels, groups, settings, of_round, self.n_threads
        )

    def _group_classes(
        self,
        points: tuple[Float64, NDArray[np.int32]],
        searched: Int64,
        block_classes: int,
        rng: np.random.Generator,
    ) -> tuple[Int64, Int64]:
        """Cut the points of the classes that are searched."""
        of_searched = points[0][searched], points[1][searched]
        order, starts = cut_points(of_searched, self.weights, self.n_levels, block_classes, rng)
        return searched[order], starts

    def _lose_much(self, before: Int64, merged: Int64, least_gain: float) -> bool:
        """Return whether merging classes lost what a round has to save, which one may recover."""
        if merged.max() == before.max():
            return False
        first = self.measure(before)
        return self.measure(merged).loss - first.loss >= least_gain * first.usual_loss

    def measure(self, labels: Int64) -> Round:
        """Loss of the classes and their largest distance."""
        order, starts = group_by_label(labels, int(labels.max()) + 1)
        columns = self.values, self.levels, self.weights
        losses = measure_classes(*columns, self.n_levels, order, starts)
        largest = 0.0
        for codes, distribution in zip(self.codes, self.distributions, strict=True):
            emds = class_distances(codes[order], starts, distribution)
            largest = max(largest, float(emds.max()))
        return Round(float(losses.sum()), largest, sum_usual(losses))


def make_person_refiner(
    scaled: Scaled,
    codes: Int64,
    distributions: tuple[Distribution, ...],
    persons: tuple[Int64, PersonDemand],
    key: tuple[int, ...],
    n_threads: int = 1,
) -> Refiner:
    """A refiner of classes in which each record is of another person, within t over both.

    Over persons the table is another one, as who has many records weighs no more than who has one;
    the distribution of such a class is the same.

    Parameters
    ----------
    persons : int64 (n,), whose each record is, and what is asked over them
    """
    of_records, demand = persons
    limits = tuple(float(limit) for limit in demand.limits)
    tables = *distributions, *(table.shares for table in demand.tables)
    stacked = np.vstack([codes, codes])
    refiner = make_refiner(scaled, stacked, tables, 2 * limits, demand.k, key, n_threads)
    # Of one type with those of nobody: what kernels are compiled for.
    contiguous = np.ascontiguousarray(of_records)
    n_orders = max(1, refiner.limits.size // 2)
    return replace(
        refiner, codes=codes, distributions=distributions, persons=contiguous, n_orders=n_orders
    )


def make_refiner(
    scaled: Scaled,
    codes: Int64,
    distributions: tuple[Distribution, ...],
    limits: tuple[float, ...],
    k: int,
    key: tuple[int, ...],
    n_threads: int = 1,
) -> Refiner:
    """A region's refiner; the limits are lowered by what the distance's running sums can err."""
    nodes = [d.metric.below.size for d in distributions if d.metric is not None]
    margin = ERROR_PER_STEP * max(2 * MAX_SEARCHED, *nodes, 0)
    held: list[tuple[Int64, Distribution, float]] = [
        (c, d, t - margin) for c, d, t in zip(codes, distributions, limits, strict=True)
    ]
    trees = stack_trees([one for one in held if one[1].metric is not None], codes.shape[1])
    # Some order of the records is needed: without an ordered attribute that of the first one's
    # codes, or of none, and a distance in it that is nowhere above its limit.
    ordered = [one for one in held if one[1].metric is None]
    ordered = ordered or [(c, d, math.inf) for c, d, _ in held[:1]]
    record_terms = [compute_record_terms(c, d.cumulative, d.prefix) for c, d, _ in ordered]
    return Refiner(
        values=np.ascontiguousarray(scaled.numeric.T),
        levels=np.ascontiguousarray(scaled.nominal.T),
        weights=scaled.weights,
        n_levels=scaled.n_levels,
        codes=codes,
        distributions=distributions,
        ordered=tuple(d for _, d, _ in ordered),
        limits=np.array([limit for _, _, limit in ordered] or [1.0]),
        record_terms=np.array(record_terms) if record_terms else np.zeros((1, codes.shape[1], 3)),
        trees=trees,
        k=k,
        key=key,
        n_threads=n_threads,
        n_orders=len(record_terms) or 1,
    )
