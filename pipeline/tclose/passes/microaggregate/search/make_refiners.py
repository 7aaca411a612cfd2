"""Refiners of a region's records: of the table of records, or of that of persons as well."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from tclose.kernels.emd.ordered import ERROR_PER_STEP
from tclose.kernels.emd.ordered_delta import compute_record_terms
from tclose.methods.scaling import Scaled
from tclose.model.array_types import Int64
from tclose.model.distribution import Distribution
from tclose.passes.microaggregate.search.refine_classes import Refiner
from tclose.passes.plan.search_budget import MAX_SEARCHED
from tclose.privacy.person_closeness import PersonDemand
from tclose.privacy.t_closeness import stack_trees

# Of a limit that a policy says, in lowest terms.
LARGEST_DENOMINATOR = 1_000_000


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
    """A region's refiner; the limits leave room for what the distance's running sums can err.

    They are lowered by it, or raised where no class that is searched can be that little above.
    """
    nodes = [d.metric.below.size for d in distributions if d.metric is not None]
    margin = ERROR_PER_STEP * max(2 * MAX_SEARCHED, *nodes, 0)
    held: list[tuple[Int64, Distribution, float]] = [
        (c, d, _with_room(d, t, margin))
        for c, d, t in zip(codes, distributions, limits, strict=True)
    ]
    in_trees = [one for one in held if one[1].metric is not None and one[2] < math.inf]
    trees = stack_trees(in_trees, codes.shape[1])
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


def _with_room(distribution: Distribution, limit: float, margin: float) -> float:
    """The limit that a distance is held to which may err by the margin; none from 1 on.

    Distances of classes of s records are whole multiples of 1 / (s c), with c of the table alone.
    Where one above the limit is above it by more than the error both ways, the limit is raised, so
    that a class may be exactly at it: one of three and two of the halves of a table is at .1.
    """
    if limit >= 1:
        return math.inf
    exact = Fraction(limit).limit_denominator(LARGEST_DENOMINATOR)
    steps = exact.denominator * MAX_SEARCHED * distribution.denominator
    is_apart = abs(float(exact) - limit) < margin / 8 and steps * 3 * margin < 1
    return limit + margin if is_apart else limit - margin
