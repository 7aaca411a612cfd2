"""What a policy's further models ask, bound to the data: for construction, verification, audit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, isfinite

import numpy as np

from pipeline.errors import InfeasibleError, PolicyError
from pipeline.model import Distribution, Int64, Kind
from pipeline.settings import Policy
from pipeline.stages.grouping import similar_values
from pipeline.stages.keys import Encoding
from pipeline.stages.models.counts import ClassCounts
from pipeline.stages.plan import Plan
from pipeline.stages.requirements import Further, Model, Requirement, bind, check_counts
from pipeline.stages.whole_table import check_size


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
    """
    places = {e.column.name: a for a, e in enumerate(plan.confidential)}
    requirements = []
    for asked in policy.require_models():
        a = places[asked.name]
        encoding = plan.confidential[a]
        buckets = _find_buckets(plan, encoding) if asked.of_values else asked.buckets
        known = replace(asked, buckets=buckets)
        requirements.append(bind(known, a, encoding.column, distributions[a], encoding.texts))
    groupings = tuple(
        similar_values(e.column, d, e.texts)
        for e, d in zip(plan.confidential, distributions, strict=True)
    )
    further = Further(tuple(requirements), groupings)
    check_size(further, n_records)
    max_emds = list(plan.max_emds)
    for requirement in further.by_table:
        _check_size_asked(requirement, n_records)
        a = requirement.attribute
        max_emds[a] = min(max_emds[a], requirement.limit)
    return replace(plan, max_emds=tuple(max_emds), further=further)


def _check_size_asked(requirement: Requirement, n_records: int) -> None:
    """Refuse an n that no set of records has."""
    if requirement.count > n_records:
        raise PolicyError(
            f"privacy.models: n = {requirement.count} of {requirement.model} is more than the "
            f"{n_records:,} records there are; lower it to {n_records} at most"
        )


def _find_buckets(plan: Plan, encoding: Encoding) -> int | tuple[tuple[str, ...], ...]:
    """Bucketization's buckets as whoever has the released values can find them again.

    Cut at ranks anew where values have an order; else the names in each.
    """
    assert plan.bucketing is not None
    if encoding.column.kind is not Kind.NOMINAL:
        return plan.bucketing.n_asked
    texts = np.array(encoding.texts, dtype=object)
    of_code = plan.bucketing.of_code
    return tuple(tuple(texts[of_code == b]) for b in range(plan.bucketing.sizes.size))


@dataclass(frozen=True, eq=False)
class Claimant:
    """A domain that has to meet the further models.

    ``distributions``: its own, over the values of the table; ``emds``: its distances to the table.
    """

    name: str
    distributions: Sequence[Distribution]
    emds: Sequence[Fraction]


def check_models_feasible(
    plan: Plan, distributions: Sequence[Distribution], domains: Sequence[Claimant]
) -> None:
    """Prove that domains can meet the further models at all.

    All but (n, t)-closeness are monotone: if all classes met one, so would the domain as one class.
    And if that does, merging can bring it about. The domain that is farthest from a demand speaks,
    so that what it could meet would do for all.

    Raises
    ------
    InfeasibleError
        With what the domain has: the nearest demand that could be met.
    """
    for requirement in plan.further.by_class:
        a = requirement.attribute
        failing = []
        for domain in domains:
            counts = _as_class(domain.distributions[a].counts)
            measures = check_counts(requirement, counts, distributions[a].counts)
            if not measures.meets.all():
                failing.append((float(measures.values[0]), domain.name))
        if failing:
            reached, name = (min if requirement.model.is_least else max)(failing)
            raise InfeasibleError(
                f"{name}: cannot meet {requirement.model} of {requirement.name!r} even as one "
                "class, so some class does not, however it is cut; "
                f"{_say_nearest(requirement, reached)}",
                partition=name,
            )
    for requirement in plan.further.by_table if domains else ():
        a = requirement.attribute
        emd, name = max((domain.emds[a], domain.name) for domain in domains)
        if plan.judged_emds[a] >= emd > requirement.limit:
            raise InfeasibleError(
                f"{name}: {requirement.model} is made by way of t-closeness with the same t, but "
                f"{requirement.name!r} is at distance {float(emd):.6f} from the whole table "
                f"here; the smallest t that works is {ceil(emd * 10**6) / 10**6:.6f}",
                partition=name,
            )


def _as_class(counts: Int64) -> ClassCounts:
    """A domain as one class."""
    present = np.flatnonzero(counts)
    ends = np.array([0, present.size], dtype=np.int64)
    return ClassCounts(np.array([counts.sum()]), ends, present, counts[present])


def _say_nearest(requirement: Requirement, reached: float) -> str:
    """The demand nearest to the one that cannot be met, from what the whole domain has."""
    model = requirement.model
    if model in (Model.DISTINCT, Model.SENSITIVITY):
        letter = "l" if model is Model.DISTINCT else "p"
        return f"it has {int(reached):,} different values: {letter} can be at most that"
    if model is Model.ENTROPY:
        return f"l can be at most {floor(reached * 10**6) / 10**6:.6f}"
    if model is Model.RECURSIVE:
        if not isfinite(reached):
            return f"it has fewer than {requirement.count} different values: lower l"
        return f"with l = {requirement.count}, c has to be above {reached:.6f}"
    if not isfinite(reached):
        return "it lacks values that the table has, so no t would do: ask for wider buckets"
    return f"the smallest t that could work is {ceil(reached * 10**6) / 10**6:.6f}"
