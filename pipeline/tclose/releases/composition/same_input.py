"""Other releases of the same input files in an output folder.

Whoever has two of them can intersect their classes: records that one keeps together the other one
may tell apart. Neither k nor t holds for the pair.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tclose.releases.composition.noise_draws import Neighbours, shares_input
from tclose.releases.manifest.internal_manifest import SameInput

# What decides nothing of the classes, or of which release it is. Columns that the policy does not
# list are in no release, and roles that nobody has confirmed neither.
_APART = {"name", "input", "output", "engine", "about", "unlisted", "unconfirmed"}
_WORDS = {"label", "unit", "description"}  # of an attribute, for people
# What decides how values are read.
_READING = ("missing_values", "delimiter", "encoding", "decimal", "thousands", "date_format")


@dataclass(frozen=True)
class Sibling:
    """A release of some of the same input files.

    ``release``: its name and id; ``differs``: sections of the policy that are others; ``data``:
    SHA-256 of its data files; ``is_cut_alike``: whether these have as many rows each;
    ``has_other_files``: whether not all files of the input are the same, as in a folder that grew.
    """

    release: str
    differs: tuple[str, ...]
    data: frozenset[str]
    is_cut_alike: bool = True
    has_other_files: bool = False


def find_siblings(
    neighbours: Neighbours, digests: Collection[str], policy: Mapping[str, Any]
) -> tuple[Sibling, ...]:
    """Releases, of any name, that share files of the input.

    Parameters
    ----------
    digests : SHA-256 of each file of the input
    policy : as an internal manifest has it
    """
    return tuple(
        Sibling(
            name,
            _compare(policy, origin.policy),
            frozenset(file.sha256 for file in origin.files),
            _rows_per_file(policy) == _rows_per_file(origin.policy),
            sorted(file.sha256 for file in origin.inputs) != sorted(digests),
        )
        for name, origin in neighbours.origins.items()
        if shares_input(origin, digests)
    )


def _compare(policy: Mapping[str, Any], other: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Sections of two policies that are not the same, of those that decide the classes."""
    if other is None:
        return ("policy",)
    deciding = [_decide_classes(document) for document in (policy, other)]
    names = sorted(deciding[0].keys() | deciding[1].keys())
    return tuple(name for name in names if deciding[0].get(name) != deciding[1].get(name))


def _decide_classes(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a policy that decides the classes, without files and their division."""
    deciding_keys = {key: value for key, value in policy.items() if key not in _APART}
    for section, keys in (("input", _READING), ("output", ("partition_by",))):
        settings = policy.get(section)
        if isinstance(settings, dict):
            deciding_keys[section] = {key: settings.get(key) for key in keys}
    attributes = policy.get("attributes")
    if isinstance(attributes, dict):
        deciding_keys["attributes"] = {n: _without_words(of) for n, of in attributes.items()}
    return deciding_keys


def _without_words(attribute: object) -> object:
    if not isinstance(attribute, dict):
        return attribute
    return {key: value for key, value in attribute.items() if key not in _WORDS}


def _rows_per_file(policy: object) -> object:
    output = policy.get("output") if isinstance(policy, Mapping) else None
    return output.get("rows_per_file") if isinstance(output, dict) else None


def describe_siblings(siblings: Collection[Sibling]) -> list[SameInput]:
    """Describe the siblings for an internal manifest."""
    return [SameInput(release=s.release, differs=list(s.differs)) for s in siblings]
