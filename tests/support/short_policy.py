"""A policy with no more than what a policy has to have."""

from typing import Any


def document(**keys: Any) -> dict[str, Any]:
    """The policy, as YAML would give it, with other keys."""
    return {
        "name": "people",
        "input": {"path": "people.csv"},
        "attributes": {"age": "quasi-identifier", "pay": "confidential"},
        "privacy": {"k": 3, "t": 0.1},
    } | keys
