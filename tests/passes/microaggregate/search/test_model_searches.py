"""Searches for further models: which clusters are tried, larger ones and closer ones."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.tables.refined_regions import losing_region, refiner_of
from tclose.methods.clustering_problem import Clustering
from tclose.passes.microaggregate.search import model_searches
from tclose.passes.microaggregate.search.compared_searches import (
    RegionClusters,
    SearchEnds,
    SearchRun,
)
from tclose.passes.microaggregate.search.model_searches import search_for_models
from tclose.passes.plan.search_budget import LEAN, SearchBudget
from tclose.privacy.bound_models import PrivacyModels
from tclose.privacy.privacy_model import PrivacyModel
from tclose.releases.series.register_file import tabulate

LIMIT = Fraction(1, 5)


class TestLargerClusters:
    """Clusters of which models leave few, by their size; the loss of each."""

    n_records = 1000

    def end_of(self, size: int, n_left: int, loss: float) -> Any:
        n_merged = self.n_records // size - n_left
        labels = np.arange(self.n_records) % n_left
        clusters = RegionClusters(labels, n_repaired=n_merged)
        return SimpleNamespace(searched=np.arange(self.n_records), clusters=clusters, loss=loss)

    def search(
        self, n_left: int, losses: dict[int, float], *, is_long: bool = True, **budget: Any
    ) -> list[Any]:
        """The searches that are run, after one of clusters of 5 of which so many are left.

        As the size and what is spent, if those of larger ones lose so much, by their sizes.
        """
        asked: list[Any] = []

        def run(search: Any, size: Any) -> Any:
            assert search.refiner is None or search.refiner.k == size
            asked.append((size, "short" if search.budget is LEAN else "long"))
            return self.end_of(max(size, 1), 2, losses.get(size, 9.0))

        plan = SimpleNamespace(search_budget=SearchBudget(9, **budget), k=5, max_emds=(LIMIT,))
        refiner: Any = refiner_of(losing_region()) if is_long else None
        merger: Any = SimpleNamespace(plan=plan)

        def remake(limits: tuple[float, ...], k: int) -> Any:
            assert limits == (float(LIMIT),)
            return replace(refiner, k=k)

        ends = SearchEnds(
            lambda end: (0, end.loss),  # type: ignore[attr-defined]
            kept=[self.end_of(5, n_left, 5.0)],
        )
        start: Any = SimpleNamespace(larger=lambda size: size, held=lambda: 0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SearchRun, "run", run)
            patch.setattr(model_searches, "_find_balanced", lambda *_: None)
            search = SearchRun(merger, refiner, remake=remake if is_long else None)
            search_for_models(ends, search, start, 0.5)
        self.n_kept = len(ends.kept)
        return asked

    def test_are_searched_shortly_and_those_that_end_best_at_length(self) -> None:
        asked = self.search(20, {23: 2.0, 14: 3.0})
        held, *others = asked
        assert held == (0, "long")
        assert others == [(8, "short"), (14, "short"), (23, "short"), (41, "short"), (23, "long")]

    def test_that_lose_more_are_not_kept(self) -> None:
        self.search(20, {8: 4.0, 14: 3.0, 23: 2.0, 41: 3.0}, is_long=False)
        assert self.n_kept == 1

    def test_are_not_searched_at_length_where_nothing_is(self) -> None:
        assert [size for size, _ in self.search(20, {}, is_long=False)] == [0, 8, 14, 23, 41]

    def test_are_not_tried_where_few_classes_fail(self) -> None:
        assert self.search(150, {}) == [(0, "long")]
        assert self.search(200, {}) == []

    def test_are_not_tried_where_the_clock_ends_a_search(self) -> None:
        assert self.search(20, {}, seconds=3.0) == [(0, "long")]


class TestCloserClusters:
    """Of 20 records, of which the last two are ill, where each class needs both values."""

    ill = np.repeat([0, 1], [18, 2])
    model = PrivacyModel("distinct-l-diversity", "ill", Fraction(2), attribute=0)

    @property
    def merger(self) -> Any:
        table = replace(tabulate(self.ill, 2), metric=None)
        models = PrivacyModels((self.model,))
        plan = SimpleNamespace(privacy_models=models, k=3, max_emds=(LIMIT,))
        records = SimpleNamespace(codes=self.ill[None, :].astype(np.int64))
        return SimpleNamespace(plan=plan, records=records, distributions=(table,))

    def test_are_within_less_than_the_nearest_that_fails(self) -> None:
        """A class without an ill record is a tenth away."""
        healthy = np.repeat([0, 1], [10, 10])
        [found] = model_searches._find_closer(self.merger, healthy, (LIMIT,)) or [Fraction(0)]
        assert Fraction("0.0999") < found < Fraction("0.1")
        [next_one] = model_searches._find_closer(self.merger, healthy, (found,)) or [Fraction(0)]
        assert next_one < model_searches.EACH_CLOSER * found

    def test_are_not_sought_where_no_class_fails(self) -> None:
        mixed = np.repeat([0, 1, 0, 1], [9, 9, 1, 1])
        assert model_searches._find_closer(self.merger, mixed, (LIMIT,)) is None

    @pytest.mark.parametrize(("sizes", "made"), [((3, 5, 10, 20), 10), ((3, 5), None)])
    def test_begin_with_the_least_balanced_ones_that_hold(
        self, sizes: tuple[int, ...], made: int | None
    ) -> None:
        def balance(size: int) -> Clustering:
            return Clustering(np.arange(20) % (20 // size))

        start: Any = SimpleNamespace(balanced=balance)
        found = model_searches._find_balanced(self.merger, start, sizes)
        assert (None if found is None else 20 // (found.labels.max() + 1)) == made
