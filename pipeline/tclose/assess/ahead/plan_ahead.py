"""A plan as a release officer reads it: decided on all records, and tried on some of them."""

from collections.abc import Mapping, Sequence

import numpy as np

from tclose.assess.ahead.calibrate import calibrate
from tclose.assess.ahead.expected_exposure import expect_exposure, warn_of_exposure
from tclose.assess.ahead.expected_losses import (
    SAMPLED,
    SAMPLED_BY_PARTS,
    SAMPLED_SOON,
    WHOLE_SOON,
    ExpectedLosses,
    expect_losses,
)
from tclose.data.keys import Encoding
from tclose.errors import UsageError
from tclose.methods.scaling import find_shares_lost
from tclose.model.array_types import Float64, Int64
from tclose.passes.plan.notices.costs.run_scope import find_scope
from tclose.passes.plan.notices.costs.step_costs import estimate_run
from tclose.passes.plan.notices.lost_columns import warn_of_lost
from tclose.passes.plan.plan import Plan
from tclose.passes.release import deciding, describe_decided
from tclose.passes.series.headroom import share_of_classes_left
from tclose.policy.policy import Policy
from tclose.policy.warning_kinds import ONE_CLASS
from tclose.releases.manifest.plan_document import (
    CostEstimate,
    PlanDocument,
    PlannedExposure,
    PlannedLoss,
    PlannedPrice,
    PlannedSeries,
)
from tclose.releases.manifest.privacy_summary import three_digits
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.run import INSPECTION
from tclose.runtime.scratch import scratch_folder
from tclose.runtime.strictness import refuse_warnings

LEAST_SAMPLED = 100  # fewer say nothing


def plan_ahead(
    policy: Policy, progress: Progress, n_sampled: int | None = None
) -> tuple[PlanDocument, CostEstimate, int]:
    """Return what a release would be, what it is expected to lose and to take, and who is dropped.

    Parameters
    ----------
    n_sampled : records that losses are estimated from; 0 for no estimate; by default as many as
        the method is usually tried on

    Raises
    ------
    UsageError
        The sample is too small. Otherwise as a run is refused.
    """
    if n_sampled and n_sampled < LEAST_SAMPLED:
        raise UsageError(f"--sample {n_sampled}: has to be 0, or at least {LEAST_SAMPLED} records")
    with scratch_folder("plan") as scratch, deciding(policy, scratch, progress) as (run, decided):
        document, n_dropped = describe_decided(run, decided)
        plan, work = decided.plan, None
        if n_sampled is None:
            n_sampled = _choose_size(plan)
        if n_sampled:
            expected = expect_losses(run, plan, scratch, n_sampled, progress)
            document = _add_losses(document, plan.encodings, expected)
            refuse_warnings(document.warnings, policy.engine)
            exposure = expect_exposure(run, plan, scratch, n_sampled, progress)
            document = _add_exposure(document, exposure)
            if not isinstance(expected, str) and not expected.is_faster:
                work = expected.work
        scope = find_scope(plan, run.workspace, run.workspace.load(INSPECTION), policy.engine)
        calibration = calibrate(scratch, progress)
        return document, estimate_run(plan, scope, work, calibration), n_dropped


def _choose_size(plan: Plan) -> int:
    """The number of records that a release is tried on, which takes a second, or a few."""
    if plan.method.cuts_by_subsets and plan.search_budget.is_short:
        return WHOLE_SOON if plan.n_records <= WHOLE_SOON else SAMPLED_SOON
    is_by_parts = plan.method.cuts_by_subsets or plan.method.generalises
    return SAMPLED_BY_PARTS if is_by_parts else SAMPLED


def _add_losses(
    document: PlanDocument, encodings: Sequence[Encoding], expected: ExpectedLosses | str
) -> PlanDocument:
    """The plan with what is expected to be lost, or with the reason why that is not known."""
    if isinstance(expected, str):
        loss = PlannedLoss(reason=expected)
        return document.model_copy(update={"expected_loss": loss})
    loss = PlannedLoss(
        total=_mean(expected.kept),
        of_sample=_mean(expected.sampled),
        sampled=expected.n_sampled,
        of=document.records,
        is_faster=expected.is_faster,
    )
    names = [encoding.column.name for encoding in encodings]
    shares = find_shares_lost(encodings, expected.kept)
    kept_losses, sampled = _by_name(names, expected.kept), _by_name(names, expected.sampled)
    columns = tuple(
        column.model_copy(
            update={
                "expected_loss": kept_losses[column.name],
                "loss_of_sample": sampled[column.name],
                "of_one_class": shares.get(column.name),
                "shares": expected.shares.get(column.name),
            }
        )
        if column.name in kept_losses
        else column
        for column in document.columns
    )
    changed: dict[str, object] = {"expected_loss": loss, "columns": columns}
    if not any(one.code == ONE_CLASS.code for one in document.warnings):
        lost = warn_of_lost(encodings, expected.kept, is_expected=True)
        changed["warnings"] = (*document.warnings, *lost)
    if document.over_time is not None:
        changed["over_time"] = _expect_classes_left(document.over_time, expected.class_sizes)
    if expected.with_all is not None and document.suppression is not None:
        price = PlannedPrice(
            loss=_mean(expected.sampled),
            loss_with_all=_mean(expected.with_all),
            loss_of=sampled,
            loss_with_all_of=_by_name(names, expected.with_all),
            of_one_class=_round(find_shares_lost(encodings, expected.sampled)),
            of_one_class_with_all=_round(find_shares_lost(encodings, expected.with_all)),
            sampled=expected.n_sampled,
            sampled_left_out=expected.n_left_out,
        )
        changed["suppression"] = document.suppression.model_copy(update={"price": price})
    return document.model_copy(update=changed)


def _expect_classes_left(series: PlannedSeries, sizes: Int64) -> PlannedSeries:
    """Estimate how many classes 1 to k - 1 persons leave, by the sizes of classes in a trial."""
    distinct, counts = np.unique(sizes, return_counts=True)
    chances = np.array(
        [share_of_classes_left(size, series.k, series.churn) for size in distinct.tolist()]
    )
    in_classes = float(np.average(chances, weights=counts))
    in_records = float(np.average(chances, weights=counts * distinct))
    update = {"expected_classes_left": in_classes, "expected_records_left": in_records}
    return series.model_copy(update=update)


def _add_exposure(document: PlanDocument, exposure: PlannedExposure | None) -> PlanDocument:
    """The plan with what earlier releases of the same persons and this one tell together."""
    if exposure is None:
        return document
    warnings = warn_of_exposure(document.warnings, exposure, document.k)
    return document.model_copy(update={"expected_exposure": exposure, "warnings": warnings})


def _by_name(names: Sequence[str], losses: Float64) -> dict[str, float]:
    return _round(dict(zip(names, losses.tolist(), strict=True)))


def _round(losses: Mapping[str, float]) -> dict[str, float]:
    return {name: three_digits(lost) for name, lost in losses.items()}


def _mean(losses: Float64) -> float:
    return three_digits(float(losses.mean()))
