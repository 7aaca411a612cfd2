"""Proofs that a table cannot be released as asked; further models, bound to the data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

import numpy as np

from tclose.data.keys import Encoding
from tclose.errors import InfeasibleError, PolicyError
from tclose.model.array_types import Int64
from tclose.model.column_terms import Kind
from tclose.model.distribution import Distribution
from tclose.passes.plan.plan import Plan
from tclose.policy.policy import Policy
from tclose.privacy.bound_models import PrivacyModels, bind, check_counts
from tclose.privacy.class_counts import ClassCounts
from tclose.privacy.value_groups import similar_values
from tclose.privacy.whole_table import check_size
from tclose.releases.manifest.privacy_summary import check_describable


def check_k(k: int, n_records: int, *, of_persons: bool = False) -> None:
    """Refuse a k that no class can have; ``of_persons``: they count, and are no more."""
    if n_records == 1:
        raise PolicyError(
            "privacy.k: there is 1 record, and no class has fewer than 2; name more data"
        )
    if k > n_records:
        most = "the number of persons" if of_persons else n_records
        raise PolicyError(
            f"privacy.k: {k} is more than the {n_records:,} records there are; lower it to "
            f"{most} at most"
        )


def check_k_over_time(k: int, n_persons: int) -> None:
    """Refuse a k over time that no cell can have: persons of a cell are in the release."""
    if k > n_persons:
        raise PolicyError(
            f"privacy.over_time.k: {k} is more than the {n_persons:,} persons there are; lower it "
            f"to {n_persons} at most, or name more data"
        )


def check_feasible(
    name: str, n_records: int, k: int, columns: tuple[Encoding, ...], emds: list[Fraction],
    max_emds: list[Fraction],
) -> None:  # fmt: skip
    """Prove that a release partition can be released at all.

    A class lies in one release partition. With fewer than k records there is none; and a mean of
    distributions is no farther than the farthest of them (Li et al. 2007, Fact 2), so if the
    release partition as a whole is above t, one of its classes is, however it is cut.

    Raises
    ------
    InfeasibleError
        With the proof: the release partition, what it has, and the smallest demand that could be
        met.
    """
    if n_records < k:
        raise InfeasibleError(
            f"{name}: has 1 record, and no class has fewer than 2; publish a coarser partition"
            if n_records == 1
            else f"{name}: has {n_records:,} records, a class needs k = {k}; lower privacy.k to "
            f"{n_records} at most, or publish a coarser partition",
            partition=name,
        )
    farthest = sorted(zip(columns, emds, max_emds, strict=True), key=lambda pair: -pair[1])
    for encoding, emd, limit in farthest:
        if emd > limit:
            raise InfeasibleError(
                f"{name}: {encoding.column.name!r} is at distance {float(emd):.6f} from the whole "
                f"table, above t = {float(limit):g}; some class of it is too, however it is cut. "
                f"The smallest t that could work is {ceil(emd * 10**6) / 10**6:.6f}",
                partition=name,
            )


def require_models(
    plan: Plan, policy: Policy, distributions: Sequence[Distribution], n_records: int
) -> Plan:
    """The plan with what the policy's further models ask.

    (n, t)-closeness is not monotone, so it is made by way of t-closeness with the same t: the whole
    table is a superset of n records. Classes are judged by (n, t) alone.

    Raises
    ------
    PolicyError
        Buckets that cannot be made of the values that there are; too large a table, or one of
        fewer than n records.
    UsageError
        A model of another distribution whose description no manifest holds.
    """
    index_of = {e.column.name: a for a, e in enumerate(plan.confidential)}
    requirements = []
    for requirement in policy.require_models():
        a = index_of[requirement.name]
        encoding = plan.confidential[a]
        buckets = _find_buckets(plan, encoding) if requirement.of_values else requirement.buckets
        known = replace(requirement, buckets=buckets)
        check_describable(known, plan.k, is_bucketed=plan.method.releases_buckets)
        requirements.append(bind(known, a, encoding.column, distributions[a], encoding.texts))
    groupings = tuple(
        similar_values(e.column, d, e.texts)
        for e, d in zip(plan.confidential, distributions, strict=True)
    )
    privacy_models = PrivacyModels(tuple(requirements), groupings)
    check_size(privacy_models, n_records)
    max_emds = list(plan.max_emds)
    for requirement in privacy_models.requirements:
        requirement.kind.check_size(requirement, n_records)
        limit = requirement.kind.limit_distance(requirement)
        if limit is not None:
            max_emds[requirement.attribute] = min(max_emds[requirement.attribute], limit)
    return replace(plan, max_emds=tuple(max_emds), privacy_models=privacy_models)


def _find_buckets(plan: Plan, encoding: Encoding) -> int | tuple[tuple[str, ...], ...]:
    """Bucketization's buckets as whoever has the released values can find them again.

    Cut at ranks anew where values have an order; else the names in each.
    """
    assert plan.bucketing is not None
    if encoding.column.kind is not Kind.NOMINAL:
        return plan.bucketing.n_requested
    texts = np.array(encoding.texts, dtype=object)
    of_code = plan.bucketing.of_code
    return tuple(tuple(texts[of_code == b]) for b in range(plan.bucketing.sizes.size))


@dataclass(frozen=True, eq=False)
class PartitionDistributions:
    """A release partition that has to meet the further models.

    ``distributions``: its own, over the values of the table; ``emds``: its distances to the table.
    """

    name: str
    distributions: Sequence[Distribution]
    emds: Sequence[Fraction]


def check_models_feasible(
    plan: Plan,
    distributions: Sequence[Distribution],
    release_partitions: Sequence[PartitionDistributions],
) -> None:
    """Prove that release partitions can meet the further models at all.

    All but (n, t)-closeness are monotone: if all classes met one, so would the release partition as
    one class. And if that does, merging can bring it about. The release partition that is farthest
    from a demand speaks, so that what it could meet would do for all.

    Raises
    ------
    InfeasibleError
        With what the release partition has: the nearest demand that could be met.
    """
    for requirement in plan.privacy_models.by_class:
        a = requirement.attribute
        failing = []
        for release_partition in release_partitions:
            counts = _as_class(release_partition.distributions[a].counts)
            measures = check_counts(requirement, counts, distributions[a].counts)
            if not measures.meets.all():
                failing.append((float(measures.values[0]), release_partition.name))
        if failing:
            achieved, name = (min if requirement.kind.larger_is_better else max)(failing)
            raise InfeasibleError(
                f"{name}: cannot meet {requirement.model} of {requirement.name!r} even as one "
                "class, so some class does not, however it is cut; "
                f"{requirement.kind.suggest(requirement, achieved)}",
                partition=name,
            )
    for requirement in plan.privacy_models.requirements if release_partitions else ():
        a, limit = requirement.attribute, requirement.kind.limit_distance(requirement)
        emd, name = max(
            (release_partition.emds[a], release_partition.name)
            for release_partition in release_partitions
        )
        if limit is not None and plan.verification_limits[a] >= emd > limit:
            raise InfeasibleError(
                f"{name}: {requirement.model} is made by way of t-closeness with the same t, but "
                f"{requirement.name!r} is at distance {float(emd):.6f} from the whole table "
                f"here; the smallest t that works is {ceil(emd * 10**6) / 10**6:.6f}",
                partition=name,
            )


def _as_class(counts: Int64) -> ClassCounts:
    """A release partition as one class."""
    present = np.flatnonzero(counts)
    ends = np.array([0, present.size], dtype=np.int64)
    return ClassCounts(np.array([counts.sum()]), ends, present, counts[present])
