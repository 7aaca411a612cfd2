"""Starts of near records: merged within t, and taken where they lose little enough."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from unittest import mock

import numpy as np
import pytest
from hypothesis import given

from support.naive import naive_kernels as naive
from support.tables.clustering_problems import loss_of, problem_of, problems
from support.tables.random_tables import repeatable
from tclose.kernels.clustering.mdav import mdav
from tclose.kernels.refinement.repair import WAYS, Way
from tclose.methods.clustering_problem import Clustering, ClusteringProblem
from tclose.methods.method import Method
from tclose.methods.microaggregation import near_starts, starts
from tclose.methods.microaggregation.natural_classes import find_natural
from tclose.methods.microaggregation.near_starts import (
    Merged,
    NearStart,
    cluster_near,
    merge_above,
)
from tclose.methods.microaggregation.starts import choose_start, cluster_by_subsets
from tclose.methods.scaling import take_scaled
from tclose.model.array_types import Int64
from tclose.runtime.engines.thread_parts import map_side_by_side

FAR = np.inf


def cut_plainly(problem: ClusteringProblem) -> Clustering:
    assert problem.cut is not None
    return cluster_by_subsets(problem.scaled, problem.cut)


def near_of(problem: ClusteringProblem) -> NearStart:
    return NearStart(problem, *find_natural(problem))


def lose(problem: ClusteringProblem, labels: Int64) -> float:
    return loss_of(problem, naive.groups(labels.tolist()))


def is_above(problem: ClusteringProblem, labels: Int64) -> bool:
    pays = problem.codes[0].tolist()
    return any(
        naive.ordered_emd([pays[i] for i in rows], pays) > problem.max_emds[0]
        for rows in naive.groups(labels.tolist())
    )


@repeatable
@given(problem=problems())
def test_merged_classes_are_within_t_and_lose_what_is_said(problem: ClusteringProblem) -> None:
    near = cluster_near(problem, np.arange(problem.keys[0].size), problem.k).labels
    found = merge_above(problem, near, FAR)
    assert found is not None
    labels, lost, _ = found
    assert lost == pytest.approx(lose(problem, labels))
    assert not is_above(problem, labels)
    if not is_above(problem, near):
        assert labels.tolist() == near.tolist()
    assert merge_above(problem, near, lost * (1 - 1e-9) - 1e-9) is None


@repeatable
@given(problem=problems())
def test_a_start_before_a_search_loses_no_more_than_a_share(problem: ClusteringProblem) -> None:
    plain = cut_plainly(problem)
    loss = lose(problem, plain.labels)
    shares = near_starts.NEAR_SHARE_UNSEARCHED, near_starts.NEAR_SHARE_SHORT
    for is_searched, share in zip((False, True), shares, strict=True):
        n_classes = int(plain.labels.max()) + 1
        found = near_of(problem).find_before(loss, plain.labels, is_searched=is_searched)
        if found is not None:
            kept = (found.labels.max() + 1) / (near_starts.LEAST_CLASSES * n_classes)
            of_few = max(near_starts.MUCH_LESS, min(kept**0.5, 1.0))
            near = cluster_near(problem, np.arange(plain.labels.size), problem.k).labels
            is_merged = is_above(problem, near) and not find_natural(problem)[1].any()
            most = (share if is_merged else 1.0) * of_few * loss
            assert lose(problem, found.labels) <= most + 1e-9
            assert np.bincount(found.labels).min() >= problem.k
            assert not is_above(problem, found.labels)
    start = choose_start(problem, plain)
    assert lose(problem, start.labels) <= loss + 1e-9


@pytest.mark.parametrize("is_searched", [False, True])
def test_as_many_of_which_none_is_above_t_may_lose_little_less(is_searched: bool) -> None:
    ages = np.random.default_rng(6).integers(0, 50, 60).tolist()
    problem = problem_of(ages, ["a"] * 60, ages, k=3, limit=Fraction(1), size=6)
    near = cluster_near(problem, np.arange(60), 3).labels
    find = near_of(problem).find_before
    lost = lose(problem, near)
    found = find(1.1 * lost, near, is_searched=is_searched)
    assert found is not None
    assert found.labels.tolist() == near.tolist()
    of_more = np.arange(60)
    assert find(1.1 * lost, of_more, is_searched=is_searched) is None


@repeatable
@given(problem=problems())
def test_starts_that_are_made_in_threads_are_the_same(problem: ClusteringProblem) -> None:
    in_threads = replace(problem, apply=partial(map_side_by_side, n_threads=2))
    of_each = [near_of(one).find_beside(FAR, FAR) for one in (problem, in_threads)]
    alone, together = ([start.labels.tolist() for start in found] for found in of_each)
    assert alone == together


@repeatable
@given(problem=problems())
def test_starts_beside_a_search_lose_little_more_than_it(problem: ClusteringProblem) -> None:
    plain = cut_plainly(problem)
    start = choose_start(problem, plain, "long")
    assert start.block_starts is not None
    assert start.beside is not None
    searched = np.zeros(plain.labels.size, dtype=np.int64)  # whatever a search ends with
    most = max(
        lose(problem, searched),
        min(
            near_starts.NEAR_SHARE * lose(problem, start.labels),
            near_starts.NEAR_SHARE_OF_SEARCHED * lose(problem, searched),
        ),
    )
    near, loss = near_of(problem), lose(problem, start.labels)
    found = near.find_beside(loss, lose(problem, searched))
    if not found and most > 1e-9:
        of_k = cluster_near(problem, np.arange(plain.labels.size), problem.k).labels
        assert merge_above(problem, of_k, most) is None  # by the centres of what it unites
        assert is_above(problem, of_k) or lose(problem, of_k) >= most - 1e-9
    for one in found:
        assert lose(problem, one.labels) <= most + 1e-9
        assert np.bincount(one.labels).min() >= problem.k
        assert not is_above(problem, one.labels)
    assert near.find_beside(loss, 0.0) == []  # nothing is better than no loss
    listed = [one.labels.tolist() for alike in start.beside(searched) for one in alike]
    assert all(one.labels.tolist() in listed for one in found)


@pytest.mark.parametrize(("limit", "is_near"), [(Fraction(1, 2), True), (Fraction(1, 50), False)])
def test_near_records_are_together_where_t_allows(limit: Fraction, is_near: bool) -> None:
    rng = np.random.default_rng(3)
    ages = rng.permutation(np.arange(60)).tolist()
    problem = problem_of(ages, ["a"] * 60, ages, k=3, limit=limit, size=20)
    plain, near = cut_plainly(problem), cluster_near(problem, np.arange(60), 3)
    start = choose_start(problem, plain)
    assert start.labels.tolist() == (near if is_near else plain).labels.tolist()
    assert lose(problem, near.labels) < 0.1 * lose(problem, plain.labels)


@pytest.mark.parametrize(
    ("refine", "is_beside"),
    [("fast", True), ("full", True), (3, True), ("off", False), ("lean", False), ("2 min", False)],
)
def test_near_records_wait_for_a_long_search_that_no_time_ends(
    refine: str | int, is_beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starts, "FEW_RECORDS", 0)
    ages = list(range(40))
    problem = problem_of(ages, ["a"] * 40, ages, k=4, limit=Fraction(1, 5), size=5)
    method = Method.model_validate({"name": "t-closeness-first", "refine": refine})
    assert (method.make_classes(problem).beside is not None) == is_beside


@pytest.mark.every_case
@pytest.mark.parametrize(("few", "sizes"), [(40, [4]), (0, [4, 7])])
def test_clusters_that_are_searched_may_have_room_above_k(
    few: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of few records they have k, of more both are tried, what loses less first."""
    monkeypatch.setattr(near_starts, "FEW_RECORDS", few)
    monkeypatch.setattr(near_starts, "NEARLY_LEAST", np.inf)
    ages = np.random.default_rng(3).permutation(np.arange(40)).tolist()
    problem = problem_of(ages, ["a"] * 40, ages, k=4, limit=Fraction(1), size=20)
    found = near_of(problem).find_beside(FAR, FAR)
    assert [int(np.bincount(one.labels).min()) for one in found] == sizes
    monkeypatch.setattr(near_starts, "NEARLY_LEAST", 1.0)
    assert len(near_of(problem).find_beside(FAR, FAR)) == 1


def test_what_loses_nearly_as_little_as_the_best_may_lose_more_than_it() -> None:
    ages = np.random.default_rng(3).permutation(np.arange(40)).tolist()
    problem = problem_of(ages, ["a"] * 40, ages, k=4, limit=Fraction(1), size=20)
    near = near_of(replace(problem, k=4))
    (best,) = near.find_beside(FAR, FAR)
    least = lose(problem, best.labels)
    assert [one.labels.tolist() for one in near._find_all(least, 2 * least)] == [
        best.labels.tolist()
    ]
    assert not near._find_all(0.99 * least, 2 * least)


def test_what_loses_less_than_a_search_has_ended_with_is_a_start() -> None:
    """However little the start lost that was searched: its search can have ended badly."""
    ages = np.random.default_rng(3).permutation(np.arange(40)).tolist()
    near = near_of(problem_of(ages, ["a"] * 40, ages, k=4, limit=Fraction(1), size=20))
    least = lose(near.problem, near.find_beside(FAR, FAR)[0].labels)
    assert near.find_beside(0.0, 1.01 * least)
    assert not near.find_beside(0.0, 0.99 * least)


def test_clusters_one_of_which_has_too_many_records_are_no_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pay that follows age: what is above t can only be mended by one class of most records."""
    ages = list(range(400))
    problem = problem_of(ages, ["a"] * 400, ages, k=4, limit=Fraction(1, 20), size=20)
    near = near_of(problem)
    assert near.find_beside(FAR, FAR) == []
    monkeypatch.setattr(near_starts, "MOST_OF_RECORDS", 1.0)
    assert any(np.bincount(one.labels).max() > 80 for one in near.find_beside(FAR, FAR))


def test_natural_classes_are_kept_or_not() -> None:
    """Two of 20 records, and 40 others: from both kinds of clusters a search may begin."""
    ages = [0] * 20 + [500] * 20 + list(range(1000, 1040))
    problem = problem_of(ages, ["a"] * 80, list(range(20)) * 4, k=4, limit=Fraction(1), size=20)
    found = near_of(problem)._find_all(1e9, 1e9)
    assert len(found) == 2
    assert sorted(int(np.bincount(one.labels).max()) for one in found) == [4, 20]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("most_searched", "limit", "is_first"),
    [
        (39, Fraction(1, 2), True),
        (40, Fraction(1, 2), False),  # of few records it is searched beside
        (39, Fraction(1, 50), False),  # merged they lose more than a tenth
    ],
)
def test_near_records_come_first_where_many_lose_far_less(
    most_searched: int, limit: Fraction, is_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starts, "FEW_RECORDS", 0)
    monkeypatch.setattr(near_starts, "FEW_RECORDS", 0)
    monkeypatch.setattr(near_starts, "SEARCHED_RECORDS", most_searched)
    ages = np.random.default_rng(3).permutation(np.arange(40)).tolist()
    problem = problem_of(ages, ["a"] * 40, ages, k=4, limit=limit, size=20)
    plain = cut_plainly(problem)
    start = choose_start(problem, plain, "long")
    assert start.beside is not None
    beside = [one.labels.tolist() for alike in start.beside(plain.labels) for one in alike]
    assert (start.labels.tolist() != plain.labels.tolist()) == is_first
    assert (plain.labels.tolist() in beside) == is_first
    if is_first:
        lost, of_plain = lose(problem, start.labels), lose(problem, plain.labels)
        assert lost <= near_starts.NEAR_SHARE_FIRST * of_plain
        for share in (0.99, 1.01):  # of what may be lost by what is searched beside
            monkeypatch.setattr(starts, "MOST_SAVED", share * of_plain / lost)
            beside = [one.labels.tolist() for [one] in start.beside(start.labels)]
            assert (plain.labels.tolist() in beside) == (share > 1)


def test_an_outlier_does_not_decide() -> None:
    """Loss is measured by the range, as a release's is, and not on a scale that widens tails."""
    rng = np.random.default_rng(5)
    pays = rng.permutation(60).tolist()
    problem = problem_of(rng.integers(0, 50, 60).tolist(), ["a"] * 60, pays, k=3, size=6)
    loss = lose(problem, cut_plainly(problem).labels)
    wide = problem.scaled.numeric * 1000.0
    scaled = replace(problem.scaled, numeric=wide, ranges=np.array([1000.0]))
    stretched = replace(problem, scaled=scaled)
    for one in (problem, stretched):
        found = near_of(one).find_before(loss, np.zeros(60, dtype=np.int64), is_searched=False)
        assert found is not None
        again = merge_above(one, found.labels, FAR)
        assert again is not None
        assert again.loss == pytest.approx(lose(problem, found.labels))


@repeatable
@given(problem=problems())
def test_near_clusters_are_of_k_records_and_of_one_block_where_it_is_small(
    problem: ClusteringProblem,
) -> None:
    rows = np.flatnonzero(np.arange(problem.keys[0].size) % 3)
    if rows.size < problem.k:
        rows = np.arange(problem.keys[0].size)
    clustered = cluster_near(problem, rows, problem.k, 8)
    assert clustered.block_starts is None
    assert np.unique(clustered.labels).tolist() == list(range(clustered.labels.max() + 1))
    assert np.bincount(clustered.labels).min() >= problem.k
    if rows.size <= 8:
        part = take_scaled(problem.scaled, rows)
        expected = mdav(part.numeric, part.nominal, problem.k, part.weights)
        assert clustered.labels.tolist() == expected.tolist()


def count_clustered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records near clusters are made of, each time, from now on."""
    clustered: list[int] = []

    def count_records(problem: ClusteringProblem, rows: Int64, *sizes: int) -> Clustering:
        clustered.append(rows.size)
        return cluster_near(problem, rows, *sizes)

    monkeypatch.setattr(near_starts, "cluster_near", count_records)
    return clustered


@pytest.mark.parametrize(("limit", "is_near"), [(Fraction(1, 2), True), (Fraction(1, 50), False)])
def test_a_few_records_tell_that_near_ones_lose_too_much(
    limit: Fraction, is_near: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near_starts, "MOST_UNJUDGED", 30)
    monkeypatch.setattr(near_starts, "JUDGED_RECORDS", (8, 15, 31))
    monkeypatch.setattr(near_starts, "FALLS_FASTER", 1.0)
    monkeypatch.setattr(near_starts, "NEAR_SHARE_UNSEARCHED", 0.5)
    clustered = count_clustered(monkeypatch)
    ages = np.random.default_rng(3).permutation(np.arange(60)).tolist()
    problem = problem_of(ages, ["a"] * 60, ages, k=3, limit=limit, size=10)
    choose_start(problem, cut_plainly(problem))
    # One in seven, then in four; of the next ones there would be half of all, and more.
    assert clustered == ([9, 15, 60] if is_near else [9, 15])


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("lost", "is_asked"),
    [
        ([6.0, 3.0], True),
        ([6.0, 3.1], False),
        ([24.0, 6.0], True),
        ([96.0, 12.0], True),
        ([97.0, 0.0], False),
        ([1.5, 1.6], False),
        ([0.0, 0.0], True),
    ],
)
def test_what_falls_fast_enough_the_more_records_there_are_is_tried(
    lost: list[float], is_asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in 16 lose 6, and one in 4 of them 3: all are taken to lose 1.5 times what they may."""
    of_thinned = dict(zip((16, 4), lost, strict=True))

    def merge_thinned(
        _: NearStart, rows: Int64, size: int, one_in: int, most_lost: float
    ) -> Merged | None:
        assert (rows.size, size) == (64, 3)
        loss = of_thinned[one_in] / one_in
        is_asked = of_thinned[one_in] <= most_lost + 1e-12
        return Merged(np.empty(0, np.int64), loss, WAYS[one_in == 4]) if is_asked else None

    monkeypatch.setattr(near_starts, "JUDGED_RECORDS", (4, 16, 40))
    monkeypatch.setattr(NearStart, "_merge_thinned", merge_thinned)
    near = near_of(problem_of(list(range(64)), ["a"] * 64, list(range(64))))
    assert near._judge(np.arange(64), 3, 1.0) == (WAYS if is_asked else [])
    monkeypatch.setattr(near_starts, "MOST_BY_ALL_WAYS", 63)
    assert near._judge(np.arange(64), 3, 1.0) == ([WAYS[1]] if is_asked else [])


def test_thinned_records_are_of_all_parts_and_lose_as_they_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clustered = count_clustered(monkeypatch)
    ages = np.random.default_rng(4).permutation(np.arange(80)).tolist()
    problem = problem_of(ages, ["a"] * 80, ages, k=2, limit=Fraction(1))
    near = near_of(problem)
    taken = near_starts._take(problem, np.arange(2, 80, 4))
    labels = cluster_near(taken, np.arange(20), 3).labels
    merged = near._merge_thinned(np.arange(80), 3, 4, np.inf)
    assert merged is not None
    assert merged.loss == pytest.approx(lose(taken, labels))
    assert near._merge_thinned(np.arange(80), 3, 4, 0.0) is None
    assert clustered == [20, 20]


def test_equal_records_are_not_clustered_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their clusters would all be joined one by one, to lose the nothing that they do."""
    clustered = mock.Mock(side_effect=cluster_near)
    monkeypatch.setattr(near_starts, "cluster_near", clustered)
    for ages, is_clustered in (([7] * 40, False), (list(range(40)), True)):
        problem = problem_of(ages, ["a"] * 40, list(range(40)), k=2, limit=Fraction(1, 2), size=4)
        clustered.reset_mock()
        start = choose_start(problem, cut_plainly(problem))
        assert clustered.called == is_clustered
        assert start.labels.size == 40


def test_where_the_cheapest_way_leaves_a_lump_another_one_is_taken() -> None:
    n_records, asked = 24, []
    problem = problem_of(list(range(n_records)), ["a"] * n_records, list(range(n_records)))

    def merge(
        _: ClusteringProblem, labels: Int64, __: float, ___: float, ways: list[Way]
    ) -> Merged:
        asked.append(list(ways))
        has_lump = WAYS[-1] not in ways or len(ways) > 1
        return Merged(np.zeros_like(labels) if has_lump else labels, 1.0, ways[0])

    near = near_of(problem)
    with (
        mock.patch.object(near_starts, "merge_above", merge),
        mock.patch.object(near_starts, "LARGE_CLASS", 2),
    ):
        [found] = near.find_beside(FAR, FAR)[:1]
    assert np.bincount(found.labels).max() < n_records
    assert asked[: len(WAYS)] == [list(WAYS[n:]) for n in range(len(WAYS))]
