"""Expected costs of a run, pass by pass: seconds, megabytes per worker, megabytes on disk."""

from tclose.passes.plan.notices.compile_notice import kernels_are_compiled
from tclose.passes.plan.notices.costs.calibration import NO_CALIBRATION, WorkSeconds
from tclose.passes.plan.notices.costs.class_seconds import (
    ClassWork,
    count_class_work,
    expect_classes,
    is_searched,
    split_trial,
)
from tclose.passes.plan.notices.costs.expected_disk import expect_disk
from tclose.passes.plan.notices.costs.expected_memory import expect_memory
from tclose.passes.plan.notices.costs.pass_seconds import expect_passes
from tclose.passes.plan.notices.costs.run_scope import RunScope
from tclose.passes.plan.plan import Plan
from tclose.releases.manifest.plan_document import CostEstimate, StepEstimate

# Until the first pass begins, and after the last one: Python, imports; and a cluster.
START_SECONDS, CLUSTER_SECONDS = 0.8, 0.8
COMPILE_SECONDS = 35.0


def estimate_run(
    plan: Plan,
    scope: RunScope,
    tried_seconds: float | None = None,
    calibration: WorkSeconds | None = None,
) -> CostEstimate:
    """Estimate the cost of a run.

    Parameters
    ----------
    tried_seconds : of a processor of this machine, that all classes take by a trial on a sample
    calibration : times that work takes longer here than on the reference's machine
    """
    factors = calibration or NO_CALIBRATION
    seconds = {name: each * factors.records for name, each in expect_passes(plan, scope).items()}
    work = _class_work(plan, tried_seconds, factors)
    seconds["microaggregate"] = expect_classes(plan, scope, work)
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


def _class_work(plan: Plan, tried_seconds: float | None, factors: WorkSeconds) -> ClassWork:
    """Seconds of a processor of this machine; a trial has taken them here."""
    counted = count_class_work(plan)
    clusters = counted.clusters * factors.classes
    if tried_seconds is None:
        timed = plan.search_budget.seconds is not None
        return ClassWork(clusters, counted.search * (1.0 if timed else factors.search))
    return split_trial(plan, tried_seconds, clusters)


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
