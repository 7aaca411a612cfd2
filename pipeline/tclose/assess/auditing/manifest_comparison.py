"""Comparison of a manifest's statements with the released rows."""

from tclose.model import Distance
from tclose.releases.manifest.privacy_summary import find_differences
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.manifest.sections import ClassesSection, Privacy, RiskSection

LARGEST_DIFFERENCE = 1e-12  # of a distance, computed twice in another order of its terms

UNPROVEN = (
    "manifest.json: believed in what rows do not show, as neither the release key nor a public key "
    "is at hand: an edit of the k, t or further models that were asked, of name, date, method, "
    "treatments, losses or epsilon would not be found, nor one of a document with its digest"
)
_ALIKE = "A later manifest from which they were taken out looks the same"


def find_gaps(manifest: Manifest, *, is_old: bool, is_proven: bool) -> list[str]:
    """Notes on what the manifest lacks, and so nobody can check.

    Parameters
    ----------
    is_old : the manifest is of a version that had no further models
    is_proven : the release key or a public key shows that nobody edited it
    """
    if is_proven and not is_old:
        return []
    lacking = ["further models", "attacks"] if is_old else []
    lacking += [] if manifest.documents else ["documents"]
    lacking += [] if manifest.values is not None else ["a comparison with the input"]
    if not lacking:
        return []
    *first, last = lacking
    told = f"{', '.join(first)} and {last}" if first else last
    now = "; the attacks that are told here were measured now" if is_old else ""
    alike = "" if is_proven else f". {_ALIKE}"
    return [f"manifest.json: says nothing of {told}, as those of earlier versions{now}{alike}"]


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
        said = manifest.privacy.t[name]
        if not abs(said.largest_emd - t.largest_emd) <= LARGEST_DIFFERENCE:
            findings.append(f"manifest.json: largest EMD of {name!r} differs from the rows'")
        distance = said.distance or (Distance.ORDERED if is_old else None)  # the only one there was
        if distance != t.distance:
            findings.append(f"manifest.json: distance of {name!r} differs from its column's")
        if said.of != t.of:
            findings.append(f"manifest.json: what t of {name!r} is of differs from its column's")
    return findings
