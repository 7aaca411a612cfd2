"""Natural classes: which groups of equal records are some, and the start that keeps them."""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from support.naive import naive_kernels as naive
from support.tables.clustering_problems import loss_of, problem_of, problems
from support.tables.random_tables import repeatable
from tclose.methods.clustering_problem import ClusteringProblem
from tclose.methods.method import Method
from tclose.methods.microaggregation import starts
from tclose.methods.microaggregation.natural_classes import find_natural
from tclose.methods.microaggregation.near_starts import NearStart, merge_above
from tclose.methods.microaggregation.starts import choose_start, cluster_by_subsets
from tclose.privacy.bound_models import PrivacyModels, bind
from tclose.privacy.privacy_model import PrivacyModel


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


def merged_loss_of(problem: ClusteringProblem, classes: list[list[int]]) -> float:
    """The loss of classes once those above t are merged."""
    labels = np.empty(len(problem.keys[0]), dtype=np.int64)
    for c, rows in enumerate(classes):
        labels[rows] = c
    merged = merge_above(problem, labels, np.inf)
    assert merged is not None
    return merged.loss


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
    classes = start_of(problem)
    assert min(map(len, classes)) >= problem.k
    assert loss_of(problem, classes) <= loss_of(problem, plain) + 1e-9
    natural = [r for r, n in zip(groups_of(problem), naive_natural(problem), strict=True) if n]
    n_others = len(problem.keys[0]) - sum(map(len, natural))
    lost = [rows for rows in natural if rows not in classes]
    if sorted(classes) != sorted(plain):
        assert len(lost) == (0 < n_others < problem.k)  # one gives its records to the few others


def test_nothing_but_natural_classes() -> None:
    problem = problem_of([1] * 4 + [9] * 4, ["a"] * 8, [1, 2, 3, 4] * 2, k=3, size=4)
    assert len(start_of(problem)) == 2
    assert loss_of(problem, start_of(problem)) == 0.0


def test_fewer_than_k_others_join_the_nearest_class() -> None:
    ages = [10] * 4 + [50] * 4 + [48]
    problem = problem_of(ages, ["a"] * 9, [1, 2, 3, 4] * 2 + [2], k=3, size=3)
    in_classes = [sorted({problem.keys[0][i] for i in rows}) for rows in start_of(problem)]
    assert sorted(in_classes) == [[10], [48, 50]]


def test_blocks_end_before_the_natural_classes() -> None:
    """Only clusters are worked on in blocks that are balanced."""
    rng = np.random.default_rng(1)
    ages = [10] * 40 + rng.integers(50, 90, 40).tolist()
    problem = problem_of(ages, ["a"] * 80, (list(range(20)) * 4), k=4, limit=Fraction(1, 5), size=5)
    assert problem.cut is not None
    start = choose_start(problem, cluster_by_subsets(problem.scaled, problem.cut), "long")
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


def test_others_that_are_unlike_the_table_keep_the_plain_start() -> None:
    """The natural class takes the small values: what is left cannot be brought within t."""
    ages = [10] * 30 + [50, 60] * 5
    pays = [1, 2, 3] * 10 + [9] * 10
    problem = problem_of(ages, ["a"] * 40, pays, k=4, limit=Fraction(3, 10), size=5)
    assert problem.cut is not None
    plain = naive.groups(cluster_by_subsets(problem.scaled, problem.cut).labels.tolist())
    assert sorted(start_of(problem)) == sorted(plain)
    kept = [list(range(30)), list(range(30, 40))]
    assert loss_of(problem, kept) < loss_of(problem, plain)
    assert merged_loss_of(problem, kept) > loss_of(problem, plain)
    assert sorted(start_of(replace(problem, max_emds=(Fraction(1),)))) != sorted(plain)


@pytest.mark.every_case
@pytest.mark.parametrize(("nearly_as_good", "n_starts"), [(1.0, 1), (1e9, 2)])
def test_a_long_search_begins_with_the_other_start_too_where_it_is_nearly_as_good(
    nearly_as_good: float, n_starts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The better one first, with natural classes or without them; beside near ones, too."""
    monkeypatch.setattr(starts, "NEARLY_AS_GOOD", nearly_as_good)
    ages = [10] * 12 + list(range(50, 70)) + [30] * 8
    problem = problem_of(ages, ["a"] * 40, [1, 2, 3, 4] * 10, k=4, limit=Fraction(1, 4), size=5)
    assert problem.cut is not None
    plain = cluster_by_subsets(problem.scaled, problem.cut)
    start = choose_start(problem, plain, "long")
    both = [start, *start.alike]
    assert len(both) == n_starts
    lost = [merged_loss_of(problem, naive.groups(one.labels.tolist())) for one in both]
    assert lost == sorted(lost)
    assert lost[-1] <= nearly_as_good * lost[0]
    assert (plain.labels.tolist() in [one.labels.tolist() for one in both]) == (n_starts == 2)
    monkeypatch.setattr(NearStart, "find_first", lambda self, loss: self._find_all(loss, loss))
    near = choose_start(problem, plain, "long")
    assert near.beside is not None
    assert [one.labels.tolist() for one in near.beside(start.labels)[0]] == [
        one.labels.tolist() for one in both
    ]


def test_further_models_count() -> None:
    ages = [10] * 6 + [20] * 6
    problem = problem_of(ages, ["a"] * 12, [1, 2, 3, 4, 5, 6, 1, 1, 1, 6, 6, 6], k=3)
    assert find_natural(problem)[1].tolist() == [True, True]
    nothing: Any = None  # the model looks at classes alone
    diverse = PrivacyModel("distinct-l-diversity", "pay", Fraction(3))
    models = PrivacyModels((bind(diverse, 0, nothing, nothing, ()),))
    assert find_natural(replace(problem, privacy_models=models))[1].tolist() == [True, False]
