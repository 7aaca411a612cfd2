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
from tclose.methods.microaggregation.near_starts import NearStart
from tclose.methods.microaggregation.starts import choose_start, cluster_by_subsets
from tclose.methods.mondrian.halves import halve
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
    plain, halves = cut_plainly(problem), halve(problem)
    loss, n_classes = lose(problem, plain.labels), int(plain.labels.max()) + 1
    found = find_halved(problem, loss, n_classes)
    is_loose = float(problem.max_emds[0]) * problem.k**0.5 >= halved_starts.LEAST_LIMIT
    if found is None:
        assert (
            not is_loose
            or halves is None
            or halves.max() + 1 < n_classes / 2
            or lose(problem, halves) > loss - 1e-9
        )
        return
    assert is_loose
    assert problem.holds(*group_classes(found.labels)).all()
    assert found.labels.max() + 1 >= n_classes / 2
    assert lose(problem, found.labels) <= loss + 1e-9


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
    plain, halves = cut_plainly(problem), halve(problem)
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
    assert find_halved(problem, np.inf, 1) is None


def test_beside_a_long_search_they_lose_no_more_than_near_clusters_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(NearStart, "find_beside", lambda *_: None)
    problem = independent(Fraction(1, 4))
    start, halves = choose_start(problem, cut_plainly(problem), "long"), halve(problem)
    assert start.block_starts is not None
    assert start.beside is not None
    assert halves is not None
    assert not start.beside(np.arange(400))  # one record each: nothing is lost
    (found,) = start.beside(halves)
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
    assert halve(of_part) is None
    assert find_halved(of_part, np.inf, 1) is None
