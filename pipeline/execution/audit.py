"""Audit of a published release, from its files alone, as an outsider would do it.

Classes are found by the released values, the distribution is that of the released rows, and k and t
are what the manifest says was asked. Nothing that the pipeline kept is used, but where the internal
manifest is at hand the public one is compared with it.

Rows in canonical order are checked file by file in bounded memory; a release in any other order is
said to be so, and is checked all at once.
"""

from fractions import Fraction
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import DataError, OutputError, PolicyError
from pipeline.execution.audit_claims import EARLIER, describe_rows
from pipeline.execution.audit_classes import ClassChecker, NotInOrderError
from pipeline.execution.audit_joint import find_joint
from pipeline.execution.audit_models import bind_models
from pipeline.execution.audit_noise import check_noise, measure_noise
from pipeline.execution.audit_rows import (
    encode_files,
    has_role_columns,
    lay_out,
    survey_files,
    type_columns,
)
from pipeline.stages.verify import add_whole, decide
from pipeline.stages.whole_table import check_table
from pipeline.storage.manifest import describe_privacy, is_earlier
from pipeline.storage.places import Place
from pipeline.storage.releases import find_broken_seals, find_damage, find_edits, read_manifest


def audit_release(place: Place) -> dict[str, Any]:
    """Check a release, or the current one of a name.

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
    manifest = read_manifest(release)
    audit: dict[str, Any] = {"release": str(release), "findings": [], "checked": False, "notes": []}
    if manifest is None:
        return audit | {"findings": [_DAMAGED]}
    try:
        audit["findings"] = find_damage(release, manifest)
        if not audit["findings"]:
            audit["findings"] = _check_schemas(release, manifest)
        if not audit["findings"]:
            audit |= _check_rows(release, manifest)
            audit["findings"] += [
                f"manifest.json: {key!r} differs from the internal manifest"
                for key in find_edits(release, manifest)
            ]
            audit["findings"] += find_broken_seals(release, manifest)
    except _MISFITS:
        audit["findings"].append(_DAMAGED)
    return audit


# What a manifest that was edited leads to: a taxonomy that is none, values that it has not.
_MISFITS = (
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    pa.ArrowException,
    DataError,
    PolicyError,
)
_DAMAGED = "manifest.json: is damaged, or does not describe these files"


def _find_release(place: Place) -> Place:
    current = place / "CURRENT"
    if current.is_file():
        place = place / current.read_text(encoding="ascii").partition("\n")[0].strip()
    if not (place / "manifest.json").is_file():
        raise OutputError(f"{place}: is no release (it has no manifest.json)")
    return place


def _check_schemas(release: Place, manifest: dict[str, Any]) -> list[str]:
    """Whether each file has the columns that the manifest names, and nothing beside them."""
    inside = [c for c in manifest["columns"] if c["name"] not in manifest["partition_by"]]
    wanted = [(column["name"], column["type"]) for column in inside]
    findings = []
    for entry in manifest["files"]:
        with (release / entry["path"]).open("rb") as stream:
            parquet = pq.ParquetFile(stream)
            schema, metadata = parquet.schema_arrow, parquet.metadata.metadata
        if [(field.name, str(field.type)) for field in schema] != wanted:
            findings.append(f"{entry['path']}: its columns are not those of the manifest")
        fields = any(set(field.metadata or ()) - _OWN_METADATA for field in schema)
        if fields or set(metadata or ()) - _OWN_METADATA:
            findings.append(f"{entry['path']}: has metadata beside its schema")
    return findings


_OWN_METADATA = {b"ARROW:schema", b"PARQUET:field_id"}


def _check_rows(release: Place, manifest: dict[str, Any]) -> dict[str, Any]:
    layout = lay_out(manifest)
    paths = [release / entry["path"] for entry in manifest["files"]]
    asked = manifest["privacy"]
    if not has_role_columns(layout, asked):
        raise ValueError
    categories, distributions = survey_files(paths, layout)
    limits = tuple(Fraction(str(asked["t"][c["name"]]["asked"])) for c in layout.confidential)
    findings: list[str] = []
    encode = partial(encode_files, paths, layout, categories, distributions)
    columns = type_columns(paths, layout)
    joint = find_joint(asked.get("joint", []), columns, distributions, (r.codes for r in encode()))
    columns = (*columns, *joint.columns)
    distributions, limits = (*distributions, *joint.distributions), (*limits, *joint.limits)
    is_old = is_earlier(manifest, _read_dictionary(release))
    models = [] if is_old else asked["models"]
    further = bind_models(models, columns, distributions, categories)
    checker = ClassChecker(distributions, limits, further, [], joint.joints)
    try:
        checks = checker.check_in_order(encode())
    except NotInOrderError:
        findings.append("rows are not in canonical order: their places may say something")
        checker = ClassChecker(distributions, limits, further, [], joint.joints)
        checks = checker.check_at_once(list(encode()))
    checks = add_whole(checks, check_table(checker.kept, further, distributions))
    verdict = decide(
        checks,
        k=asked["k"]["asked"],
        names=tuple(column.name for column in columns),
        max_emds=limits,
        n_expected=manifest["records"],
        n_changed={},
        further=further,
    )
    findings += [f"{f.what}: asked {f.asked}, found {f.found}" for f in verdict.failures]
    bucketed = [column["name"] for column in layout.confidential if column.get("bucketed")]
    privacy = describe_privacy(verdict, columns, bucketed)
    noise = measure_noise(manifest, verdict.n_records, verdict.sizes)
    findings += check_noise(manifest, noise, paths)
    rows = describe_rows(manifest, privacy, verdict, findings, is_old=is_old) | {"noise": noise}
    return rows | {"notes": [EARLIER]} if is_old else rows


def _read_dictionary(release: Place) -> str:
    path = release / "dictionary.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""
