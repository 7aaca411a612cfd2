"""Predicted seconds, memory and disk: what they grow with, and what workers and trials change."""

import os
from dataclasses import replace

import pyarrow as pa
import pytest

from support.tables.small_plans import make_plan, make_release_partition
from support.tables.value_encodings import encodings_of
from tclose.passes.plan.notices.costs.calibration import WorkSeconds
from tclose.passes.plan.notices.costs.class_seconds import (
    OF_THREADS,
    OF_WORKERS,
    ClassWork,
    count_class_work,
    expect_classes,
)
from tclose.passes.plan.notices.costs.run_scope import RunScope
from tclose.passes.plan.notices.costs.step_costs import (
    LOADING_SECONDS,
    describe_estimate,
    estimate_run,
)
from tclose.passes.plan.plan import Plan, UnitRegions
from tclose.passes.plan.search_budget import (
    FAST,
    LEAN,
    OFF,
    SearchBudget,
    choose_search_budget,
)
from tclose.releases.manifest.plan_document import CostEstimate

ENCODINGS = tuple(encodings_of(pa.table({"age": range(50), "sex": ["m", "f"] * 25})))


def plan_of(n_records: int = 8_000, n_regions: int = 1, search_budget: SearchBudget = FAST) -> Plan:
    one = make_release_partition(n_records, 5, n_regions=n_regions)
    plan = replace(make_plan(one), encodings=ENCODINGS, rows_per_file=1_000_000)
    return replace(plan, search_budget=search_budget)


def scope_of(n_workers: int = 2, n_distinct: int = 1_000, n_parsed: int = 0) -> RunScope:
    return RunScope(1 << 20, n_parsed, n_distinct, n_workers, alone=False)


def seconds_of(estimate: CostEstimate) -> dict[str, float]:
    return {step.name: step.seconds for step in estimate.steps}


class TestClasses:
    WORK = ClassWork(2.0, 6.0)

    @pytest.mark.parametrize(("n_regions", "share"), [(2, 1 / 2), (3, 2 / 3), (4, 1 / 2)])
    def test_the_worker_with_most_regions_decides(self, n_regions: int, share: float) -> None:
        found = expect_classes(plan_of(n_regions=n_regions), scope_of(), self.WORK)
        assert found == pytest.approx(8.0 * share / OF_WORKERS)

    def test_of_one_region_further_threads_search(self) -> None:
        found = expect_classes(plan_of(), scope_of(), self.WORK)
        assert found == pytest.approx(2.0 + 6.0 / (2 * OF_THREADS))
        one = expect_classes(plan_of(), scope_of(1), self.WORK)
        assert one == pytest.approx(8.0)

    def test_in_process_four_regions_are_side_by_side(self, monkeypatch) -> None:
        """Of six on eight processors in two turns, two threads each."""
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
        found = expect_classes(plan_of(n_regions=6), replace(scope_of(1), alone=True), self.WORK)
        searched = 6.0 * 2 / 6 / (2 * OF_THREADS)
        assert found == pytest.approx((2.0 * 2 / 6 + searched) / OF_WORKERS)

    def test_by_counts_a_longer_search_takes_longer(self) -> None:
        timed = SearchBudget(10_000, seconds=30.0)
        works = [count_class_work(plan_of(search_budget=b)) for b in (OFF, LEAN, FAST, timed)]
        searches = [work.search for work in works]
        assert searches[0] == 0.0 < searches[1] < searches[2] < searches[3] == 30.0
        assert len({work.clusters for work in works}) == 1

    def test_fast_takes_longer_than_lean_where_nothing_is_perturbed(self) -> None:
        fast = choose_search_budget("fast", 1_000_000)
        assert fast.n_perturbed == 0
        works = [count_class_work(plan_of(1_000_000, search_budget=b)) for b in (LEAN, fast)]
        assert works[0].search < works[1].search

    def test_of_a_later_release_newcomers_alone_are_searched(self) -> None:
        plan = plan_of()
        [one] = plan.release_partitions
        regions = UnitRegions((0, 500), 1, newcomers=800)
        later = replace(plan, release_partitions=(replace(one, unit_regions=regions),))
        searched, of_new = count_class_work(plan), count_class_work(later)
        assert of_new.search == pytest.approx(searched.search / 10)
        assert of_new.clusters < searched.clusters
        tried = [seconds_of(estimate_run(p, scope_of(), self.WORK)) for p in (plan, later)]
        all_of_them, some = (one["microaggregate"] - LOADING_SECONDS for one in tried)
        assert some == pytest.approx(all_of_them / 10)


class TestEstimate:
    def test_seconds_are_those_of_the_passes_and_of_the_start(self) -> None:
        estimate = estimate_run(plan_of(), scope_of())
        assert list(seconds_of(estimate)) == [
            "summarise", "plan", "encode", "microaggregate", "verify", "publish",
        ]  # fmt: skip
        assert sum(seconds_of(estimate).values()) < estimate.seconds
        assert estimate.megabytes == max(step.megabytes for step in estimate.steps)
        assert not estimate.calibrated

    def test_a_slower_machine_takes_longer_but_what_was_tried_on_it_does_not(self) -> None:
        plan = plan_of()
        tried = ClassWork(2.0, 6.0)
        usual = seconds_of(estimate_run(plan, scope_of(), tried))
        slow = estimate_run(plan, scope_of(), tried, WorkSeconds(2.0, 1.0, 2.0))
        assert slow.calibrated
        for name, seconds in seconds_of(slow).items():
            expected = 2 * usual[name]
            if name == "microaggregate":  # but for loading the kernels
                expected = usual[name] + LOADING_SECONDS
            assert seconds == pytest.approx(expected)

    def test_more_workers_are_faster_where_there_are_tasks_for_them(self) -> None:
        large = plan_of(1_000_000, 8)
        one, two = (seconds_of(estimate_run(large, scope_of(n))) for n in (1, 2))
        for name in ("summarise", "encode", "microaggregate", "verify"):
            assert two[name] < 0.75 * one[name]
        assert two["publish"] == one["publish"]  # one file

    def test_text_is_parsed_first(self) -> None:
        plain, parsed = (seconds_of(estimate_run(plan_of(), scope_of(n_parsed=n)))
                         for n in (0, 1 << 20))  # fmt: skip
        assert parsed.pop("summarise") > plain.pop("summarise")
        assert parsed == plain

    def test_disk_grows_with_records_and_distinct_values(self) -> None:
        def disk(n_records: int, n_distinct: int) -> float:
            found = estimate_run(plan_of(n_records), scope_of(n_distinct=n_distinct))
            assert found.disk_megabytes is not None
            return found.disk_megabytes

        small = disk(8_000, 1_000)
        assert disk(8_000, 8_000) == pytest.approx(small + 7_000 * 39.5 / 1e6)
        assert disk(80_000, 1_000) > 4 * small

    def test_memory_grows_with_regions_and_not_with_their_number(self) -> None:
        one, many = (estimate_run(plan_of(n, n // 50_000), scope_of()).megabytes
                     for n in (50_000, 400_000))  # fmt: skip
        larger = estimate_run(plan_of(400_000), scope_of()).megabytes
        assert one == pytest.approx(many, abs=1.0)
        assert larger > 1.2 * many

    def test_a_run_says_it_in_a_line(self) -> None:
        estimate = CostEstimate(
            megabytes=300.0, seconds=77.4, on="2 workers", disk_megabytes=1_234.0,
            compile_seconds=35.0,
        )  # fmt: skip
        assert describe_estimate(estimate) == (
            "expected by counts: about 77 s on 2 workers with 35 s to compile the kernels, "
            "300 MB per worker, 1,234 MB on disk"
        )

    def test_estimates_that_were_kept_before_are_read(self) -> None:
        kept = {"megabytes": 300.0, "seconds": 3.0, "on": "this process"}
        assert CostEstimate.model_validate(kept).disk_megabytes is None
