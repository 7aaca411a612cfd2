"""Refinement of a region's classes: rounds of exchanges, each among newly grouped classes.

The loss is the objective, k and t are the constraints: a round keeps both, so it can stop anywhere.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.emd.ordered_delta import table_sums
from tclose.kernels.emd.tree_delta import Trees
from tclose.kernels.refinement.block import SPARE
from tclose.kernels.refinement.neighbours import (
    CENTRE,
    DRAWN,
    FARTHEST,
)
from tclose.kernels.refinement.pool_parts import MOST_POOLED
from tclose.kernels.refinement.refine_blocks import (
    HowSearched,
    measure_classes,
    refine_blocks,
)
from tclose.kernels.refinement.search import LARGEST_MENDED, LEAST_GAIN
from tclose.methods.clustering_problem import group_classes
from tclose.model.array_types import Float64, Int64
from tclose.model.distribution import Distribution
from tclose.passes.microaggregate.search.cut_points import cut_points
from tclose.passes.microaggregate.search.group_threads import (
    map_classes,
    map_groups,
    represent_side_by_side,
)
from tclose.passes.microaggregate.search.perturb_classes import GROUP_CLASSES, perturb_classes
from tclose.passes.microaggregate.search.pool_classes import (
    BARRED_ROUNDS,
    NO_POOLS,
    Pooled,
    pool_classes,
)
from tclose.passes.microaggregate.search.rounds import (
    Clock,
    Round,
    SearchState,
    estimate_share,
    is_exhausted,
    is_hopeless,
    is_little,
    is_worth_more,
    is_worth_pools,
)
from tclose.passes.plan.search_budget import (
    MAX_SEARCHED,
    TIMES,
    SearchBudget,
    count_block_classes,
)
from tclose.privacy.t_closeness import class_distances
from tclose.runtime.monitoring.task_shares import part_of_task, tell_share

NO_PERSONS = np.empty(0, dtype=np.int64)
# Round by round, by what classes are grouped; strays are of nominal attributes: among numbers alone
# what is near a stray is near its class's centre, or nearly.
BY_TURNS = (CENTRE, FARTHEST, CENTRE, DRAWN)
SWEEPS_OF_MENDING = 4
# Records for which a block of classes has room, all of them as large as its largest: one with a
# class that is much larger than the others has the fewer of them.
ROOM_OF_BLOCK = 204_800
# Records of rounds that need not save what others have to, where there is no t; each in each round.
FREE_RECORDS, FREE_PER_RECORD = 200_000, 150
# Of the classes that lose anything, the share that is perturbed in each pass: those that lose most.
# Where categories are rare few classes hold most of the loss: of Adult an eighth three quarters.
MOST_LOSING = (1.0, 0.5, 0.25, 0.125)
# Of the time for a search, its rounds, and perturbations after them; or what the clock tells of.
PARTS, WHOLE = ((0.0, 0.4), (0.4, 1.0)), (0.0, 1.0)


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
        """Run rounds until they are done, save little, or time is up; then passes of perturbations.

        Parameters
        ----------
        labels : int64 (n,): class of each record, without gaps
        merge : gives labels in which classes above t are merged
        share : the region's part of the budget's seconds
        block_starts : int64 (b + 1,): the first class of each of the blocks that they were made in
        state : of the search that led to the labels, if it is to go on; it is brought up to date

        Returns
        -------
        labels, and how each round and each pass left the region, the start first
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
        clock = Clock.start(search_budget.seconds, share)
        n_perturbed = search_budget.n_perturbed * share
        is_in_parts = clock.seconds is None and n_perturbed >= TIMES * labels.size
        of_rounds, of_passes = PARTS if is_in_parts else (WHOLE, WHOLE)
        n_free = 0.0
        if n_perturbed and self._is_unlimited:
            n_free = min(FREE_RECORDS * share, FREE_PER_RECORD * labels.size)
        with part_of_task(*of_rounds):
            labels, is_open = self._run_rounds(labels, search_budget, merge, clock, state, n_free)
        if is_open and n_perturbed:
            with part_of_task(*of_passes):
                n_more = search_budget.n_more * share
                labels = self._perturb(labels, n_perturbed, n_more, clock, state)
        return labels, tuple(state.rounds)

    def _run_rounds(
        self,
        labels: Int64,
        search_budget: SearchBudget,
        merge: Callable[[Int64], Int64],
        clock: Clock,
        state: SearchState,
        n_free: float,
    ) -> tuple[Int64, bool]:
        """Run rounds; return whether it is worth its time to go on from where they end.

        ``n_free``: records of rounds, up to which these need not save what they have to.
        """
        for _ in range(search_budget.n_rounds):
            if (spent := clock.spent) >= 1:
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
            may_end = is_merged = state.n_done >= search_budget.rounds_before_merging
            if state.n_done == search_budget.rounds_before_merging:
                before, labels = labels, merge(labels)
                may_end = not self._lose_much(before, labels, search_budget.least_gain)
            state.rounds.append(self.measure(labels))
            rounds = state.since_begin
            tell_share(spent or estimate_share(rounds, search_budget, len(rounds) - 1))
            is_free = state.n_done * labels.size < n_free and not is_exhausted(rounds)
            if may_end and not is_free and is_little(rounds, search_budget):
                break
            if is_merged and is_hopeless(rounds, state.most_lost):
                return labels, False
        return labels, True

    def _perturb(
        self, labels: Int64, n_perturbed: float, n_more: float, clock: Clock, state: SearchState
    ) -> Int64:
        """Perturb near classes, pass by pass, as long as that saves anything.

        ``n_perturbed``: records that are perturbed, each counted as often as its group is;
        ``n_more``: after them, as long as that saves much.
        """
        first = len(state.rounds) - 1
        order, starts = group_classes(labels)
        losses, _ = self._measure_classes(order, starts)
        while (spent := clock.spent) < 1 and not is_exhausted(state.rounds[first:]):
            share = MOST_LOSING[state.n_passes % len(MOST_LOSING)]
            losing = self._choose_losing(losses, starts, share)
            n_records = TIMES * int(np.diff(starts)[losing].sum())
            most = n_perturbed + (n_more if is_worth_more(state.rounds[first:]) else 0.0)
            if losing.size < 2 or state.n_perturbed + n_records > most:
                break
            rng = self._make_rng(state.n_done)
            points = self.represent(order, starts, state.n_done, rng.random(starts.size - 1))
            groups = self._group_classes(points, losing, GROUP_CLASSES, rng)
            records = self.as_kernels_take(int(np.diff(starts)[losing].max()))
            settings = self.k, int(rng.integers(1 << 30))
            labels = perturb_classes(
                records, labels, (order, starts), groups, settings, self.n_threads
            )
            state.n_done, state.n_passes = state.n_done + 1, state.n_passes + 1
            state.n_perturbed += n_records
            order, starts = group_classes(labels)
            losses, largest = self._measure_classes(order, starts)
            state.rounds.append(Round.measured(losses, largest))
            tell_share(spent or state.n_perturbed / (n_perturbed + n_more))
        return labels

    @property
    def _is_unlimited(self) -> bool:
        """No class can be above a t: pools that are cut anew save more than perturbations then."""
        return bool(np.isinf(self.limits).all()) and not self.trees.limits.size

    def _choose_losing(self, losses: Float64, starts: Int64, share: float) -> Int64:
        """Choose, of the classes that are searched and lose anything, a share: those with most."""
        searched = self._choose_searched(np.diff(starts))
        losing = searched[losses[searched] > LEAST_GAIN]
        most_first = losing[np.argsort(-losses[losing], kind="stable")]
        return np.sort(most_first[: math.ceil(share * losing.size)])

    def _choose_searched(self, sizes: Int64) -> Int64:
        """Choose the classes that are searched.

        Where persons are counted, that is done pair by pair, and large ones are left.
        """
        return np.flatnonzero(sizes <= (LARGEST_MENDED if self.persons.size else MAX_SEARCHED))

    def repair(self, labels: Int64, block_starts: Int64) -> Int64:
        """Work off what is above t within the blocks, which are balanced, at any loss.

        Classes after the last block are natural ones, which are within t.
        """
        order, starts = group_classes(labels)
        largest = int(np.diff(starts)[: block_starts[-1]].max(initial=0))
        if largest > LARGEST_MENDED:
            return labels
        groups = np.arange(starts.size - 1), block_starts
        labels = labels.copy()
        records = self.as_kernels_take(largest)
        how = HowSearched(self.k, n_sweeps=SWEEPS_OF_MENDING)
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
        order, starts = group_classes(labels)
        rng = self._make_rng(r)
        draws = rng.random(starts.size - 1)
        points = self.represent(order, starts, r, draws)
        searched = self._choose_searched(np.diff(starts))
        if searched.size < 2:
            return labels, NO_POOLS
        sizes = np.diff(starts)[searched]
        block_classes = count_block_classes(search_budget, float(sizes.mean()))
        groups = self._group_classes(points, searched, block_classes, rng)
        groups = self._cut_wide(points, groups, np.diff(starts), rng)
        records = self.as_kernels_take(int(sizes.max()))
        labels = labels.copy()
        budget = search_budget
        how = HowSearched(self.k, budget.n_partners, budget.n_searches, budget.n_sweeps)
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

    def _make_rng(self, r: int) -> np.random.Generator:
        """Return the generator that a round draws from."""
        return np.random.Generator(np.random.Philox(np.random.SeedSequence((*self.key, r))))

    def represent(
        self, order: Int64, starts: Int64, r: int, draws: Float64
    ) -> tuple[Float64, NDArray[np.int32]]:
        """The points by which a round groups classes; ``draws`` float64 (c,): of their records."""
        kind = BY_TURNS[r % len(BY_TURNS)] if self.levels.shape[1] else CENTRE
        columns = self.values, self.levels, self.weights
        return represent_side_by_side(
            columns, self.n_levels, (order, starts), kind, draws, self.n_threads
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

    def _cut_wide(
        self,
        points: tuple[Float64, NDArray[np.int32]],
        groups: tuple[Int64, Int64],
        sizes: Int64,
        rng: np.random.Generator,
    ) -> tuple[Int64, Int64]:
        """Cut groups anew that have a class so large that there is no room for so many like it."""
        parts: list[tuple[Int64, Int64]] = []
        for group in np.split(groups[0], groups[1][1:-1]):
            n_classes = max(2, ROOM_OF_BLOCK // int(sizes[group].max()))
            is_wide = group.size > n_classes
            whole = group, np.array([0, group.size])
            parts.append(self._group_classes(points, group, n_classes, rng) if is_wide else whole)
        counts = np.concatenate([np.diff(starts) for _, starts in parts])
        return np.concatenate([order for order, _ in parts]), np.append(0, np.cumsum(counts))

    def _lose_much(self, before: Int64, merged: Int64, least_gain: float) -> bool:
        """Return whether merging classes lost what a round has to save, which one may recover."""
        if merged.max() == before.max():
            return False
        first = self.measure(before)
        return self.measure(merged).loss - first.loss >= least_gain * first.usual_loss

    def measure(self, labels: Int64) -> Round:
        """Loss of the classes and their largest distance."""
        return Round.measured(*self._measure_classes(*group_classes(labels)))

    def _measure_classes(self, order: Int64, starts: Int64) -> tuple[Float64, float]:
        """The loss of each class, float64 (c,), and the largest distance of all."""
        columns = self.values, self.levels, self.weights

        def measure_part(part: slice) -> tuple[Float64, float]:
            of_part = starts[part.start : part.stop + 1]
            losses: Float64 = measure_classes(*columns, self.n_levels, order, of_part)
            members, begins = order[of_part[0] : of_part[-1]], of_part - of_part[0]
            largest = [
                float(class_distances(codes[members], begins, distribution).max())
                for codes, distribution in zip(self.codes, self.distributions, strict=True)
            ]
            return losses, max(largest, default=0.0)

        parts = map_classes(measure_part, starts, self.n_threads)
        losses, largest = zip(*parts, strict=True)
        return np.concatenate(losses), max(largest)
