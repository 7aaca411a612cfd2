"""The internal manifest: the public one with where the data came from, and what was left out."""

from collections.abc import Sequence
from dataclasses import asdict

from tclose.data.files.staged_input import find_name
from tclose.model.input_pieces import InputFile
from tclose.model.verification import LastingValue, PersonTraces, Verdict
from tclose.passes.plan.plan import Plan
from tclose.passes.publish.build_manifest import ReleaseRecord, describe_loss, describe_rounds
from tclose.releases.composition.noise_draws import add_up, describe_draws
from tclose.releases.composition.same_input import describe_siblings
from tclose.releases.manifest.internal_manifest import (
    ClassTracesSection,
    InternalCode,
    InternalManifest,
    MadeBy,
    PersonTracesSection,
    SourceFile,
)
from tclose.releases.manifest.privacy_summary import measure_over_persons
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.provenance import code_version, git_state, runtime
from tclose.releases.signatures.seals import REPORT
from tclose.security.redaction import redact_place


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
    values |= _describe_persons(account.verdict)
    values["code"] = InternalCode(
        **code_version(), git=git_state(), versions=dict(account.versions), **runtime()
    )
    return InternalManifest(
        **values,
        exact_information_loss=describe_loss(account.loss),
        rounds=describe_rounds(account),
        utility=account.utility,
        inside=[REPORT],
        policy=account.policy.model_dump(mode="json"),
        inputs=[describe_source(file) for file in account.inputs],
        records_read=account.n_read - account.n_held,
        records_dropped=account.n_read - account.verdict.n_records,
        records_suppressed=account.n_suppressed if account.policy.suppress else None,
        values_missing=dict(account.n_missing),
        values_imputed=count_imputed(account.plan),
        values_in_category=dict(account.n_in_category),
        plan_sha256=account.plan.digest(),
        seconds={name: round(value, 3) for name, value in account.seconds.items()},
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
