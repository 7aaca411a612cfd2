"""The microaggregate pass: classes of every region; those that cannot repair theirs are joined."""

import math
from collections.abc import Sequence
from dataclasses import replace

from tclose.errors import InfeasibleError
from tclose.methods.scaling import find_unit
from tclose.passes.encode.encode_task import HISTOGRAM, PASSTHROUGH, RECORDS
from tclose.passes.encode.region_bins import locate_regions
from tclose.passes.microaggregate.aggregate_task import (
    AGGREGATE_TASK,
    CLASS_TYPES,
    NO_HASHES,
    REGION_RESULTS,
    REGIONS,
    AggregateInput,
    RegionResult,
)
from tclose.passes.microaggregate.analyses.workload import WORKLOAD, plan_workload
from tclose.passes.microaggregate.cluster_task import MICROAGGREGATE_TASK, ClusteredRegion
from tclose.passes.microaggregate.gather_region import ROW_RANGES, RegionInput, write_row_ranges
from tclose.passes.microaggregate.search.rounds import merge_rounds
from tclose.passes.microaggregate.shares.regional_shares import allot_shares, count_steps
from tclose.passes.microaggregate.unions.alike_classes import (
    UNITED,
    find_failing_unions,
    has_returning,
)
from tclose.passes.persons.person_values import (
    MERGED_PERSON_VALUES,
    PERSON_SHARES,
    load_person_demand,
)
from tclose.passes.plan.notices.compile_notice import report_compiling
from tclose.passes.plan.notices.estimate import count_threads
from tclose.passes.plan.plan import PLAN, Plan, Region
from tclose.passes.plan.plan_files import load_distributions
from tclose.passes.series.link_persons import SERIES
from tclose.passes.series.series_units import EARLIER, UNITS
from tclose.passes.summarise.input_summary import INPUT_SUMMARY
from tclose.passes.summarise.records import DISTRIBUTIONS, JOINTS
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.pipeline import Pass, PassContext
from tclose.runtime.tasks import Item, Result, Task

# A round is told of if what it leaves is less than the last one told of left by such a share.
TOLD = 0.01


def microaggregate(context: PassContext) -> None:
    """Make the classes of every region.

    Raises
    ------
    InfeasibleError
        A release partition cannot meet the policy as one class.
    """
    plan = context.read(PLAN)
    regions = list(plan.regions())
    report_compiling(plan, context.engine, context.progress)
    distributions = load_distributions(context.workspace, plan)
    context.write(WORKLOAD, plan_workload(plan, context.read(INPUT_SUMMARY), distributions))
    items, clustered = _cluster_regions(context, plan, regions)
    _report_rounds(plan, clustered, context.progress)
    results = _aggregate_regions(context, plan, items, _allot(plan, items, clustered))
    context.write(REGIONS, [item.region for item in items])
    context.write(CLASS_TYPES, [result.class_type for result in results])
    context.write(REGION_RESULTS, [replace(result, hashes=NO_HASHES) for result in results])


def _explain(plan: Plan) -> str:
    """Say what is wrong with a release partition whose classes could not be brought within t."""
    reason = "a partition cannot meet the policy as one class"
    if plan.persons is None:
        return reason
    return (
        f"{reason}: it has fewer than {plan.k} persons, or is above a t over persons; publish a "
        "coarser partition, or lower privacy.k or raise the t"
    )


def _cluster_regions(
    context: PassContext, plan: Plan, regions: list[Region]
) -> tuple[list[RegionInput], list[ClusteredRegion]]:
    """Cluster all regions; those that cannot repair their clusters are joined, and done again."""
    histogram = context.read(HISTOGRAM)
    while True:
        ranges = locate_regions(plan, regions, histogram)
        items = write_row_ranges(context.workspace, regions, ranges)
        n_threads = count_threads(plan, context.engine, len(items))
        step = count_steps(plan, regions)
        items = [replace(item, n_threads=n_threads, sample_step=step) for item in items]
        clustered = _map_regions(context, MICROAGGREGATE_TASK, items, items)
        n_violating = [one.clusters.n_violating for one in clustered]
        joined = _join_failing(regions, n_violating, _explain(plan))
        if joined == regions:
            return items, clustered
        regions = joined


def _aggregate_regions(
    context: PassContext, plan: Plan, items: list[RegionInput], inputs: list[AggregateInput]
) -> list[RegionResult]:
    """Aggregate all regions; where classes of several are released alike and do not hold, again.

    Which classes are united then is written down first: a run that goes on unites the same.
    """
    results = _map_regions(context, AGGREGATE_TASK, items, inputs)
    if len(items) == 1 or not has_returning(plan) or results[0].levels is not None:
        return results
    united = context.find(UNITED) or [()] * len(items)
    demand = load_person_demand(context.workspace)
    assert demand is not None
    while True:
        again = [i for i, result in enumerate(results) if result.united != united[i]]
        before = sum(result.n_classes for result in results)
        anew = _map_regions(
            context,
            AGGREGATE_TASK,
            [items[i] for i in again],
            [replace(inputs[i], united=united[i]) for i in again],
            is_anew=True,
        )
        for i, result in zip(again, anew, strict=True):
            results[i] = result
        if again and sum(result.n_classes for result in results) == before:
            return results  # nothing is left to unite them with; verification says so
        failing = find_failing_unions(
            context.workspace,
            plan,
            [item.region.name for item in items],
            [result.hashes for result in results],
            [result.class_type for result in results],
            demand,
        )
        if not any(failing):
            return results
        united = [
            (*done, more) if more else done for done, more in zip(united, failing, strict=True)
        ]
        context.write(UNITED, united)


def _map_regions(
    context: PassContext,
    task: Task[Item, Result],
    regions: Sequence[RegionInput],
    items: Sequence[Item],
    *,
    is_anew: bool = False,
) -> list[Result]:
    """Do a task with an item of each region; ``is_anew``: also where it was done before."""
    return context.map(
        task,
        items,
        names=[region.region.name for region in regions],
        sizes=[region.n_records for region in regions],
        is_anew=is_anew,
    )


def _allot(
    plan: Plan, items: list[RegionInput], clustered: list[ClusteredRegion]
) -> list[AggregateInput]:
    """Regions with what they have to release, so that all of them keep the shares of values."""
    made = [
        AggregateInput(item, replace(one, sample=None))
        for item, one in zip(items, clustered, strict=True)
    ]
    samples = [one.sample for one in clustered if one.sample is not None]
    if not samples:
        return made
    sizes = [item.n_records / item.region.n_clusters for item in items]
    allotments = allot_shares(plan, samples, sizes)
    return [replace(one, allotment=its) for one, its in zip(made, allotments, strict=True)]


def _report_rounds(plan: Plan, clustered: list[ClusteredRegion], progress: Progress) -> None:
    """Losses after rounds, as means like eq. (5) or in shares, and largest distances.

    The first, the last, and those between that saved anything that counts: passes of perturbations
    are many, and most save little.
    """
    n_terms = plan.n_records * len(plan.encodings) * find_unit(plan.encodings)
    rounds = merge_rounds([one.clusters.rounds for one in clustered])
    told = math.inf
    for number, state in enumerate(rounds):
        if state.loss > (1 - TOLD) * told and number < len(rounds) - 1:
            continue
        told = state.loss
        what = f"round {number}" if number else "start"
        progress.confide(
            f"  {what}: loss {state.loss / n_terms:.3g}, largest EMD {state.largest_emd:.6f}"
        )


def _join_failing(regions: list[Region], n_violating: list[int], reason: str) -> list[Region]:
    """Join each region with classes above t with its neighbour in the release partition.

    Raises
    ------
    InfeasibleError
        It has no neighbour left: the ``reason``.
    """
    joined: list[Region] = []
    waiting = False
    for region, above in zip(regions, n_violating, strict=True):
        has_neighbour = joined and joined[-1].release_partition == region.release_partition
        if has_neighbour and (waiting or above):
            joined[-1] = Region(
                region.release_partition, joined[-1].first_cluster, region.last_cluster
            )
            waiting = False
            continue
        if waiting:
            raise InfeasibleError(reason)
        joined.append(region)
        waiting = above > 0
    if waiting:
        raise InfeasibleError(reason)
    return joined


MICROAGGREGATE = Pass(
    "microaggregate",
    "Make the classes of every region.",
    reads=(
        PLAN,
        INPUT_SUMMARY,
        JOINTS,
        DISTRIBUTIONS,
        HISTOGRAM,
        RECORDS,
        PASSTHROUGH,
        MERGED_PERSON_VALUES,
        PERSON_SHARES,
        SERIES,
        UNITS,
        EARLIER,
    ),
    writes=(WORKLOAD, REGIONS, CLASS_TYPES, REGION_RESULTS),
    tasks=(MICROAGGREGATE_TASK, AGGREGATE_TASK),
    own=(ROW_RANGES, UNITED),
    work=microaggregate,
    version=35,
)
