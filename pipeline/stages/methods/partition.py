"""The classes of a region by any of the methods, but for t-closeness-first."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pipeline.kernels.emd import ERROR_PER_STEP
from pipeline.kernels.kanonymity_first import k_anonymity_first
from pipeline.kernels.mdav import mdav, v_mdav
from pipeline.kernels.merge_farthest import merge_by_excess
from pipeline.model import Distance, Distribution, Int64
from pipeline.stages.distances import class_distances, find_above
from pipeline.stages.keys import Encoding, Keys
from pipeline.stages.methods.bucketization import RatioDemand, fill_from_buckets
from pipeline.stages.methods.buckets import MakeBuckets, equal_buckets, ordered_buckets
from pipeline.stages.methods.full_domain import FullDomain, generalise_fully
from pipeline.stages.methods.method import Method
from pipeline.stages.methods.mondrian import partition_mondrian
from pipeline.stages.methods.refusals import check_ordered, check_whole
from pipeline.stages.methods.sabre import partition_sabre
from pipeline.stages.methods.tree_buckets import hierarchical_buckets
from pipeline.stages.models.counts import group_table
from pipeline.stages.requirements import NOTHING, Further, meet_all
from pipeline.stages.scaling import Scaled
from pipeline.stages.taxonomy import taxonomy_of


@dataclass(frozen=True, eq=False)
class Problem:
    """The records of a region, and what their classes are held to.

    ``keys``: of each quasi-identifier (n,); ``scaled``: the same as kernels take them; ``codes``
    int64 (p, n): confidential values as positions in the ``distributions``. ``bucket_of`` int64
    (m,): of each confidential value, where classes are made by buckets and values are released;
    None where the codes are the buckets.
    """

    method: Method
    encodings: tuple[Encoding, ...]
    confidential: tuple[Encoding, ...]
    keys: list[Keys]
    scaled: Scaled
    codes: Int64
    distributions: tuple[Distribution, ...]
    k: int
    max_emds: tuple[Fraction, ...]
    further: Further = NOTHING
    bucket_of: Int64 | None = None

    def holds(self, order: Int64, starts: Int64) -> NDArray[np.bool_]:
        """Which classes have k records, are within every t, and meet the further models."""
        found: NDArray[np.bool_] = np.diff(starts) >= self.k
        asked = self.further.by_class
        if asked:
            found &= meet_all(asked, starts, self.codes[:, order], self.distributions)
        above = find_above(order, starts, self.codes, self.distributions, self.max_emds)
        found[above] = False
        return found

    def excess_of(self, rows: Int64) -> float:
        """What a class of some rows has above t in the largest attribute; 0 or less: none."""
        ends = np.array([0, rows.size])
        margin = ERROR_PER_STEP * (rows.size + 8)
        return max(
            float(class_distances(codes[rows], ends, distribution)[0]) - float(limit) + margin
            for codes, distribution, limit in zip(
                self.codes, self.distributions, self.max_emds, strict=True
            )
        )


@dataclass(frozen=True, eq=False)
class Partitioned:
    """Class of each record, int64 (n,), from 0 without gaps; and the levels, if any were chosen."""

    labels: Int64
    levels: FullDomain | None = None


def partition(problem: Problem) -> Partitioned:
    """The classes that the method makes.

    Raises
    ------
    InfeasibleError, PolicyError
        The method cannot do what is asked; the message says what could be.
    """
    if problem.method.name == "incognito":
        chosen = generalise_fully(problem.encodings, problem.keys, problem.holds)
        return Partitioned(chosen.labels, chosen)
    return Partitioned(_METHODS[problem.method.name](problem))


def _microaggregate(problem: Problem) -> Int64:
    method, k, scaled = problem.method, problem.k, problem.scaled
    v_rule = "v-mdav" in (method.name, method.start)
    if v_rule:
        return np.asarray(v_mdav(scaled.numeric, scaled.nominal, k, method.gamma, scaled.weights))
    return np.asarray(mdav(scaled.numeric, scaled.nominal, k, scaled.weights))


def _merge(problem: Problem, labels: Int64) -> Int64:
    if not problem.distributions:
        return labels
    scaled = problem.scaled
    return merge_by_excess(
        scaled.numeric, scaled.nominal, labels, problem.excess_of, scaled.weights
    )


def _microaggregate_and_merge(problem: Problem) -> Int64:
    return _merge(problem, _microaggregate(problem))


def _k_anonymity_first(problem: Problem) -> Int64:
    if not problem.distributions:
        return _microaggregate(problem)
    check_ordered(problem.confidential)
    targets = (
        problem.codes,
        tuple(np.asarray(d.cumulative) for d in problem.distributions),
        tuple(np.asarray(d.prefix) for d in problem.distributions),
        np.array([float(t) for t in problem.max_emds]),
    )
    scaled = problem.scaled
    labels = k_anonymity_first(scaled.numeric, scaled.nominal, problem.k, targets, scaled.weights)
    return _merge(problem, np.asarray(labels))


def _mondrian(problem: Problem) -> Int64:
    n_records = problem.keys[0].size
    everything = np.arange(n_records), np.array([0, n_records])
    if not problem.holds(*everything)[0]:
        # A region above t is no proof for the table: one class, which is joined with others.
        return np.zeros(n_records, dtype=np.int64)
    pairs = zip(problem.encodings, problem.keys, strict=True)
    nominal = [(_cutting_ranks(e), keys.astype(np.int64)) for e, keys in pairs if e.is_nominal]
    n_levels = np.array([ranks.size for ranks, _ in nominal], dtype=np.int64)
    placed = np.array([ranks[keys] for ranks, keys in nominal], dtype=np.int32)
    placed = placed.reshape(len(nominal), n_records)
    return partition_mondrian(problem.scaled.numeric, placed, n_levels, problem.holds)


def _cutting_ranks(encoding: Encoding) -> Int64:
    """Place of each nominal value among those that are cut between: of leaves, left to right."""
    rows = encoding.column.attribute.taxonomy
    if not rows:
        return np.arange(len(encoding.categories or ()))
    leaves = taxonomy_of(rows).encode(encoding.texts, encoding.column.name)
    return np.argsort(np.argsort(leaves))


def _sabre(problem: Problem) -> Int64:
    n_table = problem.distributions[0].n_records if problem.distributions else 0
    check_whole(len(problem.distributions), is_cut=problem.codes.shape[1] != n_table)
    distribution = problem.distributions[0]
    return partition_sabre(
        (problem.scaled.numeric, problem.scaled.nominal, problem.scaled.weights),
        problem.codes[0],
        distribution,
        k=problem.k,
        max_emd=problem.max_emds[0],
        make_buckets=_bucket_rule(problem.confidential[0]),
    )


def _bucket_rule(encoding: Encoding) -> MakeBuckets:
    distance = encoding.column.distance
    if distance is Distance.ORDERED:
        return ordered_buckets
    if distance is Distance.EQUAL:
        return equal_buckets
    taxonomy = taxonomy_of(encoding.column.attribute.taxonomy)
    leaves = taxonomy.encode(encoding.texts, encoding.column.name)
    return hierarchical_buckets(taxonomy.levels[:, leaves])


def _bucketization(problem: Problem) -> Int64:
    ratio = problem.method.ratio
    assert ratio is not None
    buckets, sizes = problem.codes[0], problem.distributions[0].counts
    if problem.bucket_of is not None:
        buckets, sizes = problem.bucket_of[buckets], group_table(sizes, problem.bucket_of)
    return fill_from_buckets(
        problem.scaled.numeric,
        problem.scaled.nominal,
        buckets,
        sizes,
        RatioDemand(problem.k, ratio),
        problem.scaled.weights,
    )


_METHODS: dict[str, Callable[[Problem], Int64]] = {
    "bucketization": _bucketization,
    "mdav": _microaggregate,
    "v-mdav": _microaggregate,
    "dp-confidential": _microaggregate,
    "microaggregate-and-merge": _microaggregate_and_merge,
    "k-anonymity-first": _k_anonymity_first,
    "mondrian": _mondrian,
    "sabre": _sabre,
}
