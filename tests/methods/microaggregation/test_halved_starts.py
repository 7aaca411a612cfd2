"""Starts of halves: tried where t is loose, and taken where they lose clearly less."""

from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from hypothesis import given

from support.naive import naive_kernels as naive
from support.tables.clustering_problems import loss_of, problem_of, problems
from support.tables.random_tables import repeatable
from tclose.methods.clustering_problem import Clustering, ClusteringProblem, group_classes
from tclose.methods.microaggregation import halved_starts, starts
from tclose.methods.microaggregation.halved_starts import find_halved
from tclose.methods.microaggregation.near_starts import NearStart, merge_above
from tclose.methods.microaggregation.starts import choose_start, cluster_by_subsets
from tclose.methods.mondrian.halves import halve, rank_by_values
from tclose.model.array_types import Int64


def cut_plainly(problem: ClusteringProblem) -> Clustering:
    assert problem.cut is not None
    return cluster_by_subsets(problem.scaled, problem.cut)


def lose(problem: ClusteringProblem, labels: Int64) -> float:
    return loss_of(problem, naive.groups(labels.tolist()))


def independent(limit: Fraction) -> ClusteringProblem:
    """Pays that have nothing to do with ages."""
    rng = np.random.default_rng(2)
    ages, pays = rng.permutation(400).tolist(), rng.permutation(400).tolist()
    return problem_of(ages, ["a"] * 400, pays, k=5, limit=limit, size=80)


@repeatable
@given(problem=problems())
def test_halves_that_are_taken_hold_and_lose_no_more(problem: ClusteringProblem) -> None:
    plain, halves = cut_plainly(problem), halve(problem, rank_by_values)
    loss, merged = lose(problem, plain.labels), merge_above(problem, plain.labels, np.inf)
    assert merged is not None
    found = find_halved(problem, loss, plain.labels)
    is_loose = float(problem.max_emds[0]) * problem.k**0.5 >= halved_starts.LEAST_LIMIT
    n_released = count_released(problem, merged.labels)
    if found is None:
        if halves is not None and is_loose:
            most_lost = loss / 4 if halves.max() + 1 < n_released / 2 else loss
            assert lose(problem, halves) > most_lost - 1e-9
        return
    assert is_loose or merged.labels.max() < plain.labels.max()
    assert problem.holds(*group_classes(found.labels)).all()
    few = 1 if found.labels.max() + 1 >= n_released / 2 else 4
    assert lose(problem, found.labels) <= loss / few + 1e-9


def count_released(problem: ClusteringProblem, labels: Int64) -> int:
    """Classes of different mean ages or commonest categories; of several the lowest code."""
    classes = [np.flatnonzero(labels == c) for c in range(labels.max() + 1)]
    values, codes = problem.scaled.numeric, problem.scaled.nominal
    return len(
        {
            (
                *(round(float(column[rows].mean()), 12) for column in values),
                *(int(np.bincount(column[rows]).argmax()) for column in codes),
            )
            for rows in classes
        }
    )


def test_classes_that_release_the_same_count_once() -> None:
    """80 classes of four ages come to seven at most, of which halves are more than half."""
    rng = np.random.default_rng(4)
    ages, pays = rng.integers(0, 4, 400), rng.permutation(400)
    problem = problem_of(
        ages.tolist(), ["a"] * 400, pays.tolist(), k=5, limit=Fraction(1, 2), size=80
    )
    halves = halve(problem, rank_by_values)
    assert halves is not None
    alike = np.repeat(np.arange(80), 5)[np.argsort(np.argsort(problem.keys[0], kind="stable"))]
    assert halves.max() + 1 < 40
    most_lost = 2 * lose(problem, halves) + 1e-9
    assert find_halved(problem, most_lost, alike) is not None
    assert find_halved(problem, -1.0, alike) is None


def test_fewer_are_taken_for_far_less_loss_than_as_many_may_have() -> None:
    problem = independent(Fraction(1, 4))
    pays = problem.codes[0]
    halves, many = (
        halve(problem, rank_by_values),
        np.minimum(pays, 399 - pays),
    )  # pairs, all within t
    assert halves is not None
    lost = lose(problem, halves)
    assert find_halved(problem, 5 * lost, many) is not None
    assert find_halved(problem, 3 * lost, many) is None


@repeatable
@given(problem=problems())
def test_a_start_of_halves_loses_clearly_less_than_others(problem: ClusteringProblem) -> None:
    start = choose_start(problem, cut_plainly(problem), "off")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(halved_starts, "LEAST_LIMIT", np.inf)
        without = choose_start(problem, cut_plainly(problem))
    if start.labels.tolist() != without.labels.tolist():
        most = starts.HALVED_SHARE * lose(problem, without.labels)
        assert lose(problem, start.labels) <= most + 1e-9


@pytest.mark.parametrize("search", ["off", "short"])
def test_where_t_is_loose_a_start_is_of_halves(
    search: Literal["off", "short"], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside near clusters that lose as much as balanced ones, and are not taken."""
    monkeypatch.setattr(NearStart, "find_before", lambda *_, **__: None)
    problem = independent(Fraction(1, 4))
    plain, halves = cut_plainly(problem), halve(problem, rank_by_values)
    monkeypatch.setattr(starts, "FEW_RECORDS", 0)
    start = choose_start(problem, plain, search)
    assert start.block_starts is None
    assert halves is not None
    assert start.labels.tolist() == halves.tolist()
    assert lose(problem, start.labels) < 0.2 * lose(problem, plain.labels)


def test_where_t_is_tight_nothing_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(problem: ClusteringProblem) -> None:
        raise AssertionError("halved")

    monkeypatch.setattr(halved_starts, "halve", refuse)
    problem = independent(Fraction(17, 100))
    assert find_halved(problem, 1e9, cut_plainly(problem).labels) is None


def test_where_other_classes_are_above_t_halves_are_tried() -> None:
    """Near records are above a tight t here, and will be merged."""
    rng = np.random.default_rng(6)
    ages, pays = rng.permutation(400).tolist(), rng.permutation(400).tolist()
    problem = problem_of(ages, ["a"] * 400, pays, k=5, limit=Fraction(17, 100), size=80)
    assert find_halved(problem, 1e9, np.arange(400) // 5) is not None


def test_beside_a_long_search_they_lose_no_more_than_near_clusters_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(NearStart, "find_beside", lambda *_: [])
    monkeypatch.setattr(starts, "FEW_RECORDS", 0)
    problem = independent(Fraction(1, 4))
    start, halves = (
        choose_start(problem, cut_plainly(problem), "long"),
        halve(problem, rank_by_values),
    )
    assert start.block_starts is not None
    assert start.beside is not None
    assert halves is not None
    assert not start.beside(np.arange(400))  # one record each: nothing is lost
    ((found,),) = start.beside(halves)
    assert found.labels.tolist() == halves.tolist()


def test_records_that_fail_together_are_no_start() -> None:
    """As a region may, whose records are unlike the table's."""
    problem = independent(Fraction(1, 4))
    rows = np.flatnonzero(problem.codes[0] < 60)
    part = problem_of(
        rows.tolist(), ["a"] * rows.size, problem.codes[0][rows].tolist(), k=5,
        limit=Fraction(1, 4), size=rows.size // 5,
    )  # fmt: skip
    of_part = ClusteringProblem(
        part.encodings, part.confidential, part.keys, part.scaled,
        np.ascontiguousarray(problem.codes[:, rows]), problem.distributions, 5, part.max_emds,
        cut=part.cut,
    )  # fmt: skip
    assert halve(of_part, rank_by_values) is None
    assert find_halved(of_part, np.inf, np.zeros(rows.size, dtype=np.int64)) is None


@pytest.mark.parametrize("search", ["short", "long"])
def test_of_few_records_all_starts_are_searched(search: Literal["short", "long"]) -> None:
    problem = independent(Fraction(1, 4))
    start, halves = (
        choose_start(problem, cut_plainly(problem), search),
        halve(problem, rank_by_values),
    )
    assert start.block_starts is not None
    assert start.beside is not None
    assert halves is not None
    assert len(found := start.beside(np.arange(400) // 5)) == 2
    assert [one.labels.tolist() for one in found[1]] == [halves.tolist()]
