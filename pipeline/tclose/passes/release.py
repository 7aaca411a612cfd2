"""The release as a value: its passes in their order, and what each reads and writes.

Between passes travel paths and small values only, never a table. Everything that makes a release,
or a part of one, runs this pipeline or its beginning: the command, the Prefect flow, the frontier,
samples, and audits beside the originals.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tclose.data.files import input_files
from tclose.data.value_counts import TableSummary
from tclose.passes.encode.encode import ENCODE
from tclose.passes.inspect.inspect_files import INSPECT
from tclose.passes.microaggregate.microaggregate import MICROAGGREGATE
from tclose.passes.persons.named_key import find_key_id
from tclose.passes.plan.decide import DECIDE
from tclose.passes.plan.describe_plan import describe_plan
from tclose.passes.plan.notices.plan_warnings import PLAN_WARNINGS
from tclose.passes.plan.notices.same_input_warning import warn_by_policy
from tclose.passes.plan.plan import PLAN, Plan
from tclose.passes.plan.plan_files import load_distributions
from tclose.passes.publish.describe_series import plan_series
from tclose.passes.publish.planned_columns import describe_planned_columns
from tclose.passes.publish.publish import PUBLISH
from tclose.passes.series.link_persons import SERIES
from tclose.passes.summarise.input_summary import INPUT_SUMMARY
from tclose.passes.summarise.summarise import SUMMARISE
from tclose.passes.suppress.suppress_records import SUPPRESSION, plan_suppression
from tclose.passes.verify.verdict import VERDICT, VERIFY
from tclose.policy.policy import Policy
from tclose.releases.manifest.plan_document import (
    PlanDocument,
    PlannedSeries,
    PlannedSuppression,
    PlanWarning,
)
from tclose.releases.provenance import byte_versions
from tclose.releases.repository.repository import read_manifest
from tclose.releases.signatures.manifest_signature import find_signer
from tclose.runtime.engines.engine import open_engine
from tclose.runtime.engines.scheduler import check_scheduler
from tclose.runtime.monitoring.lineage_events import LINEAGE
from tclose.runtime.monitoring.metrics import counting_run
from tclose.runtime.monitoring.progress import Progress
from tclose.runtime.open_run import identify_release, open_run
from tclose.runtime.pipeline import Pipeline, run_pipeline
from tclose.runtime.run import (
    INSPECTION,
    SECONDS,
    Outcome,
    Run,
    outcome_of,
)
from tclose.runtime.strictness import refuse_warnings

RELEASE = Pipeline(
    given=(LINEAGE, SECONDS),
    passes=(INSPECT, SUMMARISE, DECIDE, ENCODE, MICROAGGREGATE, VERIFY, PUBLISH),
)
TRIAL = RELEASE.until(VERDICT)  # what a release would be; nothing is published


def open_release(
    policy: Policy, progress: Progress, *, flow_run: str | None = None
) -> contextlib.AbstractContextManager[Run]:
    """Open a run that makes a release by what `RELEASE` has after inspection: see `open_run`."""
    return open_run(policy, progress, RELEASE, find_key_id, flow_run=flow_run)


def run_release(policy: Policy, progress: Progress) -> Outcome:
    """Make and publish the release that a policy asks for, or raise and publish nothing."""
    with (
        counting_run(policy.name, progress.warn) as outcomes,
        open_release(policy, progress) as run,
    ):
        already_published = run.is_published
        if not already_published:
            run_pipeline(RELEASE.after(INSPECTION), run, progress)
        outcomes.append(outcome_of(run, already_published=already_published))
        return outcomes[-1]


class Decided(NamedTuple):
    """The plan of a release that was not made, and what belongs to it."""

    plan: Plan
    table: TableSummary
    warnings: tuple[PlanWarning, ...]
    series: PlannedSeries | None
    suppression: PlannedSuppression | None


@contextlib.contextmanager
def deciding(policy: Policy, scratch: Path, progress: Progress) -> Iterator[tuple[Run, Decided]]:
    """Decide what a run of the policy would be, in a scratch folder.

    The run's working files and its engine are there for the block.
    """
    check_scheduler(policy.engine)
    find_signer(policy.output.signing_key)
    n_bytes = input_files.total_bytes(input_files.find_files(policy.input))
    with open_engine(policy.engine, n_bytes) as engine:
        run = Run(policy, "plan", scratch / "work", engine)
        run_pipeline(RELEASE.until(PLAN), run, progress)
        warnings = (*run.workspace.load(PLAN_WARNINGS), *warn_by_policy(run))
        refuse_warnings(warnings, policy.engine)
        yield (
            run,
            Decided(
                run.workspace.load(PLAN),
                run.workspace.load(INPUT_SUMMARY).table,
                warnings,
                plan_series(policy, run.workspace.load(SERIES)),
                plan_suppression(run.workspace.load(SUPPRESSION)),
            ),
        )


def find_published(run: Run) -> str | None:
    """Name and id of the release that a run of this policy would find published; None if none.

    Where the release key is not at hand it cannot be told.
    """
    key = run.repository.find_release_key()
    if key is None:
        return None
    versions = byte_versions(run.policy, RELEASE.after(INSPECTION).versions)
    release_id = identify_release(run.policy, run.workspace.load(INSPECTION), versions, key)
    is_there = read_manifest(run.repository.release(release_id)) is not None
    return f"{run.policy.name}/{release_id}" if is_there else None


def describe_decided(run: Run, decided: Decided) -> tuple[PlanDocument, int]:
    """Describe what a run would be, column by column, and count the records it would drop."""
    plan, table = decided.plan, decided.table
    described = describe_plan(plan, decided.warnings, decided.series, decided.suppression)
    distributions = load_distributions(run.workspace, plan)
    summary = run.workspace.load(INPUT_SUMMARY)
    columns = describe_planned_columns(run.policy, plan, summary, distributions)
    published = find_published(run)
    described = described.model_copy(update={"columns": columns, "published": published})
    return described, table.n_read - table.n_complete
