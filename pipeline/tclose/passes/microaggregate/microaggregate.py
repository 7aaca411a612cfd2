"""The microaggregate pass: classes of every region; those that cannot repair theirs are joined."""

from dataclasses import replace

from tclose.errors import InfeasibleError
from tclose.passes.encode.encode_task import HISTOGRAM, PASSTHROUGH, RECORDS
from tclose.passes.encode.region_bins import locate_regions
from tclose.passes.microaggregate.analyses.workload import WORKLOAD, plan_workload
from tclose.passes.microaggregate.gather_region import ROW_RANGES, RegionInput, write_row_ranges
from tclose.passes.microaggregate.region_task import (
    CLASS_TYPES,
    MICROAGGREGATE_TASK,
    REGION_RESULTS,
    REGIONS,
    RegionResult,
)
from tclose.passes.microaggregate.region_values import COUNT_TASK, share_partitions
from tclose.passes.microaggregate.representatives import apportion_regions, represented
from tclose.passes.microaggregate.search.rounds import merge_rounds
from tclose.passes.persons.person_values import MERGED_PERSON_VALUES, PERSON_SHARES
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
    regions, results = _make_classes(context, plan, regions)
    _report_rounds(plan, results, context.progress)
    context.write(REGIONS, regions)
    context.write(CLASS_TYPES, [result.class_type for result in results])
    context.write(REGION_RESULTS, results)


def _explain(plan: Plan) -> str:
    """Say what is wrong with a release partition whose classes could not be brought within t."""
    reason = "a partition cannot meet the policy as one class"
    if plan.persons is None:
        return reason
    return (
        f"{reason}: it has fewer than {plan.k} persons, or is above a t over persons; publish a "
        "coarser partition, or lower privacy.k or raise the t"
    )


def _make_classes(
    context: PassContext, plan: Plan, regions: list[Region]
) -> tuple[list[Region], list[RegionResult]]:
    """Make the classes of all regions; those that cannot repair theirs are joined, and done again.

    What a region has to release does not depend on which others are joined, so the results of those
    that are not stay.
    """
    histogram = context.read(HISTOGRAM)
    while True:
        ranges = locate_regions(plan, regions, histogram)
        items = write_row_ranges(context.workspace, regions, ranges)
        if represented(plan) and len(items) > 1:
            items = _share_values(context, items)
        n_threads = count_threads(plan, context.engine, len(items))
        results = context.map(
            MICROAGGREGATE_TASK,
            [replace(item, n_threads=n_threads) for item in items],
            names=[item.region.name for item in items],
            sizes=[item.n_records for item in items],
        )
        joined = _join_failing(regions, [r.n_violating for r in results], _explain(plan))
        if joined == regions:
            return regions, results
        regions = joined


def _share_values(context: PassContext, items: list[RegionInput]) -> list[RegionInput]:
    """The same, with the records that each region has to release of each value."""
    counted = share_partitions(items)
    counts = context.map(
        COUNT_TASK, counted, names=[f"{len(items)}-{one.first}" for one in counted]
    )
    sizes = [item.n_records / item.region.n_clusters for item in items]
    of_columns = [apportion_regions(sum(parts), sizes) for parts in zip(*counts, strict=True)]
    return [
        replace(item, wanted=wanted)
        for item, wanted in zip(items, zip(*of_columns, strict=True), strict=True)
    ]


def _report_rounds(plan: Plan, results: list[RegionResult], progress: Progress) -> None:
    """Each round's loss, as a mean like eq. (5), and largest distance."""
    n_terms = plan.n_records * len(plan.encodings)
    for number, state in enumerate(merge_rounds([result.rounds for result in results])):
        what = f"round {number}" if number else "start"
        progress.info(
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
        if joined and waiting and joined[-1].release_partition == region.release_partition:
            joined[-1] = Region(
                region.release_partition, joined[-1].first_cluster, region.last_cluster
            )
            waiting = False
            continue
        if above and joined and joined[-1].release_partition == region.release_partition:
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
    tasks=(MICROAGGREGATE_TASK, COUNT_TASK),
    own=(ROW_RANGES,),
    work=microaggregate,
    version=17,
)
