"""SABRE: classes within t whichever records they are given, and against the twins."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cases.discharge_policies import shared_file
from support.naive import naive_kernels as naive
from support.naive import naive_partition
from support.tables.random_tables import (
    confidential_values,
    distribution_of,
    quasi_identifiers,
    repeatable,
    seeds,
)
from tclose.errors import DataError, InfeasibleError
from tclose.kernels.aggregate import group_by_label
from tclose.kernels.clustering.fill_classes import fill_classes
from tclose.kernels.emd.ordered import exact_emd
from tclose.methods.sabre.sabre import partition_sabre, share_out_buckets
from tclose.methods.sabre.split_buckets import (
    MakeBuckets,
    equal_buckets,
    ordered_buckets,
)
from tclose.methods.sabre.tree_buckets import hierarchical_buckets
from tclose.model.distribution import Distribution, make_distribution

limits = st.integers(0, 60).map(lambda percent: Fraction(percent, 100))
WHOLE = (Fraction(1),)
TREE = np.array([[0, 1, 2, 3, 4], [0, 0, 0, 1, 1], [0] * 5])


@repeatable
@given(confidential_values, st.integers(1, 8), limits, st.booleans(), st.data())
def test_classes_meet_k_and_t_exactly(
    values: list[int], k: int, limit: Fraction, as_described: bool, data: st.DataObject
) -> None:
    numeric, nominal, _ = data.draw(quasi_identifiers(len(values)))
    distribution, codes = distribution_of(values)
    k = min(k, len(values))
    options: dict[str, Any] = {"shares": WHOLE} if as_described else {}
    labels = partition_sabre((numeric, nominal), codes, distribution, k=k, max_emd=limit, **options)
    classes = naive.groups(labels.tolist())
    assert sorted(i for rows in classes for i in rows) == list(range(len(values)))
    assert labels.max() + 1 == len(classes)
    for rows in classes:
        assert len(rows) >= k
        assert exact_emd(codes[rows], distribution.cumulative) <= limit


@repeatable
@given(st.lists(st.integers(0, 4), max_size=50), st.integers(1, 8), limits, seeds)
def test_classes_meet_the_other_distances(
    values: list[int], k: int, limit: Fraction, seed: int
) -> None:
    table = [*range(5), *values]
    numeric = np.random.default_rng(seed).random((2, len(table)))
    distribution, codes = distribution_of(table)
    none = np.empty((0, len(table)), np.int32)
    for rule in (equal_buckets, hierarchical_buckets(TREE)):
        labels = partition_sabre(
            (numeric, none), codes, distribution, k=min(k, 5), max_emd=limit, make_buckets=rule
        )
        for rows in naive.groups(labels.tolist()):
            members = [table[i] for i in rows]
            if rule is equal_buckets:
                emd = naive_partition.equal_emd(members, table)
            else:
                emd = naive_partition.hierarchical_emd(members, table, TREE.tolist())
            assert emd <= limit
            assert len(rows) >= min(k, 5)


@repeatable
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=8),
    st.integers(1, 9),
    limits,
    st.sampled_from([ordered_buckets, equal_buckets]),
)
def test_leaves_are_those_of_the_recursive_twin(
    counts: list[int], k: int, limit: Fraction, rule: MakeBuckets
) -> None:
    buckets = rule(make_distribution(np.arange(len(counts)), counts), limit * 3 / 4)
    expected = naive_partition.share_out(
        buckets.counts.tolist(), k, lambda taken: buckets.bound(np.array(taken)) <= limit
    )
    assert share_out_buckets(buckets, k, limit).tolist() == expected


def test_leaves_of_many_classes_halve_sizes_and_running_sums() -> None:
    distribution = make_distribution(np.arange(3), [5, 5, 6])
    buckets = ordered_buckets(distribution, Fraction(0))
    taken = share_out_buckets(buckets, 2, Fraction(1, 2))
    first, second = [[0, 1, 1], [1, 0, 1]], [[1, 0, 1], [1, 1, 0]]
    third = [[0, 1, 1], [1, 1, 0]]
    assert taken.tolist() == [*first, *third, *first, *second]


@repeatable
@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=8), seeds)
def test_drawing_equals_the_twin(taken: list[list[int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    taken = [row for row in taken if sum(row)] or [[1, 0, 2]]
    sizes = np.sum(taken, axis=0)
    of_record = rng.permutation(np.repeat(np.arange(3), sizes))
    n_records = of_record.size
    numeric = rng.integers(0, 5, (2, n_records)) / 64
    nominal = rng.integers(0, 2, (1, n_records), dtype=np.int32)
    order = rng.permutation(n_records)
    points = [(numeric[:, i].tolist(), nominal[:, i].tolist()) for i in range(n_records)]
    members, starts = group_by_label(of_record, 3)
    labels = fill_classes(
        np.ascontiguousarray(numeric.T),
        np.ascontiguousarray(nominal.T),
        order,
        members,
        starts,
        np.array(taken),
        np.ones(1),
    )
    expected = naive_partition.draw(points, of_record.tolist(), order.tolist(), taken)
    assert labels.tolist() == expected


def test_smaller_shares_of_t_make_smaller_classes() -> None:
    """All values different, t = 0.01: buckets that use up t leave one class."""
    codes = np.random.default_rng(1).permutation(30_000)
    distribution, _ = distribution_of(codes)
    buckets = ordered_buckets(distribution, Fraction(1, 100))
    assert len(share_out_buckets(buckets, 5, Fraction(1, 100))) == 1
    buckets = ordered_buckets(distribution, Fraction(1, 200))
    assert len(share_out_buckets(buckets, 5, Fraction(1, 100))) > 100


def test_refusals() -> None:
    distribution, codes = distribution_of([1, 2, 2])
    scaled = np.zeros((1, 3)), np.empty((0, 3), np.int32)
    with pytest.raises(InfeasibleError, match="smaller k"):
        partition_sabre(scaled, codes, distribution, k=4, max_emd=Fraction(1))
    part = scaled[0][:, :2], scaled[1][:, :2]
    with pytest.raises(DataError, match="whole table"):
        partition_sabre(part, codes[:2], distribution, k=1, max_emd=Fraction(1))


@pytest.mark.parametrize("confidential", ["hours-per-week", "capital-gain", "age"])
@pytest.mark.parametrize("t", ["0.2", "0.05"])
def test_classes_of_adult_meet_k_and_t(confidential: str, t: str) -> None:
    frame = pd.read_csv(shared_file("adult.csv"))
    numeric = frame[["education-num", "fnlwgt"]].to_numpy(np.float64).T
    numeric = (numeric - numeric.min(axis=1)[:, None]) / np.ptp(numeric, axis=1)[:, None]
    nominal = np.array([pd.factorize(frame[name])[0] for name in ("sex", "race")], np.int32)
    distribution, codes = distribution_of(frame[confidential].to_numpy())
    limit = Fraction(t)
    labels = partition_sabre((numeric, nominal), codes, distribution, k=5, max_emd=limit)
    order, starts = group_by_label(labels, int(labels.max()) + 1)
    assert np.diff(starts).min() >= 5
    assert all_within(codes[order], starts, distribution, limit)
    assert starts.size - 1 > 30


def all_within(codes: np.ndarray, starts: np.ndarray, table: Distribution, limit: Fraction) -> bool:
    parts = np.split(codes, starts[1:-1])
    return all(exact_emd(part, table.cumulative) <= limit for part in parts)
