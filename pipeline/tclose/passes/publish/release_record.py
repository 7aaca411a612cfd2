"""The facts of a run that its manifests, reports and lineage are built from."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from tclose.data.value_counts import count_in_category
from tclose.model.input_pieces import InputFile
from tclose.model.verification import Verdict
from tclose.passes.compare.record_digests import Compared
from tclose.passes.microaggregate.aggregate_task import REGION_RESULTS
from tclose.passes.microaggregate.analyses.untold_changes import find_untold
from tclose.passes.microaggregate.analyses.workload import WORKLOAD
from tclose.passes.microaggregate.losses import Losses, compared_columns, merge_losses, name_shares
from tclose.passes.microaggregate.search.rounds import Round, merge_rounds
from tclose.passes.persons.person_sketch import PERSON_SKETCHES
from tclose.passes.plan.notices.same_input_warning import find_others
from tclose.passes.plan.plan import Plan
from tclose.passes.plan.plan_files import load_distributions
from tclose.passes.publish.analyses_summary import add_analyses
from tclose.passes.publish.analysis import describe_analysis, find_previous
from tclose.passes.publish.describe_series import describe_series
from tclose.passes.publish.exposure_over_time import describe_exposure
from tclose.passes.publish.figures import describe_figures
from tclose.passes.publish.uniques_before_after import describe_uniques
from tclose.passes.publish.utility_summary import describe_utility
from tclose.passes.publish.write_task import FileResult
from tclose.passes.series.link_persons import SERIES
from tclose.passes.series.register_release import REGISTER, SERIES_VERDICT
from tclose.passes.summarise.input_summary import INPUT_SUMMARY
from tclose.passes.suppress.suppress_records import SUPPRESSION
from tclose.passes.verify.class_profiles import CLASS_PROFILE
from tclose.policy.policy import Policy
from tclose.releases.composition.noise_draws import Draw
from tclose.releases.composition.same_input import Sibling
from tclose.releases.manifest.figure_sections import ReleaseFigures
from tclose.releases.manifest.inside_sections import ExposureSection, SeriesSection
from tclose.releases.manifest.internal_manifest import (
    Analysis,
    PersonSketch,
    PreviousRelease,
    Utility,
)
from tclose.releases.manifest.plan_document import PlanWarning
from tclose.releases.manifest.sections import (
    DataFile,
)
from tclose.runtime.run import INSPECTION, SECONDS, Run


@dataclass(frozen=True)
class Loss:
    """Information loss: the mean of the squared normalised differences.

    Soria-Comas et al. 2015, eq. 5.

    ``per_attribute``: over records, for each quasi-identifier; ``total``: over these. Of a nominal
    one with a taxonomy the hierarchical distance to the released value stands for the square.
    """

    total: float
    per_attribute: dict[str, float]

    def rounded(self) -> "Loss":
        """Return it to three digits: all of them would show what the rounding of a mean hides."""
        per_attribute = {name: float(f"{v:.3g}") for name, v in self.per_attribute.items()}
        return Loss(float(f"{self.total:.3g}"), per_attribute)


@dataclass(frozen=True)
class ReleaseRecord:
    """The facts of a run that manifests are built from.

    ``utility``: what the release changes for analysis; ``draws``: earlier ones of the same noise;
    ``siblings``: releases of the same input files in the output folder, with other rows;
    ``levels``: that each release partition was generalised to; ``compared``: in which columns every
    record was found to be one of the input's, or of those held; ``versions``: of the code, as in
    the release's id;
    ``analysis``: values before and after; ``previous``: the release that is the current one so far;
    ``exposure``: earlier releases of the same persons;
    ``n_read``: records, held ones among them, but not those that were left out for another reason
    than a missing value;
    ``n_suppressed``: those left out as isolated ones; ``n_missing``: records without a value that
    is needed, of each column that has any; ``n_in_category``: those that have a category instead.
    """

    release_id: str
    policy: Policy
    plan: Plan
    verdict: Verdict
    loss: Loss
    utility: Utility
    files: tuple[DataFile, ...]
    inputs: tuple[InputFile, ...]
    n_read: int
    n_missing: Mapping[str, int]
    n_in_category: Mapping[str, int]
    n_clusters: int
    n_repaired: int
    rounds: tuple[Round, ...]
    seconds: dict[str, float]
    published_at: str
    compared: Compared
    figures: ReleaseFigures
    versions: Mapping[str, dict[str, int]]
    draws: tuple[Draw, ...]
    siblings: tuple[Sibling, ...]
    levels: tuple[tuple[int, ...], ...]
    analysis: Analysis
    previous: PreviousRelease | None
    exposure: ExposureSection | None
    sketches: tuple[PersonSketch, ...]
    over_time: SeriesSection | None
    n_suppressed: int
    warnings: tuple[PlanWarning, ...] = ()

    @property
    def n_held(self) -> int:
        """Records of persons who left, held from the release before."""
        return 0 if self.over_time is None else self.over_time.stale


def gather_record(
    run: Run,
    plan: Plan,
    verdict: Verdict,
    files: list[FileResult],
    compared: Compared,
    draws: tuple[Draw, ...],
) -> ReleaseRecord:
    """Gather the facts of a run whose files are written; see `ReleaseRecord`."""
    workspace = run.workspace
    results = workspace.load(REGION_RESULTS)
    summary = workspace.load(INPUT_SUMMARY)
    table = summary.table
    lost = merge_losses([result.losses for result in results])
    losses = lost.means.tolist()
    names = [e.column.name for e in plan.encodings]
    utility, analysis, figures = _describe_changes(run, plan, verdict, lost)
    sketches = workspace.load(PERSON_SKETCHES)
    over_time = describe_series(
        run.policy, workspace.load(SERIES), workspace.load(SERIES_VERDICT), map_register(run)
    )
    return ReleaseRecord(
        release_id=run.release_id,
        policy=run.policy,
        plan=plan,
        verdict=verdict,
        loss=Loss(sum(losses) / len(losses), dict(zip(names, losses, strict=True))),
        utility=utility,
        analysis=analysis,
        previous=find_previous(run.repository, run.release_id),
        files=tuple(
            DataFile(path=f.path, rows=f.rows, bytes=f.bytes, sha256=f.sha256) for f in files
        ),
        inputs=tuple(content.file for content in workspace.load(INSPECTION)),
        n_read=table.n_read,
        n_suppressed=sum(one.n_left_out for one in workspace.load(SUPPRESSION)),
        n_missing={name: c.n_missing for name, c in table.columns.items() if c.n_missing},
        n_in_category=count_in_category(table, summary.source.columns),
        n_clusters=sum(result.n_clusters for result in results),
        n_repaired=sum(result.n_repaired for result in results),
        rounds=merge_rounds([result.rounds for result in results]),
        seconds=workspace.find(SECONDS) or {},
        published_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        draws=draws,
        sketches=sketches,
        over_time=over_time,
        exposure=describe_exposure(run, sketches, over_time),
        siblings=find_others(run, frozenset(file.sha256 for file in files)),
        levels=tuple(result.levels for result in results if result.levels is not None),
        compared=compared,
        figures=figures,
        versions=run.versions,
    )


def _describe_changes(
    run: Run, plan: Plan, verdict: Verdict, lost: Losses
) -> tuple[Utility, Analysis, ReleaseFigures]:
    """Describe what the release changes: for analysis, before and after, and in pictures."""
    columns, distributions = compared_columns(plan), load_distributions(run.workspace, plan)
    utility = describe_utility(lost.comparison, columns, name_shares(lost, plan), plan.k)
    utility = add_analyses(utility, lost, plan, run.workspace.load(WORKLOAD))
    analysis = describe_analysis(lost, plan, describe_uniques(run, plan, verdict))
    untold = find_untold(plan, columns, lost.comparison.original, distributions)
    profile, correlations = run.workspace.load(CLASS_PROFILE), analysis.correlations
    figures = describe_figures(plan, profile, distributions, utility, correlations, untold)
    return utility, analysis, figures


def map_register(run: Run) -> memoryview:
    """Map the register of the release, as it was verified; empty if there is none."""
    if not run.workspace.load(SERIES):
        return memoryview(b"")
    return run.workspace.file(REGISTER, 0).read().data
