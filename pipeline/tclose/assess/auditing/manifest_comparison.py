"""Comparison of a manifest's statements with the released rows."""

from tclose.model.column_terms import Distance
from tclose.releases.manifest.privacy_sections import Privacy
from tclose.releases.manifest.privacy_summary import find_differences
from tclose.releases.manifest.public_manifest import FORMAT, Manifest
from tclose.releases.manifest.sections import ClassesSection, RiskSection

LARGEST_DIFFERENCE = 1e-12  # of a distance, computed twice in another order of its terms

EARLIER = (
    "manifest.json: made by an earlier version, which asked for no further models and measured no "
    "attacks; what is said of them here was measured now"
)

PERSONS = (
    "manifest.json: k and t over persons are not checked, as no file says whose a record is; "
    "tclose audit --originals checks them"
)
PERSONS_OF_SERIES = (
    "manifest.json: k and t over persons are not checked, as no file says whose a record is; "
    "tclose audit --series checks them, as registers do"
)


# What manifests have had from format 4 on, in which all have figures.
_LATER = ("about", "figures", "left_out", "left_out_over_time", "suppressed", "held")


def find_other_format(manifest: Manifest) -> list[str]:
    """List what a manifest lacks or has that none of its format does: it was edited."""
    if manifest.format == FORMAT:
        lacks = manifest.figures is None
        return ["manifest.json: has no figures, as all of its format have"] if lacks else []
    later = [key for key in _LATER if getattr(manifest, key) is not None]
    later += [one.path for one in manifest.documents if one.path == "report.html"]
    later += ["privacy.persons"] if manifest.privacy.persons is not None else []
    later += ["prepared"] if any(column.prepared for column in manifest.columns) else []
    said = ", ".join(later)
    return [f"manifest.json: has {said}, as none of its format has"] if later else []


def find_false_claims(
    manifest: Manifest, privacy: Privacy, classes: ClassesSection, risk: RiskSection | None
) -> list[str]:
    """List the manifest's entries that differ from the rows.

    Parameters
    ----------
    privacy, classes : what the rows say
    risk : None where the manifest was made before further models and attacks were measured
    """
    findings = _compare_privacy(manifest, privacy, is_old=risk is None)
    places = find_differences(manifest.classes, classes, "classes")
    if risk is not None:
        places += find_differences(manifest.privacy.joint, privacy.joint, "privacy.joint")
        places += find_differences(manifest.privacy.models, privacy.models, "privacy.models")
        places += find_differences(manifest.risk, risk, "risk")
    return findings + [f"manifest.json: {place} differs from what the rows say" for place in places]


def _compare_privacy(manifest: Manifest, privacy: Privacy, *, is_old: bool) -> list[str]:
    """List the entries on the verdict, k and t that differ from the rows."""
    findings = []
    if manifest.verdict != "pass":
        findings.append("manifest.json: the verdict is not pass")
    if find_differences(manifest.privacy.k, privacy.k, "k"):
        findings.append("manifest.json: k differs from what the rows say")
    for name, t in privacy.t.items():
        stated = manifest.privacy.t[name]
        if not abs(stated.largest_emd - t.largest_emd) <= LARGEST_DIFFERENCE:
            findings.append(f"manifest.json: largest EMD of {name!r} differs from the rows'")
        # Old manifests have no distance: the ordered one was the only one.
        distance = stated.distance or (Distance.ORDERED if is_old else None)
        if distance != t.distance:
            findings.append(f"manifest.json: distance of {name!r} differs from its column's")
        if stated.of != t.of:
            findings.append(f"manifest.json: what t of {name!r} is of differs from its column's")
    return findings
