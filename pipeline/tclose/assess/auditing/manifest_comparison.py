"""Comparison of a manifest's statements with the released rows."""

from dataclasses import asdict
from typing import Any

from tclose.model import Distance, Verdict
from tclose.releases.manifest.privacy_summary import describe_risk, find_differences

LARGEST_DIFFERENCE = 1e-12  # of a distance, computed twice in another order of its terms

EARLIER = (
    "manifest.json: made by an earlier version, which asked for no further models and measured no "
    "attacks; what is said of them here was measured now"
)


def describe_rows(
    manifest: dict[str, Any],
    privacy: dict[str, Any],
    verdict: Verdict,
    findings: list[str],
    *,
    is_old: bool,
) -> dict[str, Any]:
    """Describe the released rows, and the manifest's entries that differ from them."""
    risk = describe_risk(verdict, verdict.k)
    return {
        "findings": [
            *findings,
            *_compare(manifest, privacy, asdict(verdict.sizes), is_old=is_old),
            *_compare_sections(manifest, privacy, risk, is_old=is_old),
        ],
        "checked": True,
        "records": verdict.n_records,
        "privacy": privacy,
        "classes": asdict(verdict.sizes),
        "risk": risk,
    }


def _compare(
    manifest: dict[str, Any], privacy: dict[str, Any], classes: dict[str, Any], *, is_old: bool
) -> list[str]:
    """List the manifest's entries on k, t and classes that differ from the rows."""
    findings = []
    if manifest["verdict"] != "pass":
        findings.append("manifest.json: the verdict is not pass")
    if manifest["privacy"]["k"] != privacy["k"]:
        findings.append("manifest.json: k differs from what the rows say")
    for name, t in privacy["t"].items():
        said = manifest["privacy"]["t"][name]["largest_emd"]
        if not abs(said - t["largest_emd"]) <= LARGEST_DIFFERENCE:
            findings.append(f"manifest.json: largest EMD of {name!r} differs from the rows'")
        distance = Distance.ORDERED if is_old else None  # the only one there was
        if manifest["privacy"]["t"][name].get("distance", distance) != t["distance"]:
            findings.append(f"manifest.json: distance of {name!r} differs from its column's")
        if manifest["privacy"]["t"][name].get("of") != t.get("of"):
            findings.append(f"manifest.json: what t of {name!r} is of differs from its column's")
    for key, value in classes.items():
        if manifest["classes"][key] != value:
            findings.append(f"manifest.json: classes.{key} differs from what the rows say")
    return findings


def _compare_sections(
    manifest: dict[str, Any], privacy: dict[str, Any], risk: dict[str, Any], *, is_old: bool
) -> list[str]:
    """List the entries on combinations, further models and attacks that differ from the rows."""
    if is_old:
        return []
    stated = manifest["privacy"]
    entries = find_differences(stated.get("joint", []), privacy["joint"], "privacy.joint")
    entries += find_differences(stated["models"], privacy["models"], "privacy.models")
    entries += find_differences(manifest["risk"], risk, "risk")
    return [f"manifest.json: {entry} differs from what the rows say" for entry in entries]
