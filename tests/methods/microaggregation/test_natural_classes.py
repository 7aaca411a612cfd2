"""Natural classes: which groups of equal records are some, and the start that keeps them."""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.tables.random_tables import distribution_of, repeatable, seeds
from support.tables.value_encodings import encode
from tclose.kernels.clustering.mdav import mdav
from tclose.methods.clustering_problem import Clustering, ClusteringProblem, SubsetCut
from tclose.methods.method import Method
from tclose.methods.microaggregation import starts
from tclose.methods.microaggregation.natural_classes import find_natural
from tclose.methods.microaggregation.starts import (
    choose_start,
    cluster_by_subsets,
    cluster_near,
    take_scaled,
)
from tclose.methods.scaling import scale_columns
from tclose.model.array_types import Int64
from tclose.model.column_terms import Role
from tclose.privacy.bound_models import PrivacyModels, bind
from tclose.privacy.privacy_model import PrivacyModel

HALF = Fraction(1, 2)


def problem_of(
    ages: list[int], towns: list[str], pays: list[int], k: int = 2, limit: Fraction = HALF,
    size: int | None = None,
) -> ClusteringProblem:  # fmt: skip
    """Records in the order of their pay, cut into subsets of it, for clusters of ``size``."""
    order = np.argsort(pays, kind="stable")
    columns = {"age": pa.array(np.array(ages)[order]), "town": pa.array(np.array(towns)[order])}
    pairs = [encode(array, name=name) for name, array in columns.items()]
    encodings, keys = tuple(e for e, _ in pairs), [key for _, key in pairs]
    confidential, _ = encode(pa.array(pays), Role.CONFIDENTIAL, "pay")
    distribution, codes = distribution_of(np.array(pays)[order].tolist())
    n_records, size = len(ages), max(k, size or k)
    n_clusters = max(1, n_records // size)
    n_subsets = n_records // n_clusters
    sizes = np.full(n_subsets, n_clusters)
    sizes[n_subsets // 2] += n_records - n_clusters * n_subsets
    cut = SubsetCut(
        np.zeros(n_records, np.int64), np.append(0, np.cumsum(sizes)),
        np.ones(n_subsets, np.int64), n_clusters, 3,
    )  # fmt: skip
    return ClusteringProblem(
        encodings, (confidential,), keys, scale_columns(list(encodings), keys), codes[None],
        (distribution,), k, (limit,), cut=cut,
    )  # fmt: skip


def start_of(problem: ClusteringProblem, **keys: Any) -> list[list[int]]:
    method = Method.model_validate({"name": "t-closeness-first"} | keys)
    labels = method.make_classes(problem).labels
    assert sorted(set(labels.tolist())) == list(range(labels.max() + 1))
    return naive.groups(labels.tolist())


def groups_of(problem: ClusteringProblem) -> list[list[int]]:
    """Records with equal quasi-identifiers, in the order of their keys."""
    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for i, key in enumerate(zip(*(column.tolist() for column in problem.keys), strict=True)):
        groups[key].append(i)
    return [groups[key] for key in sorted(groups)]


def loss_of(problem: ClusteringProblem, classes: list[list[int]]) -> float:
    numeric, nominal = problem.scaled.numeric, problem.scaled.nominal
    loss = 0.0
    for rows in classes:
        loss += float(((numeric[:, rows] - numeric[:, rows].mean(1, keepdims=True)) ** 2).sum())
        for codes in nominal[:, rows]:
            loss += len(rows) - np.bincount(codes).max()
    return loss


@st.composite
def problems(draw: st.DrawFn) -> ClusteringProblem:
    rng = np.random.default_rng(draw(seeds))
    n_records = draw(st.integers(2, 60))
    k = min(draw(st.integers(2, 5)), n_records)
    limit = Fraction(draw(st.integers(5, 60)), 100)
    n_ages = draw(st.integers(1, 12))
    return problem_of(
        (10 * rng.integers(0, n_ages, n_records)).tolist(),
        rng.choice(["a", "b"], n_records).tolist(),
        rng.integers(0, draw(st.integers(1, 9)) + 1, n_records).tolist(),
        k,
        limit,
        draw(st.integers(2, 8)),
    )


def naive_natural(problem: ClusteringProblem) -> list[bool]:
    pays = problem.codes[0].tolist()
    return [
        len(rows) >= problem.k
        and naive.ordered_emd([pays[i] for i in rows], pays) <= problem.max_emds[0]
        for rows in groups_of(problem)
    ]


@repeatable
@given(problem=problems())
def test_natural_classes_are_found_exactly(problem: ClusteringProblem) -> None:
    groups, is_natural = find_natural(problem)
    found = [rows for rows, n in zip(naive.groups(groups.tolist()), is_natural, strict=True) if n]
    equal = groups_of(problem)
    assert found == [rows for rows, n in zip(equal, naive_natural(problem), strict=True) if n]
    if max(map(len, equal)) >= problem.k:
        assert naive.groups(groups.tolist()) == equal


@repeatable
@given(problem=problems())
def test_start_keeps_them_or_is_the_plain_one(problem: ClusteringProblem) -> None:
    assert problem.cut is not None
    plain = naive.groups(cluster_by_subsets(problem.scaled, problem.cut).labels.tolist())
    classes = start_of(problem, refine="lean")
    assert min(map(len, classes)) >= problem.k
    assert loss_of(problem, classes) <= loss_of(problem, plain) + 1e-9
    natural = [r for r, n in zip(groups_of(problem), naive_natural(problem), strict=True) if n]
    n_others = len(problem.keys[0]) - sum(map(len, natural))
    lost = [rows for rows in natural if rows not in classes]
    if sorted(classes) != sorted(plain):
        assert len(lost) == (0 < n_others < problem.k)  # one gives its records to the few others


@repeatable
@given(problem=problems())
def test_a_long_search_begins_with_no_more_loss(problem: ClusteringProblem) -> None:
    classes = start_of(problem, refine="fast")
    assert min(map(len, classes)) >= problem.k
    assert loss_of(problem, classes) <= loss_of(problem, start_of(problem, refine="lean")) + 1e-9


def test_nothing_but_natural_classes() -> None:
    problem = problem_of([1] * 4 + [9] * 4, ["a"] * 8, [1, 2, 3, 4] * 2, k=3, size=4)
    assert len(start_of(problem)) == 2
    assert loss_of(problem, start_of(problem)) == 0.0


def test_fewer_than_k_others_join_the_nearest_class() -> None:
    ages = [10] * 4 + [50] * 4 + [48]
    problem = problem_of(ages, ["a"] * 9, [1, 2, 3, 4] * 2 + [2], k=3, size=3)
    in_classes = [sorted({problem.keys[0][i] for i in rows}) for rows in start_of(problem)]
    assert sorted(in_classes) == [[10], [48, 50]]


def test_blocks_end_before_the_natural_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only clusters are worked on in blocks that are balanced."""
    rng = np.random.default_rng(1)
    ages = [10] * 40 + rng.integers(50, 90, 40).tolist()
    problem = problem_of(ages, ["a"] * 80, (list(range(20)) * 4), k=4, limit=Fraction(1, 5), size=5)
    assert problem.cut is not None
    monkeypatch.setattr(starts, "NEAR_SHARE", 0.0)
    start = choose_start(problem, cluster_by_subsets(problem.scaled, problem.cut))
    assert start.block_starts is not None
    natural = np.flatnonzero(problem.keys[0] == 10)
    assert set(start.labels[natural]) == {start.block_starts[-1]}
    assert start.labels.max() == start.block_starts[-1]
    assert start.block_starts.tolist() == sorted(start.block_starts.tolist())


@pytest.mark.parametrize("keys", [{"class_size": "paper"}, {"class_size": 5}, {"scope": "table"}])
def test_what_is_printed_is_clustered_as_printed(keys: dict[str, Any]) -> None:
    ages = [10] * 20 + list(range(50, 70))
    problem = problem_of(ages, ["a"] * 40, [1, 2, 3, 4] * 10, k=4, size=5)
    assert problem.cut is not None
    plain = naive.groups(cluster_by_subsets(problem.scaled, problem.cut).labels.tolist())
    assert sorted(start_of(problem, **keys)) == sorted(plain)
    assert sorted(start_of(problem)) != sorted(plain)


def test_others_that_are_unlike_the_table_keep_the_plain_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The natural class takes the small values: what is left cannot be brought within t."""
    ages = [10] * 30 + [50, 60] * 5
    pays = [1, 2, 3] * 10 + [9] * 10
    problem = problem_of(ages, ["a"] * 40, pays, k=4, limit=Fraction(3, 10), size=5)
    assert problem.cut is not None
    plain = naive.groups(cluster_by_subsets(problem.scaled, problem.cut).labels.tolist())
    assert sorted(start_of(problem)) == sorted(plain)
    monkeypatch.setattr(starts, "MORE_ABOVE", 1.0)
    assert sorted(start_of(problem)) != sorted(plain)


def test_further_models_count() -> None:
    ages = [10] * 6 + [20] * 6
    problem = problem_of(ages, ["a"] * 12, [1, 2, 3, 4, 5, 6, 1, 1, 1, 6, 6, 6], k=3)
    assert find_natural(problem)[1].tolist() == [True, True]
    nothing: Any = None  # the model looks at classes alone
    diverse = PrivacyModel("distinct-l-diversity", "pay", Fraction(3))
    models = PrivacyModels((bind(diverse, 0, nothing, nothing, ()),))
    assert find_natural(replace(problem, privacy_models=models))[1].tolist() == [True, False]


@pytest.mark.parametrize(("limit", "is_near"), [(Fraction(1, 2), True), (Fraction(1, 10), False)])
def test_near_records_are_together_where_t_allows(limit: Fraction, is_near: bool) -> None:
    rng = np.random.default_rng(3)
    ages = rng.permutation(np.arange(60)).tolist()
    problem = problem_of(ages, ["a"] * 60, ages, k=3, limit=limit, size=20)
    assert problem.cut is not None
    plain = cluster_by_subsets(problem.scaled, problem.cut)
    near = cluster_near(problem, np.arange(60))
    start = choose_start(problem, plain)
    assert start.labels.tolist() == (near if is_near else plain).labels.tolist()
    assert loss_of(problem, naive.groups(near.labels.tolist())) < 0.1 * loss_of(
        problem, naive.groups(plain.labels.tolist())
    )


@repeatable
@given(problem=problems())
def test_near_clusters_are_of_k_records_and_of_one_block_where_it_is_small(
    problem: ClusteringProblem,
) -> None:
    rows = np.flatnonzero(np.arange(problem.keys[0].size) % 3)
    if rows.size < problem.k:
        rows = np.arange(problem.keys[0].size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(starts, "NEAR_RECORDS", 8)
        clustered = cluster_near(problem, rows)
    assert clustered.block_starts is None
    assert np.unique(clustered.labels).tolist() == list(range(clustered.labels.max() + 1))
    assert np.bincount(clustered.labels).min() >= problem.k
    if rows.size <= 8:
        part = take_scaled(problem.scaled, rows)
        expected = mdav(part.numeric, part.nominal, problem.k, part.weights)
        assert clustered.labels.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("size", "sampled"), [(5, [15, 15]), (20, [15])], ids=["blocks", "a part of one block"]
)
@pytest.mark.parametrize(("limit", "is_near"), [(Fraction(1, 2), True), (Fraction(1, 10), False)])
def test_a_few_blocks_tell_that_near_records_are_above_t(
    limit: Fraction, is_near: bool, size: int, sampled: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starts, "SAMPLED_RECORDS", 15)
    monkeypatch.setattr(starts, "SAMPLED_BLOCKS", 2)
    clustered: list[int] = []

    def count_records(problem: ClusteringProblem, rows: Int64, most: int) -> Clustering:
        clustered.append(rows.size)
        return cluster_near(problem, rows, most)

    monkeypatch.setattr(starts, "cluster_near", count_records)
    ages = np.random.default_rng(3).permutation(np.arange(60)).tolist()
    problem = problem_of(ages, ["a"] * 60, ages, k=3, limit=limit, size=size)
    assert problem.cut is not None
    choose_start(problem, cluster_by_subsets(problem.scaled, problem.cut))
    # The first block that is above t by itself decides.
    assert clustered == ([*sampled, 60] if is_near else [15])
