"""Missing values of quasi-identifiers, as a policy has them filled in; what the centres are."""

from collections import Counter
from typing import Any

from nightly.independent.asked import QUASI, Asked
from nightly.independent.values import rank_of

CATEGORY = "(missing)"
OF_CLASS = "class"
Columns = dict[str, list[Any]]


def fill_gaps(asked: Asked, columns: Columns) -> Columns:
    """The records with a category or a centre where the policy says so, whatever their class is."""
    return columns | {
        name: [_value_for_gap(asked, name, columns) if v is None else v for v in columns[name]]
        for name in asked.with_role(QUASI)
        if (asked.attributes[name].get("missing") or OF_CLASS) != OF_CLASS
    }


def find_centres(asked: Asked, columns: Columns) -> dict[str, Any]:
    """What a class releases none of whose records has a value, of columns filled by class."""
    return {
        name: find_centre(asked, name, columns[name])
        for name in asked.with_role(QUASI)
        if asked.attributes[name].get("missing") == OF_CLASS
    }


def _value_for_gap(asked: Asked, name: str, columns: Columns) -> Any:
    if asked.attributes[name]["missing"] == "category":
        return CATEGORY
    return find_centre(asked, name, columns[name])


def find_centre(asked: Asked, name: str, values: list[Any]) -> Any:
    """The lower median, or the commonest category, of several the first by its text."""
    present = [value for value in values if value is not None]
    if not present:
        return None
    if asked.kind(name) in ("nominal", "boolean"):
        counts = Counter(present)
        return min(counts, key=lambda value: (-counts[value], str(value)))
    ranked = sorted(present, key=lambda value: rank_of(asked, name, value))
    return ranked[(len(ranked) - 1) // 2]
