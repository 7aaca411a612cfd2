"""A release attacked by an independent library, beside its originals and records kept out of it."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pydantic import ValidationError

from tclose.assess.complete_records import read_complete
from tclose.assess.intrusion.compared_tables import (
    CONTROL,
    ORIGINAL,
    RELEASED,
    ComparedTables,
    compare_tables,
)
from tclose.assess.intrusion.other_python import Answer, ask_other_python
from tclose.assess.intrusion.planned_attacks import PlannedAttack, plan_attacks
from tclose.assess.originals import read_rows
from tclose.assess.values_alone import (
    compare_values,
    count_foreign,
    count_held,
    describe_foreign,
)
from tclose.data.places.locations import Location
from tclose.data.places.untrusted_files import MalformedError
from tclose.errors import DataError, OutputError, TaskError
from tclose.model.column_terms import UNRELEASED
from tclose.passes.compare.digest_task import restore_folders
from tclose.passes.summarise.records import Source
from tclose.policy.policy import Policy
from tclose.releases.manifest.inside_sections import IntrusionAttack, IntrusionSection
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.repository.contents import read_manifest, verify_checksums
from tclose.runtime.monitoring.progress import Progress

MOST_ATTACKS = 2_000
_ATTEMPTS = 200  # predicates that are drawn, for each that is wanted


def intrude(
    release: Location,
    policy: Policy,
    holdout: str,
    python: Path,
    progress: Progress,
    *,
    n_attacks: int | None = None,
    seed: int = 1,
) -> IntrusionSection:
    """Attack a release.

    Parameters
    ----------
    policy : of the originals
    holdout : path of records that are not in the release, in the form of the policy's input
    python : that has Anonymeter
    n_attacks : of each kind, or None for as many as there are records in the hold-out, 2,000 at
        most

    Raises
    ------
    TcloseError
        Tables that cannot be read or compared; whatever a run of the policy would be refused for.
    """
    manifest = _read_intact(release)
    source, original = _read_records(policy, progress)
    control_policy = policy.model_copy(
        update={"input": policy.input.model_copy(update={"path": holdout})}
    )
    _, control = _read_records(control_policy, progress)
    released = pa.concat_tables(_read_released(release, manifest, source))
    _check_originals(release, manifest, source, policy, original, released)
    columns = [column for column in source.columns if column.role not in UNRELEASED]
    tables = {ORIGINAL: original, RELEASED: released, CONTROL: control}
    return attack_tables(compare_tables(columns, tables), python, progress, n_attacks, seed)


def attack_tables(
    compared: ComparedTables, python: Path, progress: Progress, n_attacks: int | None, seed: int
) -> IntrusionSection:
    """Attack tables that are there already; the parameters are those of `intrude`.

    Raises
    ------
    TcloseError
        Anonymeter is not there, or fails.
    """
    n_attacks = MOST_ATTACKS if n_attacks is None else n_attacks
    n_attacks = min(n_attacks, *map(len, compared.tables.values()))
    planned = plan_attacks(compared.columns)
    request = {
        "seed": seed,
        "n_attacks": n_attacks,
        "n_attempts": _ATTEMPTS * n_attacks,
        "attacks": [one.to_request() for one in planned],
    }
    with progress.following("attacking with Anonymeter", 1) as step:
        answer = ask_other_python(python, compared.tables, request)
        step()
    return _describe(answer, planned, compared, seed)


def _read_intact(release: Location) -> Manifest:
    """The manifest of a release whose files are those that it lists.

    Raises
    ------
    OutputError
    """
    manifest = read_manifest(release)
    if manifest is None or verify_checksums(release, manifest):
        raise OutputError(f"{release}: is damaged; run `tclose audit` on it")
    return manifest


def _read_records(policy: Policy, progress: Progress) -> tuple[Source, pa.Table]:
    summary, table = read_complete(policy, "intrude", None, progress)
    return summary.source, table


def _read_released(release: Location, manifest: Manifest, source: Source) -> Iterator[pa.Table]:
    """The rows of each file, with the values that are in the names of its folders.

    Raises
    ------
    OutputError
    """
    types = {column.name: column.type for column in source.columns}
    for file in manifest.files:
        try:
            rows = restore_folders(read_rows(release / file.path), file.path, types)
        except (MalformedError, pa.ArrowInvalid):
            raise OutputError(f"{release}: is damaged; run `tclose audit` on it") from None
        yield rows.select(sorted(rows.column_names)).unify_dictionaries()


def _check_originals(
    release: Location, manifest: Manifest, source: Source, policy: Policy,
    original: pa.Table, released: pa.Table,
) -> None:  # fmt: skip
    """Refuse originals that are not those of the release, by all values released as they are.

    In a series records are left out that no originals tell: each released row has to have one of
    its own, but for those that are held.

    Raises
    ------
    DataError
    """
    if policy.privacy.over_time is not None:
        n_foreign = count_foreign([original], [released], source, policy)
        mismatch = describe_foreign(n_foreign, count_held(release, manifest), manifest)
        if mismatch:
            raise DataError(f"--originals: {mismatch}; {_NAME_THEM.format(manifest.name)}")
        return
    if len(original) != len(released):
        raise DataError(
            f"--originals: the policy reads {len(original):,} complete records, and the release "
            f"has {len(released):,}; {_NAME_THEM.format(manifest.name)}"
        )
    differ = compare_values([original], [released], manifest, source, policy)
    if differ:
        raise DataError(
            f"--originals: the policy reads records that differ from the released ones in "
            f"{', '.join(differ)}; {_NAME_THEM.format(manifest.name)}"
        )


_NAME_THEM = "name the policy and the input that {} was made with"


def _describe(
    answer: Answer, planned: list[PlannedAttack], compared: ComparedTables, seed: int
) -> IntrusionSection:
    """Describe the results of all attacks, or of none.

    Raises
    ------
    TaskError
        An attack failed, or was not answered.
    """
    if len(answer.results) != len(planned):
        raise TaskError("Anonymeter: some of the attacks were not answered")
    attacks = []
    for attack, figures in zip(planned, answer.results, strict=True):
        if "error" in figures:
            raise TaskError(f"Anonymeter: {attack.describe()} failed ({figures['error']})")
        keys = {
            "kind": attack.kind,
            "known": [column.name for column in attack.known],
            "secret": [column.name for column in attack.secret],
        }
        try:
            attacks.append(IntrusionAttack.model_validate(_round(figures) | keys))
        except ValidationError:
            raise TaskError(f"Anonymeter: {attack.describe()} has no figures") from None
    return IntrusionSection(
        library=f"anonymeter {answer.version}",
        seed=seed,
        records=len(compared.tables[ORIGINAL]),
        held_out=len(compared.tables[CONTROL]),
        alike=compared.n_alike,
        left_out=list(compared.left_out),
        attacks=attacks,
    )


def _round(figures: dict[str, object]) -> dict[str, object]:
    """Figures to three digits after the point, as finer ones are the draw's."""
    return {
        key: round(value, 3) if isinstance(value, float) else value
        for key, value in figures.items()
    }
