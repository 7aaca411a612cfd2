"""The manifests of a release, made of the facts of its run.

The public one goes with the data. It says what the columns are, what was asked, what was reached,
and what identifies each file. It does not say where the data came from, which seed was used, or,
but in whole percent, how many records were left out: that is in the internal one.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict

from tclose.data.files.staged_input import find_name
from tclose.methods.scaling import find_shares_lost, find_unit
from tclose.model.input_pieces import InputFile
from tclose.model.verification import LastingValue, PersonTraces, Verdict
from tclose.passes.plan.plan import Plan
from tclose.passes.publish.describe_privacy import describe_noise, describe_privacy, describe_sizes
from tclose.passes.publish.release_record import Loss, ReleaseRecord
from tclose.passes.publish.transformations import describe_columns
from tclose.policy.sections.attribute_settings import AttributeSettings
from tclose.releases.composition.noise_draws import add_up, describe_draws
from tclose.releases.composition.same_input import describe_siblings
from tclose.releases.documents import list_documents, make_documents
from tclose.releases.manifest.figure_sections import About
from tclose.releases.manifest.internal_manifest import (
    ClassTracesSection,
    ExactLoss,
    InternalCode,
    InternalManifest,
    MadeBy,
    PersonTracesSection,
    SourceFile,
)
from tclose.releases.manifest.privacy_summary import describe_risk, measure_over_persons
from tclose.releases.manifest.public_manifest import FORMAT, Manifest
from tclose.releases.manifest.sections import (
    Code,
    HeldSection,
    InformationLoss,
    LeftOutOverTimeSection,
    LeftOutSection,
    RecordComparison,
    Refinement,
    ReleasedColumn,
    RoundEntry,
    SuppressedSection,
)
from tclose.releases.provenance import code_version, git_state, runtime
from tclose.releases.signatures.seals import REPORT
from tclose.security.redaction import redact_place


def public_manifest(record: ReleaseRecord) -> tuple[Manifest, dict[str, bytes]]:
    """Build what may be handed out with the data: the public manifest, and its documents."""
    columns = [
        add_words(column, record.policy.attributes[column.name])
        for column in describe_columns(record.plan, record.levels)
    ]
    manifest = Manifest(
        format=FORMAT,
        name=record.policy.name,
        release_id=record.release_id,
        published_at=record.published_at,
        verdict="pass" if record.verdict.passed else "fail",
        method=record.policy.method.name,
        privacy=describe_privacy(
            record.verdict,
            [encoding.column for encoding in record.plan.confidential],
            [column.name for column in columns if column.bucketed],
        ),
        noise=describe_noise(record.plan, record.verdict),
        values=describe_comparison(record),
        records=record.verdict.n_records,
        classes=describe_sizes(record.verdict.sizes),
        risk=describe_risk(record.verdict, record.plan.k),
        information_loss=describe_loss(record.loss.rounded()),
        refinement=describe_search(record),
        figures=record.figures,
        partition_by=list(record.policy.output.partition_by),
        columns=columns,
        files=list(record.files),
        code=Code(tclose=code_version()["tclose"]),
    )
    manifest = manifest.model_copy(update=_describe_optional(record, columns))
    documents = make_documents(manifest)
    return manifest.model_copy(update={"documents": list_documents(documents)}), documents


def _describe_optional(
    record: ReleaseRecord, columns: Collection[ReleasedColumn]
) -> dict[str, object]:
    """Describe what not every release has: the publisher's words, and records left out or held."""
    more: dict[str, object] = {}
    if (about := record.policy.about) is not None:
        more["about"] = About(**about.model_dump(exclude_none=True))
    if record.n_read > record.verdict.n_records:
        more["left_out"] = describe_left_out(record, {column.name for column in columns})
    if record.n_suppressed:
        more["suppressed"] = describe_suppressed(record)
    if record.over_time is not None and record.over_time.releases:
        more["left_out_over_time"] = describe_left_out_over_time(record, record.over_time.left_out)
    over_time = record.policy.privacy.over_time
    if over_time is not None and over_time.most_held is not None:
        more["held"] = HeldSection(percent=-(-100 * record.n_held // record.verdict.n_records))
    return more


def describe_left_out(record: ReleaseRecord, released: Collection[str]) -> LeftOutSection:
    """Describe the records left out, for columns that are released, in percent rounded up."""

    def percent(n_records: int) -> int:
        return -(-100 * n_records // (record.n_read - record.n_held))

    return LeftOutSection(
        percent=percent(record.n_read - record.verdict.n_records),
        by_column={
            name: percent(n_records)
            for name, n_records in record.n_missing.items()
            if name in released
        },
    )


def describe_suppressed(record: ReleaseRecord) -> SuppressedSection:
    """Describe the records left out as isolated ones, in percent of complete ones, rounded up."""
    n_complete = record.verdict.n_records + record.n_suppressed
    return SuppressedSection(percent=-(-100 * record.n_suppressed // n_complete))


def describe_left_out_over_time(record: ReleaseRecord, n_left_out: int) -> LeftOutOverTimeSection:
    """Describe the records left out so that cells of the series hold, in percent of complete ones.

    Rounded up from one record at least: none and few are told alike.
    """
    n_complete = record.verdict.n_records - record.n_held + n_left_out
    return LeftOutOverTimeSection(percent=-(-100 * max(1, n_left_out) // n_complete))


def add_words(column: ReleasedColumn, settings: AttributeSettings) -> ReleasedColumn:
    """The column with the publisher's words for it, if there are any."""
    words = {key: getattr(settings, key) for key in ("label", "unit", "description")}
    return column.model_copy(update={k: v for k, v in words.items() if v is not None})


def describe_loss(loss: Loss) -> InformationLoss:
    """Information loss of all quasi-identifiers and of each."""
    return InformationLoss(total=loss.total, per_attribute=loss.per_attribute)


def _describe_exact_loss(record: ReleaseRecord) -> ExactLoss:
    """Information loss in all digits, and in shares of what one class loses."""
    lost = record.loss.per_attribute  # in the plan's order
    shares = find_shares_lost(record.plan.encodings, lost.values())
    return ExactLoss(total=record.loss.total, per_attribute=lost, of_one_class=shares)


def describe_comparison(record: ReleaseRecord) -> RecordComparison:
    """Name the columns in which each released record is one of the input's, and none is lost."""
    compared = record.compared
    return RecordComparison(
        compared=list(compared.columns),
        as_buckets=list(compared.bucketed),
        left_out=dict(compared.left_out),
        records=record.verdict.n_records,
        result="identical or held" if record.n_held else "identical",
    )


def describe_search(record: ReleaseRecord) -> Refinement:
    """Describe the search that was asked for."""
    return Refinement(asked=record.policy.method.refine)


def describe_rounds(record: ReleaseRecord) -> list[RoundEntry]:
    """List the rounds of the search: losses as eq. (5) or in shares, to three digits."""
    encodings = record.plan.encodings
    n_terms = record.verdict.n_records * len(encodings) * find_unit(encodings)
    return [
        RoundEntry(loss=float(f"{r.loss / n_terms:.3g}"), largest_emd=round(r.largest_emd, 6))
        for r in record.rounds
    ]


def full_manifest(record: ReleaseRecord, public: Manifest, run: MadeBy) -> InternalManifest:
    """Build the internal manifest: the public one, the policy, inputs, plan and times."""
    values = {key: getattr(public, key) for key in public.model_fields_set}
    if record.draws:
        values["earlier_draws"] = describe_draws(record.draws)
        budget = add_up(record.draws, record.plan.epsilons)
        values["epsilon_of_all_draws"] = {name: float(epsilon) for name, epsilon in budget.items()}
    if record.siblings:
        values["same_input"] = describe_siblings(record.siblings)
    for sketch in record.sketches:
        values["person_sketch"] = sketch
    for name in ("over_time", "analysis", "exposure", "previous"):
        if getattr(record, name) is not None:
            values[name] = getattr(record, name)
    if record.warnings:
        values["warnings"] = list(record.warnings)
    values |= _describe_persons(record.verdict)
    values["code"] = InternalCode(
        **code_version(), git=git_state(), versions=dict(record.versions), **runtime()
    )
    return InternalManifest(
        **values,
        exact_information_loss=_describe_exact_loss(record),
        clusters=record.n_clusters,
        rounds=describe_rounds(record),
        utility=record.utility,
        inside=[REPORT],
        policy=record.policy.model_dump(mode="json"),
        inputs=[describe_source(file) for file in record.inputs],
        records_read=record.n_read - record.n_held,
        records_dropped=record.n_read - record.verdict.n_records,
        records_suppressed=record.n_suppressed if record.policy.suppress else None,
        values_missing=dict(record.n_missing),
        values_imputed=count_imputed(record.plan),
        values_in_category=dict(record.n_in_category),
        plan_sha256=record.plan.digest(),
        seconds={name: round(value, 3) for name, value in record.seconds.items()},
        run=run,
    )


def _describe_persons(verdict: Verdict) -> dict[str, object]:
    """Describe what of persons stays inside; nothing where k counts records."""
    if verdict.persons is None:
        return {}
    values: dict[str, object] = {"largest_emd_over_persons": measure_over_persons(verdict)}
    if verdict.persons.traces is not None:
        values["person_traces"] = describe_traces(verdict.persons.traces)
    return values


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
