"""The public manifest, which goes with the data.

It says what the columns are, what was asked, what was reached, and what identifies
each file. It does not say where the data came from, which seed was used, or, but in whole percent,
how many records were left out.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tclose.model.input_pieces import InputFile
from tclose.model.verification import Verdict
from tclose.passes.compare.record_digests import Compared
from tclose.passes.microaggregate.search.rounds import Round
from tclose.passes.plan.plan import Plan
from tclose.passes.publish.describe_privacy import (
    describe_noise,
    describe_privacy,
    describe_sizes,
)
from tclose.passes.publish.transformations import describe_columns
from tclose.policy.policy import Policy
from tclose.policy.sections.attribute_settings import AttributeSettings
from tclose.releases.composition.noise_draws import Draw
from tclose.releases.composition.same_input import Sibling
from tclose.releases.documents import list_documents, make_documents
from tclose.releases.manifest.figure_sections import About, ReleaseFigures
from tclose.releases.manifest.inside_sections import ExposureSection, SeriesSection
from tclose.releases.manifest.internal_manifest import (
    Analysis,
    PersonSketch,
    PreviousRelease,
    Utility,
)
from tclose.releases.manifest.plan_document import PlanWarning
from tclose.releases.manifest.privacy_summary import (
    describe_risk,
)
from tclose.releases.manifest.public_manifest import FORMAT, Manifest
from tclose.releases.manifest.sections import (
    Code,
    DataFile,
    HeldSection,
    InformationLoss,
    LeftOutSection,
    RecordComparison,
    Refinement,
    ReleasedColumn,
    RoundEntry,
    SuppressedSection,
)
from tclose.releases.provenance import code_version


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
    draws: tuple[Draw, ...] = ()
    siblings: tuple[Sibling, ...] = ()
    levels: tuple[tuple[int, ...], ...] = ()
    warnings: tuple[PlanWarning, ...] = ()
    analysis: Analysis | None = None
    previous: PreviousRelease | None = None
    exposure: ExposureSection | None = None
    sketches: tuple[PersonSketch, ...] = ()
    over_time: SeriesSection | None = None
    n_suppressed: int = 0

    @property
    def n_held(self) -> int:
        """Records of persons who left, held from the release before."""
        return 0 if self.over_time is None else self.over_time.stale


def is_earlier(manifest: Manifest, dictionary: str) -> bool:
    """Return whether a manifest is older than the measures of further models and attacks.

    An edited one from which they were taken out is none: it says so by its format, by what is left
    of them, or by the data dictionary that was made of it.
    """
    says_models = manifest.privacy.models is not None or "\n| models |" in dictionary
    return manifest.format == 1 and manifest.risk is None and not says_models


def public_manifest(account: ReleaseRecord) -> tuple[Manifest, dict[str, bytes]]:
    """Build what may be handed out with the data: the public manifest, and its documents."""
    columns = [
        add_words(column, account.policy.attributes[column.name])
        for column in describe_columns(account.plan, account.levels)
    ]
    manifest = Manifest(
        format=FORMAT,
        name=account.policy.name,
        release_id=account.release_id,
        published_at=account.published_at,
        verdict="pass" if account.verdict.passed else "fail",
        method=account.policy.method.name,
        privacy=describe_privacy(
            account.verdict,
            [encoding.column for encoding in account.plan.confidential],
            [column.name for column in columns if column.bucketed],
        ),
        noise=describe_noise(account.plan, account.verdict),
        values=describe_comparison(account),
        records=account.verdict.n_records,
        classes=describe_sizes(account.verdict.sizes),
        risk=describe_risk(account.verdict, account.plan.k),
        information_loss=describe_loss(account.loss.rounded()),
        refinement=describe_search(account),
        figures=account.figures,
        partition_by=list(account.policy.output.partition_by),
        columns=columns,
        files=list(account.files),
        code=Code(tclose=code_version()["tclose"]),
    )
    more: dict[str, object] = {}
    if (about := account.policy.about) is not None:
        more["about"] = About(**about.model_dump(exclude_none=True))
    if account.n_read > account.verdict.n_records:
        more["left_out"] = describe_left_out(account, {column.name for column in columns})
    if account.n_suppressed:
        more["suppressed"] = describe_suppressed(account)
    over_time = account.policy.privacy.over_time
    if over_time is not None and over_time.most_held is not None:
        more["held"] = HeldSection(percent=-(-100 * account.n_held // account.verdict.n_records))
    manifest = manifest.model_copy(update=more)
    documents = make_documents(manifest)
    return manifest.model_copy(update={"documents": list_documents(documents)}), documents


def describe_left_out(account: ReleaseRecord, released: Collection[str]) -> LeftOutSection:
    """Describe the records left out, for columns that are released, in percent rounded up."""

    def percent(n_records: int) -> int:
        return -(-100 * n_records // (account.n_read - account.n_held))

    return LeftOutSection(
        percent=percent(account.n_read - account.verdict.n_records),
        by_column={
            name: percent(n_records)
            for name, n_records in account.n_missing.items()
            if name in released
        },
    )


def describe_suppressed(account: ReleaseRecord) -> SuppressedSection:
    """Describe the records left out as isolated ones, in percent of complete ones, rounded up."""
    n_complete = account.verdict.n_records + account.n_suppressed
    return SuppressedSection(percent=-(-100 * account.n_suppressed // n_complete))


def add_words(column: ReleasedColumn, settings: AttributeSettings) -> ReleasedColumn:
    """The column with the publisher's words for it, if there are any."""
    words = {key: getattr(settings, key) for key in ("label", "unit", "description")}
    return column.model_copy(update={k: v for k, v in words.items() if v is not None})


def describe_loss(loss: Loss) -> InformationLoss:
    """Information loss of all quasi-identifiers and of each."""
    return InformationLoss(total=loss.total, per_attribute=loss.per_attribute)


def describe_comparison(account: ReleaseRecord) -> RecordComparison:
    """Name the columns in which each released record is one of the input's, and none is lost."""
    compared = account.compared
    return RecordComparison(
        compared=list(compared.columns),
        as_buckets=list(compared.bucketed),
        left_out=dict(compared.left_out),
        records=account.verdict.n_records,
        result="identical or held" if account.n_held else "identical",
    )


def describe_search(account: ReleaseRecord) -> Refinement:
    """Describe the search that was asked for.

    Clusters that are released alike are one equivalence class, so there may be fewer of these.
    """
    return Refinement(asked=account.policy.method.refine, clusters=account.n_clusters)


def describe_rounds(account: ReleaseRecord) -> list[RoundEntry]:
    """List the rounds of the search: losses as eq. (5), to three digits."""
    n_terms = account.verdict.n_records * len(account.plan.encodings)
    return [
        RoundEntry(loss=float(f"{r.loss / n_terms:.3g}"), largest_emd=round(r.largest_emd, 6))
        for r in account.rounds
    ]
