"""Refinement of classes of persons, each with all of her records: rounds as of single records.

The loss of all records is the objective; k persons, and t over rows and over persons, are the
constraints. A round keeps them, so the rounds can stop anywhere.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.aggregate import group_by_label
from tclose.kernels.emd.member_distances import PERSONS, ROWS, MemberTables
from tclose.kernels.emd.ordered import ERROR_PER_STEP
from tclose.kernels.refinement.search import LEAST_GAIN
from tclose.kernels.refinement.unit_block import Units
from tclose.kernels.refinement.unit_search import refine_units
from tclose.methods.clustering_problem import group_classes
from tclose.model.array_types import Float64, Int64
from tclose.passes.microaggregate.search.cut_points import cut_points
from tclose.passes.microaggregate.search.group_threads import map_groups
from tclose.passes.microaggregate.search.refine_classes import Refiner
from tclose.passes.microaggregate.search.rounds import Round, is_little
from tclose.passes.plan.search_budget import SearchBudget
from tclose.privacy.person_closeness import PersonDemand, PersonDistribution
from tclose.runtime.monitoring.task_shares import tell_share

MOST_ROWS = 2000  # of a class that is searched: what an exchange costs grows with its rows
MOST_ROUNDS = 40
LEAST_ROUNDS = 4  # before it counts how little a round saves: these bring classes within t
LEAST_SAVED = 0.003  # of the usual loss, by each of two rounds, for another one to follow
LEAST_EXCHANGE = 1e-6  # of a class's usual loss: what an exchange has to save
BLOCK_CLASSES = 128
NEIGHBOURS = 16
SWEEPS = 3


@dataclass(frozen=True, eq=False)
class UnitRefiner:
    """The persons of a region, as rounds need them.

    ``rows``: the refiner of their records; ``unit_of`` int64 (n,): whose each record is, from 0
    without gaps; ``units``, ``tables``: as kernels take them; ``k``: persons of a class.
    """

    rows: Refiner
    unit_of: Int64
    units: Units
    tables: MemberTables
    k: int

    def refine(
        self, labels: Int64, search_budget: SearchBudget, share: float, first_round: int = 0
    ) -> tuple[Int64, tuple[Round, ...]]:
        """Run rounds until they are done, save little, or time is up.

        Parameters
        ----------
        labels : int64 (n,): class of each record, without gaps; a person's are in one
        share : the region's part of the budget's seconds
        first_round : its number, which draws depend on

        Returns
        -------
        labels, and how each round left the region, the start first
        """
        rounds, started = [self.rows.measure(labels)], time.monotonic()
        # Rounds of records find more, and cost more.
        budget = replace(search_budget, least_gain=min(search_budget.least_gain, LEAST_SAVED))
        of_units = labels[self._first_rows]
        for r in range(first_round, first_round + min(search_budget.n_rounds, MOST_ROUNDS)):
            spent = time.monotonic() - started
            if search_budget.seconds is not None and spent >= search_budget.seconds * share:
                break
            of_units = self._run_round(of_units, r, rounds[-1].usual_loss)
            rounds.append(self.rows.measure(of_units[self.unit_of]))
            tell_share((r + 1 - first_round) / min(search_budget.n_rounds, MOST_ROUNDS))
            if len(rounds) > LEAST_ROUNDS and is_little(rounds, budget):
                break
        return of_units[self.unit_of], tuple(rounds)

    @property
    def _first_rows(self) -> Int64:
        return np.unique(self.unit_of, return_index=True)[1]

    def _run_round(self, of_units: Int64, r: int, usual: float) -> Int64:
        """Group classes of near persons anew, and search each group."""
        rows, labels = self.rows, of_units[self.unit_of]
        order, starts = group_classes(labels)
        rng = np.random.Generator(np.random.Philox(np.random.SeedSequence((*rows.key, 1, r))))
        draws = rng.random(starts.size - 1)
        points = rows.represent(order, starts, r, draws)
        searched = np.flatnonzero(np.diff(starts) <= MOST_ROWS)
        if searched.size < 2:
            return of_units
        chosen = points[0][searched], points[1][searched]
        cut, ends = cut_points(chosen, rows.weights, rows.n_levels, BLOCK_CLASSES, rng)
        by_class = group_by_label(of_units, starts.size - 1)
        least_gain = max(LEAST_GAIN, LEAST_EXCHANGE * usual / (starts.size - 1))
        how = self.k, NEIGHBOURS, SWEEPS, least_gain
        settings = (*how, rows.weights, rows.n_levels)
        refined = of_units.copy()

        def search(some: tuple[Int64, Int64], _: int) -> None:
            refine_units(self.units, self.tables, refined, by_class, some, points, settings)

        map_groups(search, (searched[cut], ends), rows.n_threads)
        return refined


def make_unit_refiner(
    rows: Refiner, persons: Int64, demand: PersonDemand, limits: Sequence[Fraction]
) -> UnitRefiner:
    """The refiner of a region's persons.

    Parameters
    ----------
    persons : int64 (n,): whose each record is
    limits : the t of each attribute; distances over persons and over rows are held to it
    """
    unit_of = number_units(persons)
    order, starts = group_by_label(unit_of, int(unit_of.max()) + 1)
    columns = rows.levels[order].T
    compressed = [_count_levels(column, starts) for column in columns]
    shape = len(compressed), order.size
    units = Units(
        starts,
        _sort_all(rows.codes[:, order], starts),
        _sum_up(rows.values[order], starts),
        np.array([c[0] for c in compressed], dtype=np.int32).reshape(shape),
        np.array([c[1] for c in compressed], dtype=np.int64).reshape(shape),
        np.array([c[2] for c in compressed], dtype=np.int64).reshape(shape[0], starts.size - 1),
    )
    return UnitRefiner(rows, unit_of, units, lay_out(demand.tables, limits), demand.k)


def number_units(persons: Int64) -> Int64:
    """Whose each record is, int64 (n,): from 0 in the order of their first records.

    Persons are numbered by keyed hashes, on whose order nothing may depend.
    """
    _, firsts, places = np.unique(persons, return_index=True, return_inverse=True)
    numbers = np.empty(firsts.size, dtype=np.int64)
    numbers[np.argsort(firsts)] = np.arange(firsts.size)
    unit_of: Int64 = numbers[places.reshape(-1)]
    return unit_of


def _sum_up(values: Float64, starts: Int64) -> Float64:
    """Sums of the rows of each unit: float64 (u, d)."""
    if not values.shape[1]:
        return np.zeros((starts.size - 1, 0))
    sums: Float64 = np.add.reduceat(values, starts[:-1], axis=0)
    return sums


def _sort_all(codes: Int64, starts: Int64) -> Int64:
    """Codes of units (p, n), ascending within each."""
    unit_of = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    ordered = np.empty_like(codes)
    for column, into in zip(codes, ordered, strict=True):
        into[:] = column[np.lexsort((column, unit_of))]
    return ordered


def _count_levels(
    levels: NDArray[np.int32], starts: Int64
) -> tuple[NDArray[np.int32], Int64, Int64]:
    """Distinct levels of each unit from its start on, how often each is there, and their ends."""
    unit_of = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    ordered = levels[np.lexsort((levels, unit_of))]
    new = np.ones(ordered.size, dtype=np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]) | (unit_of[1:] != unit_of[:-1])
    firsts = np.flatnonzero(new)
    counts = np.diff(firsts, append=ordered.size)
    n_levels = np.bincount(unit_of[firsts], minlength=starts.size - 1)
    offsets = np.arange(firsts.size) - np.repeat(np.cumsum(n_levels) - n_levels, n_levels)
    places = starts[unit_of[firsts]] + offsets
    of_unit = np.zeros(ordered.size, dtype=np.int32)
    held = np.zeros(ordered.size, dtype=np.int64)
    of_unit[places], held[places] = ordered[firsts], counts
    return of_unit, held, starts[:-1] + n_levels


def lay_out(tables: Sequence[PersonDistribution], limits: Sequence[Fraction]) -> MemberTables:
    """The tables of all attributes as kernels take them, one after the other."""
    sizes = [table.rows.values.size for table in tables]
    metrics = [table.rows.metric for table in tables]
    depth = max([m.paths.shape[1] for m in metrics if m is not None], default=0)
    n_nodes = [0 if m is None else m.below.size for m in metrics]
    paths = np.full((sum(sizes), depth), -1, dtype=np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    untouched = np.zeros((len(sizes), 2))
    cumulative, weights = np.ones((2, sum(sizes))), np.zeros(sum(n_nodes))
    prefix, shares = np.zeros((2, sum(sizes) + len(sizes))), np.zeros((2, sum(n_nodes)))
    first_node = 0
    for a, (table, metric) in enumerate(zip(tables, metrics, strict=True)):
        values, padded = (
            slice(starts[a], starts[a + 1]),
            slice(starts[a] + a, starts[a + 1] + a + 1),
        )
        for over, of_table in ((ROWS, table.rows), (PERSONS, table.shares)):
            cumulative[over, values] = of_table.cumulative / of_table.n_records
            prefix[over, padded] = of_table.prefix / of_table.n_records
        if metric is None or table.shares.metric is None:
            continue
        nodes = slice(first_node, first_node + metric.below.size)
        paths[values, : metric.paths.shape[1]] = np.where(
            metric.paths < 0, -1, metric.paths + first_node
        )
        weights[nodes] = metric.weights
        shares[ROWS, nodes] = metric.below / table.rows.n_records
        shares[PERSONS, nodes] = table.shares.metric.below / table.shares.n_records
        untouched[a] = (shares[:, nodes] * metric.weights).sum(axis=1)
        first_node += metric.below.size
    margin = ERROR_PER_STEP * (MOST_ROWS * 2 * (depth + 1) + max([*sizes, *n_nodes], default=0) + 8)
    held_to = np.array([[float(t) - margin] * 2 for t in limits]).reshape(len(sizes), 2)
    return MemberTables(
        starts, np.array([m is not None for m in metrics], dtype=np.bool_), cumulative, prefix,
        paths, weights, shares, untouched, held_to,
    )  # fmt: skip
