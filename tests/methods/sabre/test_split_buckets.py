"""Buckets of confidential values: how they are made, and that their bound is one."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.naive import naive_partition
from support.tables.random_tables import distribution_of, repeatable
from tclose.errors import DataError
from tclose.methods.sabre.split_buckets import (
    MakeBuckets,
    SabreBuckets,
    equal_buckets,
    ordered_buckets,
)
from tclose.methods.sabre.tree_buckets import hierarchical_buckets
from tclose.model.distribution import make_distribution

TINY = Fraction(1, 10**18)
limits = st.integers(0, 60).map(lambda percent: Fraction(percent, 100))
value_counts = st.lists(st.integers(1, 9), min_size=1, max_size=9)
# Six values, of which the first three and the last two are of one kind; the third is alone.
TREE = np.array([[0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 2, 2], [0, 0, 0, 0, 1, 1], [0] * 6])


def lists_of(buckets: SabreBuckets) -> list[list[int]]:
    return naive.groups(buckets.of_value.tolist())


def emd_by(rule: MakeBuckets, members: list[int], table: list[int]) -> Fraction:
    """Distance by its definition."""
    if rule is ordered_buckets:
        return naive.ordered_emd(members, table)
    if rule is equal_buckets:
        return naive_partition.equal_emd(members, table)
    return naive_partition.hierarchical_emd(members, table, TREE.tolist())


of_tree = hierarchical_buckets(TREE)


@st.composite
def bucketized(draw: st.DrawFn) -> tuple[MakeBuckets, list[int], SabreBuckets]:
    """A rule, how many records each value has, and the buckets by it."""
    rule = draw(st.sampled_from([ordered_buckets, equal_buckets, of_tree]))
    n_values = TREE.shape[1]
    sizes = st.lists(st.integers(1, 9), min_size=n_values, max_size=n_values)
    counts = draw(sizes if rule is of_tree else value_counts)
    return rule, counts, rule(make_distribution(np.arange(len(counts)), counts), draw(limits))


@repeatable
@given(value_counts, limits)
def test_ordered_ones_are_the_twins(counts: list[int], limit: Fraction) -> None:
    made = ordered_buckets(make_distribution(np.arange(len(counts)), counts), limit)
    assert lists_of(made) == naive_partition.ordered_buckets(counts, limit)
    assert made.counts.tolist() == [sum(counts[v] for v in b) for b in lists_of(made)]


@repeatable
@given(bucketized(), limits)
def test_in_proportion_they_are_within_the_limit(
    case: tuple[MakeBuckets, list[int], SabreBuckets], limit: Fraction
) -> None:
    """And with one bucket fewer they are not: of the equal distance, where that can be told."""
    rule, counts, _ = case
    made = rule(make_distribution(np.arange(len(counts)), counts), limit)
    assert made.bound(made.counts) <= limit
    assert sum(made.counts) == sum(counts)
    if rule is equal_buckets and made.counts.size > 1:
        by_count = sorted(counts, reverse=True)
        left = by_count[made.counts.size - 2 :]
        assert Fraction(sum(left) - min(left), sum(counts)) > limit


@repeatable
@given(bucketized(), st.data())
def test_no_class_is_farther_than_the_bound(
    case: tuple[MakeBuckets, list[int], SabreBuckets], data: st.DataObject
) -> None:
    """Whichever records of the buckets it takes; by the definition of each distance."""
    rule, counts, buckets = case
    table = np.repeat(np.arange(len(counts)), counts).tolist()
    size = data.draw(st.integers(1, 6))
    members = data.draw(st.lists(st.sampled_from(table), min_size=size, max_size=size))
    taken = np.bincount(buckets.of_value[members], minlength=buckets.counts.size)
    bound = buckets.bound(taken)
    assert emd_by(rule, members, table) <= bound
    assert buckets.meet(taken[None], bound).tolist() == [True]
    assert buckets.meet(np.stack([taken, taken]), bound - TINY).tolist() == [False, False]


@pytest.mark.parametrize("rule", [ordered_buckets, equal_buckets, of_tree])
@pytest.mark.parametrize("percent", [0, 10, 30])
def test_some_class_is_as_far_as_the_bound(rule: MakeBuckets, percent: int) -> None:
    """In proportion, with all of a bucket's records at its worst value: the bound is no looser."""
    counts = [6, 6, 6, 6, 6, 6]
    buckets = rule(make_distribution(np.arange(6), counts), Fraction(percent, 100))
    table = np.repeat(np.arange(6), counts).tolist()
    farthest = Fraction(0)
    for pick in np.ndindex(*(len(b) for b in lists_of(buckets))):
        chosen = [b[i] for b, i in zip(lists_of(buckets), pick, strict=True)]
        members = np.repeat(chosen, buckets.counts).tolist()
        farthest = max(farthest, emd_by(rule, members, table))
    assert farthest == buckets.bound(buckets.counts) <= Fraction(percent, 100)


@repeatable
@given(st.lists(st.integers(1, 9), min_size=6, max_size=6), st.data())
def test_distance_between_single_values_is_exact(counts: list[int], data: st.DataObject) -> None:
    """With a bucket for each value nothing is left to chance: the bound is the distance."""
    table = np.repeat(np.arange(6), counts).tolist()
    members = data.draw(st.lists(st.sampled_from(table), min_size=1, max_size=8))
    for rule in (ordered_buckets, equal_buckets, of_tree):
        buckets = rule(make_distribution(np.arange(6), counts), Fraction(0))
        taken = np.bincount(buckets.of_value[members], minlength=6)
        assert buckets.bound(taken) == emd_by(rule, members, table)


def test_equal_ones_take_out_the_commonest_values() -> None:
    distribution = make_distribution(np.arange(4), [2, 5, 1, 2])
    assert equal_buckets(distribution, Fraction(9, 10)).of_value.tolist() == [0, 0, 0, 0]
    assert equal_buckets(distribution, Fraction(4, 10)).of_value.tolist() == [1, 0, 1, 1]
    assert equal_buckets(distribution, Fraction(39, 100)).of_value.tolist() == [1, 0, 2, 2]
    assert equal_buckets(distribution, Fraction(0)).of_value.tolist() == [1, 0, 3, 2]


def test_hierarchical_ones_are_nodes() -> None:
    distribution = make_distribution(np.arange(6), [1] * 6)
    seen = set()
    for percent in range(100, -1, -1):
        made = lists_of(of_tree(distribution, Fraction(percent, 100)))
        seen.add(tuple(map(tuple, made)))
    nodes = {tuple(np.flatnonzero(row == node).tolist()) for row in TREE for node in set(row)}
    assert all(set(cover) <= nodes for cover in seen)
    assert {((0, 1, 2, 3, 4, 5),), ((0, 1, 2, 3), (4, 5)), tuple((v,) for v in range(6))} <= seen


def test_many_values_and_records_stay_exact() -> None:
    """Sums far beyond 64 bits: the bound is the distance still."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 60, 4_001) ** 3
    distribution, codes = distribution_of(values)
    scaled = make_distribution(distribution.values, distribution.counts * 10**6 + 1)
    buckets = ordered_buckets(scaled, Fraction(0))
    taken = np.bincount(codes[:50], minlength=buckets.counts.size)
    in_table = dict(zip(range(buckets.counts.size), scaled.counts.tolist(), strict=True))
    assert buckets.scale > 2**64
    assert buckets.bound(taken) == naive.ordered_emd(codes[:50].tolist(), in_table)


@pytest.mark.parametrize(
    "ancestors",
    [
        [[0, 1, 2], [0, 0, 1]],
        [[0, 0, 1], [0, 0, 0]],
        [[0, 1, 2], [0, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 0]],
    ],
    ids=["no root", "values alike", "a node parted"],
)
def test_levels_that_are_no_tree_are_refused(ancestors: list[list[int]]) -> None:
    with pytest.raises(DataError, match="not a tree"):
        hierarchical_buckets(np.array(ancestors))


def test_one_value_is_one_bucket() -> None:
    distribution = make_distribution(np.arange(1), [3])
    for rule in (ordered_buckets, equal_buckets, hierarchical_buckets(np.zeros((1, 1), np.int64))):
        made = rule(distribution, Fraction(0))
        assert made.counts.tolist() == [3]
        assert made.bound(np.array([2])) == 0
