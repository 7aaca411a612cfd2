"""Columns that tell a confidential one, against counts of every set by hand."""

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest

from tclose.passes.plan.notices.telling_columns import (
    LEAST_COVERED,
    LEAST_GROUP,
    TOLD,
    Telling,
    find_telling,
)

N = 400


def share_by_hand(columns, secret):
    """The share told in groups of enough records; 0 where too few are in one."""
    groups: dict[tuple, Counter] = defaultdict(Counter)
    for *key, value in zip(*columns, secret, strict=True):
        groups[tuple(key)][value] += 1
    large = [counts for counts in groups.values() if counts.total() >= LEAST_GROUP]
    n_covered = sum(counts.total() for counts in large)
    if n_covered < LEAST_COVERED * len(secret):
        return 0.0
    return sum(max(counts.values()) for counts in large) / n_covered


@pytest.mark.parametrize("seed", range(8))
def test_as_by_hand(seed):
    rng = np.random.default_rng(seed)
    known = {name: rng.integers(0, 2 + seed % 3, N) for name in "abc"}
    secret = {"s": known["a"] * 5 + known["b"] + (rng.random(N) < 0.05 * (seed % 2))}
    found = find_telling(known, secret)
    for size in (1, 2, 3):
        shares = {
            names: share_by_hand([known[n] for n in names], secret["s"])
            for names in combinations("abc", size)
        }
        told = max(shares.values())
        if told >= TOLD:
            assert set(found) == {"s"}
            assert len(found["s"].columns) == size
            assert found["s"].share == pytest.approx(told)
            return
    assert found == {}


def test_fewest_columns_are_named():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 4, (2, N))
    assert find_telling({"a": a, "b": b}, {"s": -7 * a}) == {"s": Telling(("a",), 1.0)}


@pytest.mark.parametrize(
    "secret",
    [np.zeros(N, np.int64), np.arange(N), (np.arange(N) % 10 == 0).astype(np.int64)],
    ids=["one value", "all differ", "anybody would guess it"],
)
def test_nothing_is_told(secret):
    known = {"a": np.arange(N) % 10, "b": np.arange(N)}
    assert find_telling(known, {"s": secret}) == {}


def test_few_records_say_nothing():
    values = np.arange(60) % 3
    assert find_telling({"a": values}, {"s": values}) == {}
