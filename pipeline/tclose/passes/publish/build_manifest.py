"""Manifests: the public one goes with the data, the full one stays inside.

The public manifest says what the columns are, what was asked, what was reached, and what identifies
each file. It does not say where the data came from, which seed was used, or, but in whole percent,
how many records were left out.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import inf, nextafter

from tclose.data.files.staged_input import find_name
from tclose.model.attributes import Column
from tclose.model.input_pieces import InputFile
from tclose.model.verification import ClassSizes, LastingValue, PersonTraces, Verdict
from tclose.passes.compare.record_digests import Compared
from tclose.passes.microaggregate.search.rounds import Round
from tclose.passes.plan.plan import Plan
from tclose.passes.publish.transformations import describe_columns
from tclose.policy.policy import Policy
from tclose.policy.sections.attribute_settings import AttributeSettings
from tclose.privacy.models.stochastic_closeness import stochastic_closeness
from tclose.releases.documents import list_documents, make_documents
from tclose.releases.manifest import sections
from tclose.releases.manifest.figure_sections import About, ReleaseFigures
from tclose.releases.manifest.inside.exposure_section import ExposureSection
from tclose.releases.manifest.internal_manifest import (
    Analysis,
    ClassTracesSection,
    InternalCode,
    InternalManifest,
    MadeBy,
    PersonSketch,
    PersonTracesSection,
    PreviousRelease,
    SeriesSection,
    SourceFile,
    Utility,
)
from tclose.releases.manifest.plan_document import PlanWarning
from tclose.releases.manifest.privacy_summary import (
    describe_models,
    describe_persons,
    describe_risk,
)
from tclose.releases.manifest.public_manifest import FORMAT, Manifest
from tclose.releases.manifest.seals import REPORT
from tclose.releases.manifest.sections import (
    ClassesSection,
    Code,
    DataFile,
    HeldSection,
    InformationLoss,
    JointResult,
    KResult,
    LeftOutSection,
    NoiseResult,
    Privacy,
    RecordComparison,
    Refinement,
    ReleasedColumn,
    SuppressedSection,
    TResult,
)
from tclose.releases.noise_draws import Draw, add_up, describe_draws
from tclose.releases.provenance import code_version, git_state, runtime
from tclose.releases.same_input import Sibling, describe_siblings
from tclose.security.redaction import redact_place


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
        """To three digits: all of them would tell what the rounding of a mean hides."""
        per_attribute = {name: float(f"{v:.3g}") for name, v in self.per_attribute.items()}
        return Loss(float(f"{self.total:.3g}"), per_attribute)


@dataclass(frozen=True)
class ReleaseRecord:
    """The facts of a run that manifests are built from.

    ``utility``: what the release changes for analysis; ``draws``: earlier ones of the same noise;
    ``siblings``: releases of the same input files that stand in the output folder, with other rows;
    ``levels``: that each release partition was generalised to; ``compared``: in which columns every
    record was found to be one of the input's, or of those held; ``versions``: of the code, as in
    the release's id;
    ``analysis``: values before and after; ``previous``: the release that is the current one so far;
    ``exposure``: earlier releases of the same persons;
    ``n_read``: records, held ones among them, but not those that were left out for another reason
    than a missing value;
    ``n_suppressed``: those left out as isolated ones; ``n_missing``: records without a value that
    is needed, of each column that has any.
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
        refinement=describe_rounds(account),
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


def describe_sizes(sizes: ClassSizes) -> ClassesSection:
    """Sizes of the classes."""
    return ClassesSection(**asdict(sizes))


def describe_loss(loss: Loss) -> InformationLoss:
    """Information loss of all quasi-identifiers and of each."""
    return InformationLoss(total=loss.total, per_attribute=loss.per_attribute)


def describe_comparison(account: ReleaseRecord) -> RecordComparison:
    """In which columns every released record was found to be one of the input's, and none lost."""
    compared = account.compared
    return RecordComparison(
        compared=list(compared.columns),
        as_buckets=list(compared.bucketed),
        left_out=dict(compared.left_out),
        records=account.verdict.n_records,
        result="identical or held" if account.n_held else "identical",
    )


def describe_noise(plan: Plan, verdict: Verdict) -> dict[str, NoiseResult]:
    """Describe each attribute's noise: epsilon, the noise's range, and t.

    The t is that of Domingo-Ferrer and Soria-Comas 2015, Proposition 1.
    """
    described = {}
    for column in plan.passthrough:
        noise = column.attribute.noise
        if noise is None:
            continue
        asked_t = {} if noise.max_t is None else {"asked_t": float(noise.max_t)}
        described[column.name] = NoiseResult(
            epsilon=float(noise.epsilon),
            mechanism="discrete Laplace" if not noise.values else "randomised response",
            low=None if noise.low is None else float(noise.low),
            high=None if noise.high is None else float(noise.high),
            step=float(noise.step),
            values=list(noise.values or column.attribute.order),
            stochastic_t=state_closeness(noise.epsilon, verdict.n_records, verdict.sizes),
            **asked_t,
        )
    return described


def state_closeness(epsilon: Fraction, n_records: int, sizes: ClassSizes) -> float:
    """Return the t of stochastic closeness for a manifest, rounded up.

    Domingo-Ferrer and Soria-Comas 2015, Proposition 1.
    """
    return round_up(stochastic_closeness(epsilon, n_records, sizes.smallest).t)


def round_up(value: Fraction) -> float:
    """A float that is not below the value."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else nextafter(nearest, inf)


def describe_rounds(account: ReleaseRecord) -> Refinement:
    """Describe the refinement asked for and its rounds: losses as eq. (5), to three digits.

    Clusters that are released alike are one equivalence class, so there may be fewer of these.
    """
    n_terms = account.verdict.n_records * len(account.plan.encodings)
    return Refinement(
        asked=account.policy.method.refine,
        clusters=account.n_clusters,
        rounds=[
            sections.RoundEntry(
                loss=float(f"{r.loss / n_terms:.3g}"), largest_emd=round(r.largest_emd, 6)
            )
            for r in account.rounds
        ],
    )


def describe_privacy(
    verdict: Verdict, columns: Sequence[Column], bucketed: Collection[str] = ()
) -> Privacy:
    """Describe the privacy parameters of the policy and the achieved measures.

    Parameters
    ----------
    columns : the confidential ones, then the joint
    bucketed : those that are released as buckets: of these t is that of the buckets
    """
    t: dict[str, TResult] = {}
    joint: list[JointResult] = []
    for result, column in zip(verdict.attributes, columns, strict=True):
        reached: dict[str, object] = {
            "asked": float(result.max_emd),
            "largest_emd": result.largest_emd,
            "distance": str(column.distance),
        }
        if column.is_joint:
            parts = list(column.attribute.combines)
            joint.append(JointResult.model_validate({"attributes": parts} | reached))
        else:
            reached |= {"of": "buckets"} if result.name in bucketed else {}
            t[result.name] = TResult.model_validate(reached)
    k = KResult(asked=verdict.k, achieved=verdict.sizes.smallest)
    persons = describe_persons(verdict)
    counted = {} if persons is None else {"persons": persons}
    return Privacy(
        k=k,
        t=t,
        joint=joint,
        models=describe_models(verdict, bucketed),
        counted="records" if persons is None else "persons",
        **counted,
    )


def full_manifest(account: ReleaseRecord, public: Manifest, run: MadeBy) -> InternalManifest:
    """Build the internal manifest: the public one, the policy, inputs, plan and times."""
    values = {key: getattr(public, key) for key in public.model_fields_set}
    if account.draws:
        values["earlier_draws"] = describe_draws(account.draws)
        budget = add_up(account.draws, account.plan.epsilons)
        values["epsilon_of_all_draws"] = {name: float(epsilon) for name, epsilon in budget.items()}
    if account.siblings:
        values["same_input"] = describe_siblings(account.siblings)
    if account.over_time is not None:
        values["over_time"] = account.over_time
    for sketch in account.sketches:
        values["person_sketch"] = sketch
    if account.analysis is not None:
        values["analysis"] = account.analysis
    if account.exposure is not None:
        values["exposure"] = account.exposure
    if account.previous is not None:
        values["previous"] = account.previous
    if account.warnings:
        values["warnings"] = list(account.warnings)
    if account.verdict.persons is not None and account.verdict.persons.traces is not None:
        values["person_traces"] = describe_traces(account.verdict.persons.traces)
    values["code"] = InternalCode(
        **code_version(), git=git_state(), versions=dict(account.versions), **runtime()
    )
    return InternalManifest(
        **values,
        exact_information_loss=describe_loss(account.loss),
        utility=account.utility,
        inside=[REPORT],
        policy=account.policy.model_dump(mode="json"),
        inputs=[describe_source(file) for file in account.inputs],
        records_read=account.n_read - account.n_held,
        records_dropped=account.n_read - account.verdict.n_records,
        records_suppressed=account.n_suppressed if account.policy.suppress else None,
        values_missing=dict(account.n_missing),
        values_imputed=count_imputed(account.plan),
        plan_sha256=account.plan.digest(),
        seconds={name: round(value, 3) for name, value in account.seconds.items()},
        run=run,
    )


def count_imputed(plan: Plan) -> dict[str, int]:
    """Records that got the centre of a column, of each column in which any did."""
    prepared = {e.column.name: e.column.attribute.preparation for e in plan.encodings}
    return {name: p.n_imputed for name, p in prepared.items() if p is not None and p.n_imputed}


def describe_traces(traces: PersonTraces) -> PersonTracesSection:
    """Persons over all of their classes."""
    cells, by_classes = traces.by_classes, {}
    if cells is not None:
        by_classes["by_classes"] = ClassTracesSection(
            alone=cells.n_alone, below_k=cells.n_below_k, one_value_left=_list_told(cells.lasting)
        )
    return PersonTracesSection(
        in_several_classes=traces.n_several,
        alone=traces.n_alone,
        below_k=traces.n_below_k,
        one_value_left=_list_told(traces.lasting),
        **by_classes,
    )


def _list_told(values: Sequence[LastingValue]) -> dict[str, int]:
    return {value.name: value.n_told for value in values}


def describe_source(file: InputFile) -> SourceFile:
    """A file of the input, without the secrets of its address."""
    return SourceFile(**asdict(file) | {"path": redact_place(find_name(file.path))})
