"""Merging until classes hold: as its slow twin, until all do, and fast."""

import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.naive import naive_requirements
from support.tables.random_tables import quasi_identifiers, repeatable, seeds
from tclose.kernels.aggregate import group_by_label
from tclose.kernels.refinement.neighbours import find_cheapest
from tclose.passes.microaggregate.repair import merge_until as merge_until_module
from tclose.passes.microaggregate.repair.merge_until import merge_until


def distinct_at_least(codes, least):
    def holds(order, starts):
        found = [np.unique(codes[order[a:b]]).size for a, b in pairwise(starts)]
        return np.array(found) >= least

    return holds


@st.composite
def problems(draw):
    """Classes of a power of two records: means and costs are exact, so that ties are ties."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 4]), min_size=1, max_size=12))
    numeric, nominal, _ = draw(quasi_identifiers(sum(sizes)))
    rng = np.random.default_rng(draw(seeds))
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return numeric, nominal, labels, rng.integers(0, 4, labels.size)


@repeatable
@given(problems(), st.integers(1, 4))
def test_a_round_is_that_of_the_twin(problem, least):
    numeric, nominal, labels, codes = problem
    rounds = []

    def holds_after_a_round(order, starts):
        rounds.append(starts)
        found = distinct_at_least(codes, least)(order, starts)
        return found if len(rounds) == 1 else np.ones_like(found)

    merged, _, _ = merge_until(labels, numeric, nominal, holds_after_a_round)
    classes = naive.groups(labels)
    failing = [i for i, rows in enumerate(classes) if np.unique(codes[rows]).size < least]
    if len(classes) > 1:
        cost = naive_requirements.ward(numeric, nominal)
        classes = naive_requirements.merge_round(classes, failing, cost)
    assert classes == naive.groups(merged)


@repeatable
@given(problems(), st.integers(1, 4))
def test_all_hold_in_the_end_or_one_class_is_left(problem, least):
    numeric, nominal, labels, codes = problem
    merged, n_merged, n_failing = merge_until(
        labels, numeric, nominal, distinct_at_least(codes, least)
    )
    classes = naive.groups(merged)
    assert sorted(set(merged.tolist())) == list(range(len(classes)))
    assert n_merged == labels.max() - merged.max()
    assert all({merged[i] for i in rows} == {merged[rows[0]]} for rows in naive.groups(labels))
    failing = [rows for rows in classes if np.unique(codes[rows]).size < least]
    assert n_failing == len(failing)
    assert not failing or len(classes) == 1


def test_classes_that_hold_are_left_alone():
    labels = np.repeat(np.arange(6), 2)
    codes = np.array([0, 1] * 4 + [0, 0] + [0, 1])
    numeric = labels[np.newaxis] / 8.0
    merged, n_merged, _ = merge_until(
        labels, numeric, np.empty((0, 12), np.int32), distinct_at_least(codes, 2)
    )
    assert n_merged == 1
    assert merged.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4]


def test_a_class_that_holds_only_with_most_of_the_others_takes_few_rounds():
    """It doubles its size again and again, by the classes that are nearest to it."""
    n_classes, wanted = 600, 400
    labels = np.repeat(np.arange(n_classes), 2)
    numeric = np.vstack([labels / 1024.0, np.zeros(labels.size)])
    is_first = np.zeros(labels.size, dtype=bool)
    is_first[0] = True
    rounds = []

    def holds(order, starts):
        rounds.append(starts.size - 1)
        has_first = np.logical_or.reduceat(is_first[order], starts[:-1])
        return ~has_first | (np.diff(starts) >= 2 * wanted)

    merged, n_merged, n_failing = merge_until(
        labels, numeric, np.empty((0, labels.size), np.int32), holds
    )
    assert n_failing == 0
    assert len(rounds) < 25
    sizes = np.bincount(merged)
    assert wanted <= sizes[0] / 2 < 1.5 * wanted
    assert set(sizes[1:]) == {2}
    assert n_merged == n_classes - sizes.size
    assert (np.flatnonzero(merged == 0) == np.arange(sizes[0])).all()


def test_partners_are_sought_along_an_axis_that_tells_classes_apart(monkeypatch):
    """Not along that of one class far from all others, which are in one place on it."""
    labels = np.repeat(np.arange(30), 2)
    near = np.random.default_rng(1).random(labels.size)
    numeric = np.vstack([np.where(labels == 29, 1000.0, 0.0), near])
    axes = []

    def find(*arguments):
        axes.append(arguments[-1])
        return find_cheapest(*arguments)

    monkeypatch.setattr(merge_until_module, "find_cheapest", find)
    merge_until(labels, numeric, np.empty((0, labels.size), np.int32), lambda o, s: np.diff(s) > 2)
    assert np.unique(axes[0]).size == 30


@pytest.mark.nightly
def test_thousands_of_failing_classes_take_seconds():
    rng = np.random.default_rng(5)
    n_classes = 20_000
    labels = np.repeat(np.arange(n_classes), 5)
    numeric, nominal = rng.random((5, labels.size)), rng.integers(0, 4, (2, labels.size), np.int32)
    codes = rng.integers(0, 3, labels.size)

    def holds(order, starts):
        seen = [np.add.reduceat(codes[order] == v, starts[:-1]) > 0 for v in range(3)]
        return np.sum(seen, axis=0) == 3

    order, starts = group_by_label(labels, n_classes)
    assert np.count_nonzero(~holds(order, starts)) > 5_000
    merge_until(
        labels[:50], numeric[:, :50], nominal[:, :50], lambda o, s: np.ones(s.size - 1, bool)
    )
    begin = time.process_time()
    _, _, n_failing = merge_until(labels, numeric, nominal, holds)
    assert n_failing == 0
    assert time.process_time() - begin < 60  # 3 s measured
