"""Expected costs of a run, pass by pass: seconds, megabytes per worker, megabytes on disk."""

from tclose.passes.plan.notices.compile_notice import kernels_are_compiled
from tclose.passes.plan.notices.costs.calibration import NO_CALIBRATION, WorkSeconds
from tclose.passes.plan.notices.costs.class_seconds import (
    ClassWork,
    count_class_work,
    expect_classes,
    is_searched,
)
from tclose.passes.plan.notices.costs.expected_megabytes import expect_disk, expect_memory
from tclose.passes.plan.notices.costs.pass_seconds import expect_passes
from tclose.passes.plan.notices.costs.run_scope import RunScope
from tclose.passes.plan.plan import Plan
from tclose.releases.manifest.plan_document import CostEstimate, StepEstimate

# Until the first pass begins, and after the last one: Python, imports; and a cluster.
START_SECONDS, CLUSTER_SECONDS = 0.8, 0.8
COMPILE_SECONDS = 26.0
LOADING_SECONDS = 0.2  # until a process has loaded the kernels of the microaggregation


def estimate_run(
    plan: Plan,
    scope: RunScope,
    tried: ClassWork | None = None,
    calibration: WorkSeconds | None = None,
) -> CostEstimate:
    """Estimate the cost of a run.

    Parameters
    ----------
    tried : what all classes take on this machine by a trial on a sample
    calibration : times that work takes longer here than on the reference's machine
    """
    factors = calibration or NO_CALIBRATION
    seconds = {name: each * factors.records for name, each in expect_passes(plan, scope).items()}
    share = plan.n_clustered / max(1, plan.n_records)  # a trial clusters all that it has
    work = _count_work(plan, factors) if tried is None else tried.times(share)
    loading = LOADING_SECONDS * factors.records
    seconds["microaggregate"] = loading + expect_classes(plan, scope, work)
    start = START_SECONDS + (0.0 if scope.alone else CLUSTER_SECONDS)
    compiling = expect_compiling(plan) * factors.records
    megabytes = expect_memory(plan, scope)
    return CostEstimate(
        megabytes=max(megabytes.values()),
        seconds=start * factors.records + compiling + sum(seconds.values()),
        on="this process" if scope.alone else f"{scope.n_workers} workers",
        steps=tuple(
            StepEstimate(name=name, seconds=seconds[name], megabytes=of_pass)
            for name, of_pass in megabytes.items()
        ),
        disk_megabytes=expect_disk(plan, scope),
        compile_seconds=compiling or None,
        calibrated=calibration is not None,
    )


def _count_work(plan: Plan, factors: WorkSeconds) -> ClassWork:
    """Seconds of a processor of this machine, by counts."""
    counted = count_class_work(plan)
    is_timed = plan.search_budget.seconds is not None
    search = counted.search * (1.0 if is_timed else factors.search)
    return ClassWork(counted.clusters * factors.classes, search)


def expect_compiling(plan: Plan) -> float:
    """Seconds that compiling takes where it is still to be done; other methods' take few."""
    if not plan.method.cuts_by_subsets and not is_searched(plan):
        return 0.0
    is_done = kernels_are_compiled(plan.search_budget, keeps_persons=plan.keeps_persons)
    return 0.0 if is_done else COMPILE_SECONDS


def describe_estimate(estimate: CostEstimate) -> str:
    """Describe it in a line of a run, which has made no trial."""
    disk = f", {estimate.disk_megabytes:,.0f} MB on disk" if estimate.disk_megabytes else ""
    compiling = ""
    if estimate.compile_seconds is not None:
        compiling = f" with {estimate.compile_seconds:,.0f} s to compile the kernels"
    return (
        f"expected by counts: about {estimate.seconds:,.0f} s on {estimate.on}{compiling}, "
        f"{estimate.megabytes:,.0f} MB per worker{disk}"
    )
