"""Persons that two releases have in common, from sketches of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.releases.composition.shared_persons import SKETCH_SIZE, estimate_shared
from tclose.releases.manifest.internal_manifest import PersonSketch

HASHES = np.random.default_rng(7).integers(0, 2**63, 40_000)


def sketch_of(persons: np.ndarray) -> PersonSketch:
    words = sorted(HASHES[persons].tolist())[:SKETCH_SIZE]
    return PersonSketch(persons=persons.size, hashes=[f"{word:016x}" for word in words])


@given(st.sets(st.integers(0, 60), min_size=1), st.sets(st.integers(0, 60), min_size=1))
def test_few_persons_are_counted_exactly(first: set[int], second: set[int]) -> None:
    sketches = [sketch_of(np.array(sorted(persons))) for persons in (first, second)]
    assert estimate_shared(*sketches) == len(first & second)


@pytest.mark.parametrize("shared", [0, 200, 5_000, 10_000, 19_600, 20_000])
def test_many_persons_are_estimated(shared: int) -> None:
    first, second = np.arange(20_000), np.arange(20_000 - shared, 40_000 - shared)
    found = estimate_shared(sketch_of(first), sketch_of(second))
    assert abs(found - shared) <= 1_000
    assert (found == shared) or shared not in (0, 20_000)


def test_few_among_many() -> None:
    """A whole sketch beside one that goes only so far: both are compared as far as both go."""
    few, many = np.arange(0, 40_000, 400), np.arange(20_000)
    assert abs(estimate_shared(sketch_of(few), sketch_of(many)) - 50) < 200
    assert estimate_shared(sketch_of(few), sketch_of(few)) == 100
