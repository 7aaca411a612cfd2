"""Groups of classes that threads search side by side."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cases.people import people, policy_for, release, write_parquet
from support.tables.classed_records import ClassedRecords
from support.tables.random_tables import repeatable
from support.tables.refined_regions import (
    fewer,
    keep,
    refiner_of,
    regions_within,
    search_budgets,
)
from tclose.model.array_types import Int64
from tclose.passes.microaggregate.search.group_threads import map_classes, map_groups
from tclose.passes.microaggregate.search.perturb_classes import perturb_classes
from tclose.passes.plan.search_budget import SearchBudget
from tclose.runtime.engines.engine import InProcess


@repeatable
@given(st.lists(st.integers(0, 3), max_size=40), st.integers(1, 5))
def test_each_group_is_searched_once_and_in_order(sizes: list[int], n_threads: int) -> None:
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    classes = np.arange(starts[-1])

    def search(some: tuple[Int64, Int64], first: int) -> list[tuple[int, list[int]]]:
        ends = enumerate(pairwise(some[1].tolist()), first)
        return [(g, some[0][a:b].tolist()) for g, (a, b) in ends]

    searched = [one for part in map_groups(search, (classes, starts), n_threads) for one in part]
    whole = enumerate(pairwise(starts.tolist()))
    assert searched == [(g, list(range(a, b))) for g, (a, b) in whole]


@repeatable
@given(st.lists(st.integers(1, 9), max_size=40), st.integers(1, 5), st.integers(1, 30))
def test_classes_are_looked_at_once_and_in_order(
    sizes: list[int], n_threads: int, of_a_part: int
) -> None:
    """In parts that are worth a thread, which are all where there are few records."""
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{map_classes.__module__}.RECORDS_OF_A_PART", of_a_part)
        parts = map_classes(lambda part: part, starts, n_threads)
    assert [c for part in parts for c in range(part.start, part.stop)] == list(range(len(sizes)))
    assert len(parts) <= max(int(starts[-1]) // of_a_part, 1)


@fewer
@given(regions_within(), search_budgets)
def test_classes_are_the_same_whatever_is_a_part(
    records: ClassedRecords, search_budget: SearchBudget
) -> None:
    refiner = replace(refiner_of(records), n_threads=3)
    whole = refiner.refine(records.labels, search_budget, keep)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{map_classes.__module__}.RECORDS_OF_A_PART", 10)
        cut = refiner.refine(records.labels, search_budget, keep)
    assert whole[0].tolist() == cut[0].tolist()
    assert whole[1] == cut[1]


@pytest.mark.timeout(60)
def test_an_error_of_a_thread_is_that_of_the_search() -> None:
    def search(_: tuple[Int64, Int64], first: int) -> None:
        if first:
            raise ValueError(first)

    with pytest.raises(ValueError, match="1"):
        map_groups(search, (np.arange(4), np.arange(5)), 2)


@fewer
@given(regions_within(), search_budgets, st.integers(2, 4))
def test_labels_are_those_of_one_thread(
    records: ClassedRecords, search_budget: SearchBudget, n_threads: int
) -> None:
    refiner = refiner_of(records)
    alone = refiner.refine(records.labels, search_budget, keep)
    together = replace(refiner, n_threads=n_threads).refine(records.labels, search_budget, keep)
    assert alone[0].tolist() == together[0].tolist()
    assert alone[1] == together[1]


@pytest.mark.every_case
@pytest.mark.parametrize(("n_records", "n_threads"), [(400, 1), (600, 2)])
def test_few_records_start_few_threads(
    n_records: int, n_threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the number of processors: they would take longer to start than to search."""
    seen = set()

    def note(search: Any, groups: Any, n: int) -> Any:
        seen.add(n)
        return map_groups(search, groups, n)

    monkeypatch.setattr(f"{perturb_classes.__module__}.map_groups", note)
    monkeypatch.setattr(InProcess, "threads_per_task", lambda *_: 4)
    source = write_parquet(tmp_path / "people.parquet", people(n_records))
    release(policy_for(source, method={}))
    assert seen == {n_threads}
