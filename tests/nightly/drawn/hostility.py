"""Policies made such that they can hardly be met, or do not fit their table: for refusals."""

from collections.abc import Callable
from typing import Any

from nightly.drawn.drawn_columns import Rng, pick


def worsen(rng: Rng, document: dict[str, Any]) -> None:
    """One change that may leave no way to a release."""
    change: Callable[[Rng, dict[str, Any]], None] = pick(rng, CHANGES)
    change(rng, document)


def ask_for_much(rng: Rng, document: dict[str, Any]) -> None:
    """Large classes, a small t, models that few tables have."""
    document["privacy"] |= pick(
        rng,
        [
            {"k": 1000},
            {"t": 0.01},
            {"t": 0.0},
            {"models": [{"name": "distinct-l-diversity", "l": 50}]},
            {"models": [{"name": "ratio-closeness", "t": 1.05}]},
            {"models": [{"name": "ratio-closeness", "t": 3, "buckets": [["Bonn"], ["Lyon"]]}]},
            {"models": [{"name": "stochastic-t-closeness", "t": 1.01}]},
            {"joint": [{"t": 0.05}]},
        ],
    )


def spoil_a_column(rng: Rng, document: dict[str, Any]) -> None:
    """Keys of an attribute that its values do not have."""
    attributes = document["attributes"]
    name = pick(rng, [n for n, a in attributes.items() if a != "identifier"])
    long = attributes[name]
    long = {"role": long} if isinstance(long, str) else dict(long)
    attributes[name] = long | pick(
        rng,
        [
            {"type": "numeric"},
            {"type": "date"},
            {"type": "nominal"},
            {"type": "ordinal", "order": ["low", "high"]},
            {"taxonomy": {"any": ["flu", "cold"]}},
            {"distance": "equal"},
            {"aggregate": "median"},
            {"intervals": {"widths": [2, 3]}},
            {"noise": {"epsilon": 1}},
            {"noise": {"epsilon": 1, "values": ["a", "b"]}},
            {"role": "confidential"},
        ],
    )


def cut_by_anything(rng: Rng, document: dict[str, Any]) -> None:
    """Folders of a column with any number of values."""
    document["output"]["partition_by"] = [pick(rng, list(document["attributes"]))]


def change_the_method(rng: Rng, document: dict[str, Any]) -> None:
    """Keys that are at their limits, or of another method."""
    document["method"] |= pick(
        rng,
        [
            {"ratio": 1.01},
            {"ratio": 3, "buckets": 40},
            {"class_size": 19},
            {"gamma": 0},
            {"refine": "full"},
            {"scope": "table"},
        ],
    )


CHANGES = (ask_for_much, ask_for_much, spoil_a_column, cut_by_anything, change_the_method)
