"""Filling classes with given counts: the listing, record by record, and blocks of it."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_ratio
from support.tables.random_tables import quasi_identifiers, repeatable, seeds
from tclose.kernels.clustering.fill_buckets import (
    cut_class_ranges,
    fill_block,
    fill_blocks,
)


@st.composite
def tasks(draw: st.DrawFn):
    """Quasi-identifiers, and counts of each class whose columns add up to the buckets."""
    rng = np.random.default_rng(draw(seeds))
    shape = draw(st.tuples(st.integers(1, 8), st.integers(1, 4)))
    counts = rng.integers(0, 4, shape)
    counts[:, 0] += counts.sum(axis=1) == 0
    numeric, nominal, n_levels = draw(quasi_identifiers(int(counts.sum())))
    return numeric, nominal, n_levels, counts


def fill(numeric, nominal, n_levels, counts, block_classes):
    cumulative = np.concatenate([np.zeros((1, counts.shape[1]), int), np.cumsum(counts, axis=0)])
    starts = np.concatenate([[0], np.cumsum(cumulative[-1])[:-1]])
    weights = np.ones(len(nominal))
    heights = np.ones(len(nominal), np.int64)
    cut = cut_class_ranges(
        numeric, nominal, n_levels, starts, cumulative, block_classes, weights, heights
    )
    return (
        fill_blocks(numeric, nominal, starts, cumulative, *cut, weights),
        cut,
        starts,
        cumulative,
    )


def buckets_of(counts: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(counts.shape[1]), counts.sum(axis=0))


@repeatable
@given(tasks())
def test_makes_the_classes_of_the_listing(task) -> None:
    numeric, nominal, _, counts = task
    starts = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
    labels = fill_block(numeric, nominal, starts, counts, np.ones(len(nominal)))
    assert labels.tolist() == naive_ratio.fill_block(numeric, nominal, buckets_of(counts), counts)


@repeatable
@given(tasks(), st.integers(1, 9))
def test_every_class_has_its_counts_in_blocks_too(task: Any, block_classes: int) -> None:
    numeric, nominal, n_levels, counts = task
    labels = fill(numeric, nominal, n_levels, counts, block_classes)[0]
    found = np.zeros_like(counts)
    np.add.at(found, (labels, buckets_of(counts)), 1)
    assert found.tolist() == counts.tolist()


@repeatable
@given(tasks(), st.integers(1, 9))
def test_each_block_is_filled_by_itself(task: Any, block_classes: int) -> None:
    numeric, nominal, n_levels, counts = task
    labels, (order, edges), starts, cumulative = fill(
        numeric, nominal, n_levels, counts, block_classes
    )
    assert np.diff(edges).max() <= block_classes
    assert sorted(order.tolist()) == list(range(labels.size))
    for first, last in pairwise(edges):
        members = np.concatenate(
            [
                np.sort(order[s + a : s + b])
                for s, a, b in zip(starts, cumulative[first], cumulative[last], strict=True)
            ]
        )
        alone = naive_ratio.fill_block(
            numeric[:, members],
            nominal[:, members],
            buckets_of(counts)[members],
            counts[first:last],
        )
        assert (labels[members] - first).tolist() == alone


def test_blocks_are_cut_along_the_widest_quasi_identifier() -> None:
    """One bucket, two classes of two: the lower half goes together."""
    numeric = np.array([[0.0, 1.0, 0.1, 0.9], [0.5, 0.5, 0.6, 0.6]])
    labels = fill(numeric, np.empty((0, 4), np.int32), 1, np.array([[2], [2]]), 1)[0]
    assert labels.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("rows", [[[2, 1], [1, 2]], [[1, 2], [2, 1]]])
def test_a_class_emphasises_what_is_common_around_its_seed(rows: list) -> None:
    """Bucket 0 at 0, 0, 9, bucket 1 at 0, 9, 9: two of the first live at 0, whichever row it is."""
    numeric = np.array([[0.0, 0.0, 9.0, 0.0, 9.0, 9.0]])
    nominal, weights = np.empty((0, 6), np.int32), np.empty(0)
    labels = fill_block(numeric, nominal, np.array([0, 3, 6]), np.array(rows), weights)
    at_zero = rows.index([2, 1])
    assert labels.tolist() == [at_zero, at_zero, 1 - at_zero, at_zero, 1 - at_zero, 1 - at_zero]
