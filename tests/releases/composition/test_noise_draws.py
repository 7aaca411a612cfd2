"""Noise that stands in an output folder: found whatever else is wrong with its manifest."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from support.cases.repositories import fake_id
from tclose.releases.composition.noise_draws import Neighbours, find_draws, read_neighbours

INTERNAL = {
    "inputs": [{"sha256": "aa"}],
    "files": [],
    "noise": {"pay": {"epsilon": 0.5}},
}


def neighbours_of(folder: Path, **keys: Any) -> Neighbours:
    inside = folder / "people" / fake_id("a1") / "internal"
    inside.mkdir(parents=True)
    (inside / "manifest.json").write_text(json.dumps(INTERNAL | keys))
    return read_neighbours(folder)


@pytest.mark.parametrize("keys", [{}, {"seconds": {"plan": None}}, {"format": "three"}])
def test_only_what_tells_is_read(keys: dict[str, Any], tmp_path: Path) -> None:
    draws = find_draws(neighbours_of(tmp_path, **keys), {"aa", "bb"}, {"pay"})
    assert [draw.epsilons for draw in draws] == [{"pay": Fraction(1, 2)}]


@pytest.mark.parametrize(
    "keys",
    [
        {"inputs": None},
        {"noise": {"pay": {"epsilon": -1}}},
        {"noise": {"pay": {"epsilon": "0.5"}}},
        {"policy": "lost"},
        {"person_sketch": {"persons": 2, "hashes": []}},
        {"person_sketch": {"persons": 1, "hashes": [16 * "0", 16 * "1"]}},
        {"more": 2**64},
    ],
)
def test_what_does_not_tell_is_named(keys: dict[str, Any], tmp_path: Path) -> None:
    found = neighbours_of(tmp_path, **keys)
    assert found.untold == (f"people/{fake_id('a1')}",)
    assert find_draws(found, {"aa"}, {"pay"}) == ()


def test_of_what_was_handed_out_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "people" / fake_id("a1")).mkdir(parents=True)
    assert read_neighbours(tmp_path) == Neighbours({}, ())
