"""Policies with something else in one place, without it, or with a key that there is not."""

import copy
from typing import Any

from nightly.drawn.drawn_columns import Rng, pick

OTHERS: list[Any] = [None, "", "x" * 300, "-1", -1, 0, 10**30, 1e400, float("nan"), True]
OTHERS += [[], {}, ["a"], [[]]]
KEYS = ["unknown", "k", "t", "name", "", "\n"]


def mutate(rng: Rng, document: dict[str, Any]) -> dict[str, Any]:
    """A copy with one change, at any depth; the output stays where it is."""
    mutant = copy.deepcopy(document)
    place, keys = mutant, [key for key in mutant if key != "output"]
    while True:
        key = pick(rng, keys)
        below = place[key]
        if not isinstance(below, dict) or not below or rng.random() < 0.25:
            break
        place, keys = below, list(below)
    how = pick(rng, ["other", "other", "without", "more"])
    if how == "other":
        place[key] = copy.deepcopy(pick(rng, OTHERS))
    elif how == "without":
        del place[key]
    else:
        place[pick(rng, KEYS)] = place[key]
    return mutant
