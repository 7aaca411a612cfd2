"""What a manifest claims beside what its rows say."""

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
    """What the rows say, and where the manifest says something else."""
    risk = describe_risk(verdict, verdict.k)
    return {
        "findings": [
            *findings,
            *_compare(manifest, privacy, asdict(verdict.sizes), is_old=is_old),
            *_compare_accounts(manifest, privacy, risk, is_old=is_old),
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
    """Where the manifest says something else than the rows."""
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


def _compare_accounts(
    manifest: dict[str, Any], privacy: dict[str, Any], risk: dict[str, Any], *, is_old: bool
) -> list[str]:
    """Where the manifest says else of combinations, further models and attacks than the rows."""
    if is_old:
        return []
    asked = manifest["privacy"]
    places = find_differences(asked.get("joint", []), privacy["joint"], "privacy.joint")
    places += find_differences(asked["models"], privacy["models"], "privacy.models")
    places += find_differences(manifest["risk"], risk, "risk")
    return [f"manifest.json: {place} differs from what the rows say" for place in places]
