"""Audit of a published release, from its files alone, as an outsider would do it.

Classes are found by the released values, the distribution is that of the released rows, and k and t
are what the manifest says was asked. Nothing that the pipeline kept is used, but where the internal
manifest is at hand the public one is compared with it.

Rows in canonical order are checked file by file in bounded memory; a release in any other order is
said to be so, and is checked all at once.
"""

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tclose.assess.auditing.audit_result import AuditResult, SignatureResult
from tclose.assess.auditing.class_checker import ClassChecker, NotInOrderError
from tclose.assess.auditing.file_checks import check_data_files
from tclose.assess.auditing.manifest_comparison import (
    EARLIER,
    PERSONS,
    PERSONS_OF_SERIES,
    find_false_claims,
    find_other_format,
)
from tclose.assess.auditing.manifest_figures import find_false_figures
from tclose.assess.auditing.manifest_joint import find_joint
from tclose.assess.auditing.manifest_models import bind_models, is_earlier
from tclose.assess.auditing.manifest_noise import compare_noise, measure_noise
from tclose.assess.auditing.misfits import after_the_door
from tclose.assess.auditing.not_installed import Lacking, find_lacking
from tclose.assess.auditing.released_rows import (
    check_roles,
    column_roles,
    encode_files,
    released_columns,
    survey_files,
)
from tclose.data.places.locations import Location, internal_of
from tclose.data.places.untrusted_files import MalformedError, read_bounded
from tclose.errors import OutputError
from tclose.model.attributes import Column
from tclose.model.verification import Verdict
from tclose.passes.publish.describe_privacy import describe_privacy, describe_sizes
from tclose.passes.verify.class_checks import add_whole_table, decide
from tclose.privacy.whole_table import check_table
from tclose.releases.documents import compare_documents
from tclose.releases.manifest.privacy_summary import describe_risk
from tclose.releases.manifest.public_manifest import Manifest, parse_manifest
from tclose.releases.repository.contents import (
    MANIFEST,
    diff_manifests,
    find_broken_seals,
    find_hard_links,
    find_key,
    read_content,
    read_internal,
    verify_checksums,
)
from tclose.releases.repository.name_folders import reading_place
from tclose.releases.signatures.manifest_signature import (
    SIGNATURE_FILE,
    PublicKey,
    find_wrong_signature,
    read_signature,
)
from tclose.releases.signatures.seals import SEAL_FILE
from tclose.releases.stores.filesystem import ID


def audit_release(location: Location, public_key: PublicKey | None = None) -> AuditResult:
    """Check a release, or the current one of a name.

    Parameters
    ----------
    public_key : by which its manifest has to be signed

    Raises
    ------
    OutputError
        There is no release.
    NotInstalledError
        It was made with a model or a format that is not installed; nothing else is wrong.
    """
    release = _find_release(location)
    audit = AuditResult(release=str(release), findings=[], checked=False, notes=[])
    if isinstance(release, Path) and ID.fullmatch(release.name) and release.is_symlink():
        return audit.extended([f"{release.name}: is a symbolic link in the place of a release"])
    try:
        content = read_content(release)
        audit = _add_signature(release, content, public_key, audit)
        manifest = parse_manifest(content)
        if ID.fullmatch(release.name) and manifest.release_id != release.name:
            audit = audit.extended([f"{MANIFEST}: is that of another release"])
        elif find_key(release) is not None and manifest.name not in _list_names(release):
            audit = audit.extended([f"{MANIFEST}: is that of a release of another name"])
        lacking = find_lacking(manifest)
        audit = audit.extended(notes=lacking.notes)
        damage = verify_checksums(release, manifest)
        if not damage and not lacking.suffixes:
            damage = check_data_files(release, manifest)
        if damage:
            return audit.extended(damage)
        audit = _check_content(release, manifest, audit, lacking)
    except MalformedError as error:
        return audit.extended([f"{MANIFEST}: {error}"])
    if not audit.findings:
        lacking.refuse(release)
    return audit


def _list_names(release: Location) -> set[str]:
    """The name of the folder that a release stands in, as it is given and where that leads."""
    return {release.absolute().parent.name, release.resolve().parent.name}


def _add_signature(
    release: Location, content: bytes, key: PublicKey | None, audit: AuditResult
) -> AuditResult:
    """Check the signature by a public key; without one, say by which key it claims to be."""
    if key is not None:
        wrong = find_wrong_signature(release, content, key)
        return audit.extended(wrong, signature=SignatureResult(key_id=key.key_id, valid=not wrong))
    try:
        signature = read_signature(release)
    except MalformedError as error:
        return audit.extended([f"{SIGNATURE_FILE}: {error}"])
    if signature is None:
        return audit
    what = f"is said to be by the key {signature.key_id}; not checked, which takes --public-key"
    claimed = SignatureResult(key_id=signature.key_id, valid=None)
    return audit.extended(notes=[f"{SIGNATURE_FILE}: {what}"], signature=claimed)


def _check_content(
    release: Location, manifest: Manifest, audit: AuditResult, lacking: Lacking
) -> AuditResult:
    """Check rows, claims, edits and seals of a release whose files are those of its manifest."""
    if not lacking.suffixes:
        with after_the_door():
            audit = _check_rows(release, manifest, audit, lacking)
    notes = find_hard_links(release, manifest)
    if unknown := list(manifest.unknown_keys()):
        notes.append(f"{MANIFEST}: not checked, as this version does not know it: {_list(unknown)}")
    if find_key(release) is None and (internal_of(release) / SEAL_FILE).is_file():
        notes.append(f"internal/{SEAL_FILE}: not checked, because the release key is not available")
    findings = diff_manifests(release, manifest)
    if read_internal(release) is None:  # as with whom it was handed out to
        documents = compare_documents(manifest)
        findings += find_other_format(manifest)
        findings += [f"{name}: is missing" for name in documents.missing]
        notes += [f"{name}: {_UNLIKE}" for name in documents.unlike]
        notes += [f"{name}: {_NOT_MADE}" for name in documents.not_made]
    return audit.extended([*findings, *find_broken_seals(release)], notes)


def _list(keys: list[str]) -> str:
    more = f" and {len(keys) - _MOST_NAMED:,} more" if len(keys) > _MOST_NAMED else ""
    return f"{', '.join(keys[:_MOST_NAMED])}{more}"


_MOST_NAMED = 5
_UNLIKE = (
    "is not what this version makes of the manifest: another version made it, or it was edited; "
    "what was checked is what the manifest says"
)


_NOT_MADE = (
    "is not compared with the manifest, as this version makes none of one like it; what was "
    "checked is what the manifest says"
)


def _find_release(location: Location) -> Location:
    current = location / "CURRENT"
    with reading_place(location):
        is_named = current.is_file()
    if is_named:
        first = read_bounded(current, follow=True).partition(b"\n")[0]
        name = first.strip().decode("ascii", "replace")
        if not ID.fullmatch(name):
            raise OutputError(f"{location}: CURRENT names no release; run its policy again")
        location = location / name
    elif isinstance(location, Path) and not ID.fullmatch(location.name):
        location = location.resolve()  # seals are bound to the id
    with reading_place(location):
        if not (location / MANIFEST).is_file():
            raise OutputError(f"{location}: is not a release (it has no manifest.json)")
    return location


def _check_rows(
    release: Location, manifest: Manifest, audit: AuditResult, lacking: Lacking
) -> AuditResult:
    """Decide what the rows hold, and compare it with what the manifest says."""
    manifest = lacking.leave_out(manifest)
    paths = [release / file.path for file in manifest.files]
    decided = _decide_rows(release, manifest, paths)
    verdict, notes = decided.verdict, [EARLIER] if decided.is_old else []
    findings = list(decided.findings)
    findings += [f"{f.what}: asked {f.asked}, found {f.found}" for f in verdict.failures]
    privacy = describe_privacy(verdict, decided.columns, manifest.bucketed)
    risk = describe_risk(verdict, verdict.k)
    noise = measure_noise(manifest, verdict.n_records, verdict.sizes)
    findings += compare_noise(manifest, noise, paths)
    classes = describe_sizes(verdict.sizes)
    findings += find_false_claims(manifest, privacy, classes, None if decided.is_old else risk)
    findings += [f"{MANIFEST}: {place} differs from what the rows say" for place in decided.places]
    if manifest.privacy.counted == "persons" or manifest.privacy.persons:
        notes = [*notes, PERSONS_OF_SERIES if _is_of_series(release) else PERSONS]
    return audit.extended(
        findings,
        notes,
        checked=True,
        records=verdict.n_records,
        privacy=privacy,
        classes=classes,
        risk=risk,
        noise=noise,
    )


def _is_of_series(release: Location) -> bool:
    """Return whether a release says inside that it is held together with earlier ones."""
    internal = read_internal(release)
    return internal is not None and internal.over_time is not None


class _DecidedRows(NamedTuple):
    """The verdict on a release's rows, with the columns that it is about.

    ``places``: figures of the manifest that differ; ``is_old``: the release was made by a version
    that said less.
    """

    verdict: Verdict
    columns: tuple[Column, ...]
    findings: list[str]
    places: list[str]
    is_old: bool


def _decide_rows(release: Location, manifest: Manifest, paths: list[Location]) -> _DecidedRows:
    """Find the classes of the rows, and decide what is asked of them."""
    stated, roles = manifest.privacy, column_roles(manifest)
    check_roles(roles, stated, has_files=bool(paths))
    categories, distributions = survey_files(paths, roles)
    limits = tuple(Fraction(str(stated.t[c.name].asked)) for c in roles.confidential)
    encode = partial(encode_files, paths, roles, categories, distributions)
    columns = released_columns(paths, roles)
    joint = find_joint(stated.joint, columns, distributions, (r.codes for r in encode()))
    columns = (*columns, *joint.columns)
    distributions, limits = (*distributions, *joint.distributions), (*limits, *joint.limits)
    is_old = is_earlier(manifest, _read_dictionary(release))
    if not is_old and (stated.models is None or manifest.risk is None):
        raise MalformedError("lacks further models or attacks")
    privacy_models = bind_models(stated, columns, distributions, categories)
    checker = ClassChecker(distributions, limits, privacy_models, [], joint.joints)
    findings: list[str] = []
    try:
        checks = checker.check_in_order(encode())
    except NotInOrderError:
        findings.append("rows are not in canonical order: their order may reveal something")
        checker = ClassChecker(distributions, limits, privacy_models, [], joint.joints)
        checks = checker.check_at_once(list(encode()))
    checks = add_whole_table(checks, check_table(checker.kept, privacy_models, distributions))
    verdict = decide(
        checks,
        k=stated.k.asked,
        names=tuple(column.name for column in columns),
        max_emds=limits,
        n_expected=manifest.records,
        n_changed={},
        privacy_models=privacy_models,
    )
    places: list[str] = []
    if manifest.figures is not None:
        own = columns[: len(roles.confidential)]
        attributes = own, distributions[: len(own)], categories
        k, sizes = stated.k.asked, checks.size_counts
        places = find_false_figures(manifest.figures, k, sizes, *attributes)
    return _DecidedRows(verdict, columns, findings, places, is_old)


def _read_dictionary(release: Location) -> str:
    try:
        return read_bounded(release / "dictionary.md").decode(errors="replace")
    except FileNotFoundError:
        return ""
