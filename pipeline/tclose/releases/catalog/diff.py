"""Differences between two releases, by their manifests: never a value of the data.

Policies are compared where both internal manifests are at hand. What lists values, as the order of
an ordinal attribute or a taxonomy does, is told by its length.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tclose.data.places.locations import Location
from tclose.errors import OutputError
from tclose.releases.manifest.public_manifest import Manifest
from tclose.releases.manifest.sections import ReleasedColumn
from tclose.releases.repository.repository import read_internal, read_manifest

JsonScalar = str | int | float | bool | None

_DIGITS = 16  # enough to distinguish two sets of files
_FIGURES = ("privacy", "noise", "classes", "information_loss")
# Keys of a policy that ask for nothing of the release itself.
_ASIDE = (("engine",), ("output", "path"), ("output", "signing_key"))
_POLICY_DEPTH = {"attributes": 3, "privacy": 4}  # keys above settings; lists are never told


@dataclass(frozen=True)
class Difference:
    """One difference: its section, its key, and the summary of either release's value."""

    section: str
    key: str
    first: JsonScalar
    second: JsonScalar


@dataclass(frozen=True)
class ReleaseDiff:
    """All differences of two releases, and whether their policies could be compared."""

    differences: tuple[Difference, ...]
    has_policies: bool


def compare_releases(first: Location, second: Location) -> ReleaseDiff:
    """Compare two releases.

    Raises
    ------
    OutputError
        A manifest is missing or damaged.
    """
    manifests = _read(first), _read(second)
    policies = [_read_policy(release) for release in (first, second)]
    has_policies = all(policy is not None for policy in policies)
    differences: list[Difference] = []
    if has_policies:
        differences += _compare("policy", *(_summarise_policy(policy or {}) for policy in policies))
    differences += _compare_columns(*(manifest.columns for manifest in manifests))
    differences += _compare("release", *(_summarise_release(manifest) for manifest in manifests))
    for section in _FIGURES:
        summaries = (
            dict(_flatten(manifest.to_json().get(section, {}), 8)) for manifest in manifests
        )
        differences += _compare(section, *summaries)
    differences += _compare("files", *(_summarise_files(manifest) for manifest in manifests))
    return ReleaseDiff(tuple(differences), has_policies)


def _read(release: Location) -> Manifest:
    manifest = read_manifest(release)
    if manifest is None:
        raise OutputError(f"{release}: its manifest is missing or damaged; run its policy again")
    return manifest


def _read_policy(release: Location) -> Mapping[str, Any] | None:
    internal = read_internal(release)
    return None if internal is None else internal.policy


def _compare(section: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Difference]:
    keys = dict.fromkeys((*first, *second))
    return [
        Difference(section, key, *_summarise_both(first.get(key), second.get(key)))
        for key in keys
        if first.get(key) != second.get(key)
    ]


def _summarise_both(first: Any, second: Any) -> tuple[JsonScalar, JsonScalar]:
    """Summarise two different values for display: lists of values by their length alone."""
    summaries = _summarise(first), _summarise(second)
    return (
        (summaries[0], f"{summaries[1]}, others or in another order")
        if summaries[0] == summaries[1]
        else summaries
    )


def _summarise(value: Any) -> JsonScalar:
    if isinstance(value, list | dict):
        return f"{len(value):,} entries" if len(value) != 1 else "1 entry"
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _flatten(value: Mapping[str, Any], depth: int, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys and their values; values deeper than ``depth`` keys are not flattened."""
    for key, inner in value.items():
        if isinstance(inner, dict) and depth > 1:
            yield from _flatten(inner, depth - 1, f"{before}{key}.")
        else:
            yield f"{before}{key}", inner


def _summarise_policy(policy: Mapping[str, Any]) -> Mapping[str, Any]:
    summaries: dict[str, Any] = {}
    for section, value in policy.items():
        if not isinstance(value, dict):
            summaries[section] = value
            continue
        inner = {k: v for k, v in value.items() if (section, k) not in _ASIDE}
        depth = _POLICY_DEPTH.get(section, 2) - 1
        summaries |= dict(_flatten(inner, depth, f"{section}."))
    return {key: v for key, v in summaries.items() if (key.partition(".")[0],) not in _ASIDE}


def _compare_columns(first: list[ReleasedColumn], second: list[ReleasedColumn]) -> list[Difference]:
    """Columns that one release lacks, the order of the others, and how these are described."""
    sides = [{column.name: column for column in columns} for columns in (first, second)]
    present = [dict.fromkeys(side, "there") for side in sides]
    differences = _compare("columns", *present)
    common = [[name for name in side if name in sides[0] and name in sides[1]] for side in sides]
    differences += _compare("columns", *({"order": names} for names in common))
    for name in common[0]:
        summaries = (
            {f"{name}: {key}": v for key, v in side[name].to_json().items()} for side in sides
        )
        differences += _compare("columns", *summaries)
    return differences


def _summarise_release(manifest: Manifest) -> Mapping[str, JsonScalar]:
    return {
        "verdict": manifest.verdict,
        "method": manifest.method,
        "partition_by": ", ".join(manifest.partition_by),
        "records": manifest.records,
        "tclose": manifest.code.tclose,
    }


def _summarise_files(manifest: Manifest) -> Mapping[str, JsonScalar]:
    """Counts, and a digest of all: a file's path holds the values of partition columns."""
    files = manifest.files
    listed = "\n".join(f"{file.sha256} {file.path}" for file in files)
    digest = hashlib.sha256(listed.encode()).hexdigest()[:_DIGITS]
    n_bytes = sum(file.bytes for file in files)
    return {"count": len(files), "bytes": n_bytes, "digest": digest}
