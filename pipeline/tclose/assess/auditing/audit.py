"""Audit of a published release, from its files alone, as an outsider would do it.

Classes are found by the released values, the distribution is that of the released rows, and k and t
are what the manifest says was asked. Nothing that the pipeline kept is used, but where the internal
manifest is at hand the public one is compared with it.

Rows in canonical order are checked file by file in bounded memory; a release in any other order is
said to be so, and is checked all at once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from tclose.assess.auditing.class_checker import ClassChecker, NotInOrderError
from tclose.assess.auditing.manifest_comparison import EARLIER, describe_rows
from tclose.assess.auditing.manifest_joint import find_joint
from tclose.assess.auditing.manifest_models import bind_models
from tclose.assess.auditing.manifest_noise import check_noise, measure_noise
from tclose.assess.auditing.parquet_footers import check_files
from tclose.assess.auditing.released_rows import (
    check_roles,
    column_roles,
    encode_files,
    survey_files,
    type_columns,
)
from tclose.data.places.locations import Location, internal_of
from tclose.data.places.untrusted_files import MalformedError, read_bounded
from tclose.errors import DataError, InfeasibleError, OutputError, PolicyError
from tclose.passes.publish.build_manifest import FORMAT, describe_privacy, is_earlier
from tclose.passes.verify.class_checks import add_whole_table, decide
from tclose.privacy.whole_table import check_table
from tclose.releases.contents import (
    MANIFEST,
    diff_manifests,
    find_broken_seals,
    find_hard_links,
    find_key,
    parse_manifest,
    read_content,
    verify_checksums,
)
from tclose.releases.manifest.public_signatures import (
    SIGNATURE_FILE,
    PublicKey,
    find_wrong_signature,
    read_signature,
)
from tclose.releases.manifest.seals import SEAL_FILE
from tclose.releases.stores.filesystem import ID


def audit_release(place: Location, public_key: PublicKey | None = None) -> dict[str, Any]:
    """Check a release, or the current one of a name.

    Parameters
    ----------
    public_key : by which its manifest has to be signed

    Returns
    -------
    ``findings``: what is wrong, empty if nothing is; ``checked``: whether the rows could be read;
    and what the rows say of records, classes, k and t, and of noise.

    Raises
    ------
    OutputError
        There is no release.
    """
    release = _find_release(place)
    audit: dict[str, Any] = {"release": str(release), "findings": [], "checked": False, "notes": []}
    if isinstance(release, Path) and ID.fullmatch(release.name) and release.is_symlink():
        audit["findings"].append(f"{release.name}: is a symbolic link in the place of a release")
        return audit
    try:
        content = read_content(release)
        _add_signature(release, content, public_key, audit)
        manifest = parse_manifest(content)
    except MalformedError as error:
        audit["findings"].append(f"{MANIFEST}: {error}")
        return audit
    damage = verify_checksums(release, manifest)
    try:
        damage = damage or check_files(release, manifest)
        audit["findings"] += damage
        if not damage:
            _check_content(release, manifest, audit)
    except MalformedError as error:
        audit["findings"].append(f"{MANIFEST}: {error}")
    return audit


def _add_signature(
    release: Location, content: bytes, key: PublicKey | None, audit: dict[str, Any]
) -> None:
    """Check the signature by a public key; without one, say by which key it claims to be."""
    if key is not None:
        wrong = find_wrong_signature(release, content, key)
        audit["findings"] += wrong
        audit["signature"] = {"key_id": key.key_id, "valid": not wrong}
        return
    try:
        signature = read_signature(release)
    except MalformedError as error:
        audit["findings"].append(f"{SIGNATURE_FILE}: {error}")
        return
    if signature is not None:
        audit["signature"] = {"key_id": signature.key_id, "valid": None}
        what = f"is said to be by the key {signature.key_id}; not checked, which takes --public-key"
        audit["notes"].append(f"{SIGNATURE_FILE}: {what}")


def _check_content(release: Location, manifest: dict[str, Any], audit: dict[str, Any]) -> None:
    """Check rows, claims, edits and seals of a release whose files are those of its manifest."""
    if manifest["format"] > FORMAT:
        raise MalformedError(f"is of format {manifest['format']}; audit it with a later version")
    with _refusing_misfits():
        checked = _check_rows(release, manifest)
    notes = [*checked.get("notes", []), *audit["notes"], *find_hard_links(release, manifest)]
    if find_key(release) is None and (internal_of(release) / SEAL_FILE).is_file():
        notes.append(f"internal/{SEAL_FILE}: not checked, as the release key is not at hand")
    audit |= checked | {"notes": notes, "findings": [*audit["findings"], *checked["findings"]]}
    audit["findings"] += [
        f"{MANIFEST}: {key!r} differs from the internal manifest"
        for key in diff_manifests(release, manifest)
    ]
    audit["findings"] += find_broken_seals(release)


_MISFIT = "is damaged, or does not describe these files"


@contextmanager
def _refusing_misfits() -> Iterator[None]:
    """Turn what a manifest that was edited leads to into `MalformedError`.

    As a taxonomy that is none, or values that it has not. Any other error is one of the audit.
    """
    try:
        yield
    except MalformedError as error:
        raise MalformedError(f"{_MISFIT} ({error})") from None
    except (DataError, InfeasibleError, PolicyError):
        raise MalformedError(_MISFIT) from None


def _find_release(place: Location) -> Location:
    current = place / "CURRENT"
    if current.is_file():
        first = read_bounded(current, follow=True).partition(b"\n")[0]
        name = first.strip().decode("ascii", "replace")
        if not ID.fullmatch(name):
            raise OutputError(f"{place}: CURRENT names no release; run its policy again")
        place = place / name
    elif isinstance(place, Path) and not ID.fullmatch(place.name):
        place = place.resolve()  # seals are bound to the id
    if not (place / MANIFEST).is_file():
        raise OutputError(f"{place}: is no release (it has no manifest.json)")
    return place


def _check_rows(release: Location, manifest: dict[str, Any]) -> dict[str, Any]:
    roles = column_roles(manifest)
    paths = [release / entry["path"] for entry in manifest["files"]]
    stated = manifest["privacy"]
    check_roles(roles, stated, has_files=bool(paths))
    categories, distributions = survey_files(paths, roles)
    limits = tuple(Fraction(str(stated["t"][c["name"]]["asked"])) for c in roles.confidential)
    findings: list[str] = []
    encode = partial(encode_files, paths, roles, categories, distributions)
    columns = type_columns(paths, roles)
    joint = find_joint(stated.get("joint", []), columns, distributions, (r.codes for r in encode()))
    columns = (*columns, *joint.columns)
    distributions, limits = (*distributions, *joint.distributions), (*limits, *joint.limits)
    is_old = is_earlier(manifest, _read_dictionary(release))
    if not is_old and (stated.get("models") is None or manifest.get("risk") is None):
        raise MalformedError("lacks further models or attacks")
    models = [] if is_old else stated["models"]
    privacy_models = bind_models(models, columns, distributions, categories)
    checker = ClassChecker(distributions, limits, privacy_models, [], joint.joints)
    try:
        checks = checker.check_in_order(encode())
    except NotInOrderError:
        findings.append("rows are not in canonical order: their places may say something")
        checker = ClassChecker(distributions, limits, privacy_models, [], joint.joints)
        checks = checker.check_at_once(list(encode()))
    checks = add_whole_table(checks, check_table(checker.kept, privacy_models, distributions))
    verdict = decide(
        checks,
        k=stated["k"]["asked"],
        names=tuple(column.name for column in columns),
        max_emds=limits,
        n_expected=manifest["records"],
        n_changed={},
        privacy_models=privacy_models,
    )
    findings += [f"{f.what}: asked {f.asked}, found {f.found}" for f in verdict.failures]
    bucketed = [column["name"] for column in roles.confidential if column.get("bucketed")]
    privacy = describe_privacy(verdict, columns, bucketed)
    noise = measure_noise(manifest, verdict.n_records, verdict.sizes)
    findings += check_noise(manifest, noise, paths)
    rows = describe_rows(manifest, privacy, verdict, findings, is_old=is_old) | {"noise": noise}
    return rows | {"notes": [EARLIER]} if is_old else rows


def _read_dictionary(release: Location) -> str:
    try:
        return read_bounded(release / "dictionary.md").decode(errors="replace")
    except FileNotFoundError:
        return ""
