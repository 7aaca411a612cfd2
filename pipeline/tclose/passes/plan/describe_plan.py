"""Words of a plan for people: sizes, regions and reasons."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tclose.data.column_scales import HEAVY_TAILS
from tclose.data.keys import Encoding
from tclose.model.column_terms import Scale
from tclose.model.counted_words import count_words
from tclose.passes.persons.person_numbers import PersonCounts
from tclose.passes.plan.plan import Plan, ReleasePartition, partition_name
from tclose.releases.manifest.plan_document import (
    PlanDocument,
    PlannedModel,
    PlannedPartition,
    PlannedPersons,
    PlannedSeries,
    PlannedSuppression,
    PlannedTogether,
    PlanWarning,
)


def describe_plan(
    plan: Plan,
    warnings: Sequence[PlanWarning],
    over_time: PlannedSeries | None,
    suppression: PlannedSuppression | None,
    n_repaired: int | None = None,
) -> PlanDocument:
    """Describe a plan; ``n_repaired``: classes that were repaired, if it was followed."""
    limits = zip(plan.confidential, plan.verification_limits, strict=True)
    is_held = bool(plan.privacy_models.requirements) or min(plan.verification_limits, default=1) < 1
    sections: dict[str, Any] = {"counted": "records"}
    if plan.privacy_models.requirements:
        sections["models"] = tuple(
            PlannedModel(name=str(r.model), attribute=r.name, asked=r.parameters)
            for r in plan.privacy_models.requirements
        )
    if plan.persons is not None:
        sections |= {"counted": "persons", "persons": describe_planned_persons(plan.persons, plan)}
    if plan.confidential:
        sections["subsets_of"] = plan.confidential[plan.subset_attribute].column.name
    scales = {e.column.name: describe_scale(e) for e in plan.encodings}
    if any(scales.values()):
        sections["scales"] = {name: text for name, text in scales.items() if text}
    imputed = {e.column.name: describe_imputed(e) for e in plan.encodings}
    if any(imputed.values()):
        sections["imputed"] = {name: text for name, text in imputed.items() if text}
    if over_time is not None:
        sections["over_time"] = over_time
    if suppression is not None:
        sections["suppression"] = suppression
    if n_repaired is not None:
        sections["classes_repaired"] = n_repaired
    return PlanDocument(
        digest=plan.digest(),
        records=plan.n_records,
        k=plan.k,
        t={encoding.column.name: float(t) for encoding, t in limits},
        method=plan.method.name,
        cut_by_subsets=plan.method.cuts_by_subsets,
        verified_only=is_held and not plan.method.holds_t,
        warnings=tuple(warnings),
        release_partitions=[_describe_partition(plan, one) for one in plan.release_partitions],
        **sections,
    )


def describe_scale(encoding: Encoding) -> str:
    """Describe a quasi-identifier's scale and weight; empty where both are the usual ones."""
    texts = {
        Scale.RANGE: "",
        Scale.STD: "differences divided by the standard deviation",
        Scale.IQR: "differences divided by the interquartile range",
        Scale.TRIMMED: "differences divided by the range of the middle 98 % of the records",
        Scale.RANK: "differences of ranks",
    }
    scale, weight = encoding.column.attribute.scale, encoding.column.attribute.weight
    notes = [texts[encoding.by.kind]]
    if scale is None and encoding.by.kind is not Scale.RANGE:
        notes[0] += f", as the whole range is more than {HEAVY_TAILS} times that"
    if scale not in (None, encoding.by.kind):
        notes.append(f"differences divided by the range, as the {scale} is 0")
    notes.append("" if weight == 1 else f"weight {weight:g}")
    return ", ".join(text for text in notes if text)


def describe_imputed(encoding: Encoding) -> str:
    """Describe how many records get the centre of a column; empty where it is none of such."""
    preparation = encoding.column.attribute.preparation
    if preparation is None or preparation.imputes is None:
        return ""
    what = "the aggregate of their class" if preparation.by_class else f"the {preparation.imputes}"
    return count_words(
        preparation.n_imputed,
        f"record without a value gets {what}",
        f"records without a value get {what}",
    )


def describe_planned_persons(counts: PersonCounts, plan: Plan) -> PlannedPersons:
    """Describe the persons of a plan, and what keeping their records together makes of classes."""
    together = {}
    if plan.keeps_persons:
        n_persons = min(plan.release_partitions[0].class_size.adjusted, counts.n_persons)
        together["together"] = PlannedTogether(
            class_persons=n_persons,
            class_records=round(n_persons * counts.n_records / counts.n_persons, 1),
            largest_class=counts.largest + plan.k - 1,
        )
    return PlannedPersons(
        persons=counts.n_persons, several=counts.n_several, most=counts.largest, **together
    )


def _describe_partition(plan: Plan, partition: ReleasePartition) -> PlannedPartition:
    size, subsets, bound = partition.class_size, partition.subsets, partition.bound
    why = {} if bound is None else {"class_size_bound": bound.explain(plan.k)}
    return PlannedPartition(
        name=partition_name(plan.partition_columns, partition.key),
        records=partition.n_records,
        class_size=size.adjusted,
        class_size_why=size.explain(),
        clusters=partition.n_clusters,
        subsets=int(subsets.sizes.size),
        subset_sizes=sorted({int(n) for n in subsets.sizes}),
        values_that_straddle_subsets=int(subsets.tie_codes.size),
        regions=min(partition.n_regions, partition.n_clusters),
        blocks=_count_blocks(partition.n_clusters, partition.n_regions, plan.block_clusters),
        **why,
    )


def _count_blocks(n_clusters: int, n_regions: int, block_clusters: int) -> int:
    """Blocks that a release partition's regions are cut into: halves until small enough."""
    cuts = [n_clusters * i // n_regions for i in range(n_regions + 1)]
    return sum(_halvings(b - a, block_clusters) for a, b in pairwise(cuts))


def _halvings(n_clusters: int, block_clusters: int) -> int:
    if n_clusters <= block_clusters:
        return 1 if n_clusters else 0
    left = n_clusters // 2
    return _halvings(left, block_clusters) + _halvings(n_clusters - left, block_clusters)
