"""Searches that are compared: those that are given up, and those that go on."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tclose.methods.clustering_problem import Clustering
from tclose.passes.microaggregate import region_clusters
from tclose.passes.microaggregate.search import compared_searches
from tclose.passes.microaggregate.search.compared_searches import (
    RegionClusters,
    SearchEnd,
    SearchEnds,
    SearchRun,
    go_on,
)
from tclose.passes.plan.search_budget import OFF, SearchBudget, choose_search_budget


class TestStartsAlike:
    """Starts that are searched as well, where others with 110 come near the best until then."""

    def search(
        self,
        alike: list[list[float]],
        compared: SearchBudget | None,
        *,
        gives_up: bool = True,
        is_first: bool = False,
    ) -> tuple[list[float], list[list[float]]]:
        """The losses that each search is held to, and those that it ends with, start by start."""
        asked: list[float] = []

        def run(start: Any, _: Any, *, most_lost: float) -> Any:
            asked.append(most_lost)
            return SimpleNamespace(most_lost=start)

        runs: Any = [(SimpleNamespace(run=run), starts) for starts in alike]
        best: Any = None if is_first else SimpleNamespace(most_lost=110.0)
        found: Any = compared_searches.search_alike(runs, compared, (0.5, 0.9), gives_up, best)
        return asked, [[end.most_lost for end in ends] for ends in found]

    def test_are_given_up_where_they_will_end_far_from_the_best_so_far(self) -> None:
        alike = [[120.0, 70.0], [30.0], [40.0]]
        asked, found = self.search(alike, SearchBudget(9))
        assert asked == [110.0, 110.0, 70.0, 30.0]
        assert found == alike

    def test_of_different_searches_are_not(self) -> None:
        alike = [[120.0, 70.0], [200.0, 90.0]]
        asked, found = self.search(alike, SearchBudget(9), is_first=True)
        assert asked == [np.inf, 120.0, np.inf, 200.0]
        assert found == alike

    def test_are_given_up_too_where_all_of_a_search_is_compared(self) -> None:
        assert self.search([[120.0], [30.0]], None) == ([110.0, 110.0], [[120.0], [30.0]])

    def test_are_run_to_their_end_where_no_gain_tells_it(self) -> None:
        found = self.search([[1.0], [2.0]], None, gives_up=False)
        assert found == ([np.inf] * 2, [[1.0], [2.0]])

    def test_have_to_end_nearly_as_well(self) -> None:
        """As the best, before it was repaired or after, whichever is more."""
        nothing: Any = None
        for rounds, repaired, expected in (
            ([9.0, 100.0], 100.0, 110.0), ([9.0, 100.0], 200.0, 220.0), ([], 5.0, np.inf),
        ):  # fmt: skip
            left = SimpleNamespace(loss=repaired)
            search: Any = SimpleNamespace(refiner=SimpleNamespace(measure=lambda _, of=left: of))
            rounds_of = [SimpleNamespace(loss=one) for one in rounds]
            clusters: Any = SimpleNamespace(rounds=rounds_of, labels=None)
            end = SearchEnd(search, nothing, nothing, clusters)
            assert end.most_lost == pytest.approx(expected)

    def test_tell_the_search_and_no_more_once_it_goes_on(self) -> None:
        asked: list[float] = []
        labels = np.array([0, 0, 1, 1])

        def refine(*given: Any) -> Any:
            asked.append(given[-1].most_lost)
            return labels, ()

        method, records = SimpleNamespace(holds_t=False), SimpleNamespace(share=1.0)
        plan = SimpleNamespace(method=method, search_budget=OFF)
        merger: Any = SimpleNamespace(plan=plan, records=records, merge=None)
        refiner: Any = SimpleNamespace(refine=refine)
        search = SearchRun(merger, refiner)
        search.run(Clustering(labels), most_lost=3.0).go_on()
        assert asked == [3.0, np.inf]


@pytest.mark.parametrize(
    ("refine", "n_records", "held_to"),
    [
        ("fast", 1_000_000, 110.0),
        ("fast", 10_000_000, 110.0),  # compared by rounds that save as much as all have to
        ("fast", 500, np.inf),
        (40, 10_000_000, np.inf),
        ("10min", 10_000_000, np.inf),
    ],
)
def test_a_start_beside_is_held_to_the_best_where_gains_tell_how_it_ends(
    monkeypatch: pytest.MonkeyPatch, refine: str | int, n_records: int, held_to: float
) -> None:
    asked: list[float] = []
    labels = np.array([0, 0, 1, 1])
    search: Any = SimpleNamespace(refiner=None)

    def run(start: Clustering, _: Any, *, most_lost: float) -> Any:
        asked.append(most_lost)
        clusters = RegionClusters(start.labels)
        return SimpleNamespace(search=search, clusters=clusters, most_lost=110.0)

    search.run = run
    start = Clustering(labels, beside=lambda _: [[Clustering(labels)]])
    for name, made in (
        ("scale_columns", None), ("favour_wholes", None), ("Merger", None),
        ("_make_clusters", start), ("_make_searches", [search]), ("_measure_loss", 1.0),
        ("go_on", None),
    ):  # fmt: skip
        monkeypatch.setattr(region_clusters, name, lambda *_, made=made: made)
    plan: Any = SimpleNamespace(
        n_records=n_records,
        encodings=(),
        search_budget=choose_search_budget(refine, n_records),
        method=SimpleNamespace(cuts_by_subsets=True),
    )
    region_clusters.cluster_region(SimpleNamespace(keys=[]), plan, (), None)  # type: ignore[arg-type]
    assert asked == [np.inf, held_to]


def test_searches_that_may_end_best_go_on() -> None:
    """Those whose classes hold, and that lose nearly the least, or will."""
    begun: dict[str, tuple[int, float, list[float]]] = {
        "a": (0, 1.0, []),
        "b": (0, 1.19, [5.0, 5.0]),
        "c": (0, 1.21, [5.0]),
        "d": (1, 0.5, []),
        "e": (0, 1.31, [9.0, 1.4, 1.3, 1.21]),
        "f": (0, 1.31, [9.0, 1.3, 1.25, 1.21]),
        "g": (0, 1.0, [0.0, 0.0]),
        "h": (0, 1.05, [9.0, 2.0, 3.0, 3.0]),  # merging classes lost something
        "i": (0, 1.31, [900.0, 100.4, 100.3, 100.2]),  # rounds count what outliers lose, too
        "j": (0, 1.31, [900.0, 100.4, 100.3, 100.3]),
    }

    def end_of(name: str, losses: list[float]) -> Any:
        nothing: Any = None
        rounds = tuple(SimpleNamespace(loss=loss) for loss in losses)
        gone_on = SimpleNamespace(name=name, clusters=SimpleNamespace(search_seconds=1.0))
        search: Any = SimpleNamespace(run=lambda *_, **__: gone_on)
        clusters: Any = SimpleNamespace(rounds=rounds, levels=None, name=name)
        return SearchEnd(search, nothing, nothing, clusters)

    def lose(end: Any) -> tuple[int, float]:
        return begun[end.clusters.name][:2]

    ends = SearchEnds(lose, kept=[end_of(name, losses) for name, (_, _, losses) in begun.items()])
    go_on(ends, 0.5, 1.0)
    gone_on: list[Any] = ends.kept[len(begun) :]
    assert [one.name for one in gone_on] == ["a", "b", "e", "g", "h", "i"]


@pytest.mark.parametrize(
    ("ends", "no_worse", "chosen"),
    [
        ([(0, 1.0, 10), (0, 1.02, 20), (0, 1.03, 30)], 1.02, 1),
        ([(0, 1.0, 10), (0, 1.02, 20)], 1.0, 0),
        ([(1, 0.5, 90), (0, 1.0, 10)], 1.02, 1),  # what does not hold is of no use
        ([(0, 1.01, 10), (0, 1.0, 10)], 1.02, 1),  # of as many classes
        ([(0, 0.0, 10), (0, 0.0, 12)], 1.02, 1),
    ],
)
def test_of_ends_that_lose_no_more_that_with_most_classes_is_chosen(
    ends: list[tuple[int, float, int]], no_worse: float, chosen: int
) -> None:
    lost: dict[int, tuple[int, float]] = {}

    def end_of(above: int, loss: float, n_classes: int) -> Any:
        clusters = RegionClusters(np.arange(n_classes), search_seconds=2.0)
        lost[id(clusters)] = above, loss
        return SimpleNamespace(clusters=clusters)

    found = SearchEnds(lambda end: lost[id(end.clusters)], no_worse)
    for end in ends:
        found.keep_best([end_of(*end)])
    clusters = found.choose()
    assert clusters.labels.size == ends[chosen][2]
    assert clusters.search_seconds == 2.0 * len(ends)
