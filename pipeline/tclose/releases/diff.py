"""What differs between two releases, by their manifests: never a value of the data.

Policies are compared where both internal manifests are at hand. What lists values, as the order of
an ordinal attribute or a taxonomy does, is told by its length.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tclose.data.places.locations import Location
from tclose.errors import OutputError
from tclose.releases.catalog import has_form
from tclose.releases.repository import read_internal, read_manifest

Told = str | int | float | bool | None

_DIGITS = 16  # enough to tell two sets of files apart
_FIGURES = ("privacy", "noise", "classes", "information_loss")
# Keys of a policy that ask for nothing of the release itself.
_ASIDE = (("engine",), ("output", "path"), ("output", "signing_key"))
_POLICY_DEPTH = {"attributes": 3}


@dataclass(frozen=True)
class Difference:
    """One thing that differs: where, what, and how it is told of both releases."""

    section: str
    key: str
    first: Told
    second: Told


@dataclass(frozen=True)
class Comparison:
    """All that differs, and whether the policies could be compared."""

    differences: tuple[Difference, ...]
    has_policies: bool


def compare_releases(first: Location, second: Location) -> Comparison:
    """Compare two releases.

    Raises
    ------
    OutputError
        A manifest is missing or damaged.
    """
    manifests = _read(first), _read(second)
    policies = [_read_policy(release) for release in (first, second)]
    has_policies = all(policy is not None for policy in policies)
    found: list[Difference] = []
    if has_policies:
        found += _compare("policy", *(_tell_policy(policy or {}) for policy in policies))
    found += _compare_columns(*(manifest["columns"] for manifest in manifests))
    found += _compare("release", *(_tell_release(manifest) for manifest in manifests))
    for section in _FIGURES:
        told = (dict(_flatten(manifest.get(section, {}), 8)) for manifest in manifests)
        found += _compare(section, *told)
    found += _compare("files", *(_tell_files(manifest) for manifest in manifests))
    return Comparison(tuple(found), has_policies)


def _read(release: Location) -> dict[str, Any]:
    manifest = read_manifest(release)
    if manifest is None or not has_form(manifest):
        raise OutputError(f"{release}: its manifest is missing or damaged; run its policy again")
    return manifest


def _read_policy(release: Location) -> dict[str, Any] | None:
    internal = read_internal(release)
    policy = None if internal is None else internal.get("policy")
    return policy if isinstance(policy, dict) else None


def _compare(section: str, first: dict[str, Any], second: dict[str, Any]) -> list[Difference]:
    keys = dict.fromkeys((*first, *second))
    return [
        Difference(section, key, *_tell_both(first.get(key), second.get(key)))
        for key in keys
        if first.get(key) != second.get(key)
    ]


def _tell_both(first: Any, second: Any) -> tuple[Told, Told]:
    """Two unlike values as they may be shown: lists of values by their length alone."""
    told = _tell(first), _tell(second)
    return (told[0], f"{told[1]}, others or in another order") if told[0] == told[1] else told


def _tell(value: Any) -> Told:
    if isinstance(value, list | dict):
        return f"{len(value):,} entries" if len(value) != 1 else "1 entry"
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _flatten(value: dict[str, Any], depth: int, before: str = "") -> Iterator[tuple[str, Any]]:
    """Keys with dots and what they hold; what is deeper than ``depth`` keys stays whole."""
    for key, inner in value.items():
        if isinstance(inner, dict) and depth > 1:
            yield from _flatten(inner, depth - 1, f"{before}{key}.")
        else:
            yield f"{before}{key}", inner


def _tell_policy(policy: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for section, value in policy.items():
        if not isinstance(value, dict):
            told[section] = value
            continue
        inner = {k: v for k, v in value.items() if (section, k) not in _ASIDE}
        depth = _POLICY_DEPTH.get(section, 2) - 1
        told |= dict(_flatten(inner, depth, f"{section}."))
    return {key: v for key, v in told.items() if (key.partition(".")[0],) not in _ASIDE}


def _compare_columns(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> list[Difference]:
    """Columns that one release lacks, the order of the others, and how these are described."""
    sides = [{column["name"]: column for column in columns} for columns in (first, second)]
    there = [dict.fromkeys(side, "there") for side in sides]
    found = _compare("columns", *there)
    common = [[name for name in side if name in sides[0] and name in sides[1]] for side in sides]
    found += _compare("columns", *({"order": names} for names in common))
    for name in common[0]:
        told = ({f"{name}: {key}": v for key, v in side[name].items()} for side in sides)
        found += _compare("columns", *told)
    return found


def _tell_release(manifest: dict[str, Any]) -> dict[str, Any]:
    return {
        "verdict": manifest["verdict"],
        "method": manifest["method"],
        "partition_by": ", ".join(manifest["partition_by"]),
        "records": manifest["records"],
        "tclose": manifest["code"]["tclose"],
    }


def _tell_files(manifest: dict[str, Any]) -> dict[str, Any]:
    """Counts, and a digest of all: a file's path holds the values of partition columns."""
    files = manifest["files"]
    listed = "\n".join(f"{file['sha256']} {file['path']}" for file in files)
    digest = hashlib.sha256(listed.encode()).hexdigest()[:_DIGITS]
    n_bytes = sum(file["bytes"] for file in files)
    return {"count": len(files), "bytes": n_bytes, "digest": digest}
