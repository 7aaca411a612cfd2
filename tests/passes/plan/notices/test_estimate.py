"""What a search needs of memory, and the refusal of one that no worker has the memory for."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import people, policy_for, release
from support.tables.small_plans import make_plan, make_release_partition
from support.tables.value_encodings import encodings_of
from tclose.errors import PolicyError
from tclose.passes.plan.notices.estimate import (
    block_bytes,
    category_bytes,
    check_memory,
    search_bytes,
    task_megabytes,
)
from tclose.passes.plan.search_budget import FAST, OFF, SearchBudget, choose_search_budget
from tclose.policy.sections import engine_settings
from tclose.policy.sections.engine_settings import EngineSettings
from tclose.runtime.engines.engine import worker_memory

pytestmark = pytest.mark.usefixtures("small_regions")

SMALL = EngineSettings.model_construct(memory_per_worker="64MB")  # less than a policy may give


def plan_of(n_nodes, search_budget=FAST, n_records=4_000, size=5, block_clusters=100):
    made = make_plan(make_release_partition(n_records, size))
    return replace(
        made,
        n_nodes=n_nodes,
        tree_depth=1,
        search_budget=search_budget,
        block_clusters=block_clusters,
    )


class TestBytes:
    def test_grow_with_the_values_up_to_the_records_of_a_block(self):
        """512 classes of 5: each counts 50 values; of more than its block has records, 2,560."""
        assert search_bytes(plan_of(50)) == 512 * 50 * 4
        assert search_bytes(plan_of(10**6)) == search_bytes(plan_of(10**9)) == 512 * 2_560 * 4

    def test_grow_with_the_block(self):
        assert search_bytes(plan_of(50, SearchBudget(3))) == 800 * 50 * 4
        full = choose_search_budget("full", 4_000)
        assert search_bytes(plan_of(50, full, block_clusters=2**62)) == 800 * 50 * 4
        assert search_bytes(plan_of(50, full)) == search_bytes(plan_of(50))

    def test_none_without_a_search_or_without_such_values(self):
        assert search_bytes(plan_of(50, OFF)) == 0
        assert search_bytes(plan_of(0)) == 0

    def test_classes_that_are_too_large_are_not_searched(self):
        large = plan_of(10**6, n_records=100_000, size=4_000, search_budget=SearchBudget(3))
        assert search_bytes(large) == 25 * 25 * 2_000 * 4


class TestBytesOfCategories:
    def test_grow_with_columns_and_the_most_categories_up_to_the_records_of_a_block(self):
        table = pa.table(
            {
                "zip": [f"{number:05}" for number in range(3_000)],
                "sex": ["m", "f"] * 1_500,
                "age": range(3_000),
            }
        )
        of_both = replace(plan_of(0), encodings=tuple(encodings_of(table)))
        assert category_bytes(of_both) == 512 * 2 * 2_560 * 8
        of_one = replace(plan_of(0), encodings=tuple(encodings_of(table.select(["sex", "age"]))))
        assert category_bytes(of_one) == 512 * 2 * 8

    def test_none_without_a_search_or_without_categories(self):
        assert category_bytes(plan_of(0)) == 0
        sex = tuple(encodings_of(pa.table({"sex": ["m", "f"]})))
        assert category_bytes(replace(plan_of(0, OFF), encodings=sex)) == 0


class TestMemory:
    def test_of_a_worker_is_what_the_policy_says(self):
        assert worker_memory(SMALL, 10**9) == 64_000_000
        assert worker_memory(EngineSettings(memory_per_worker="1GiB"), 0) == 2**30

    def test_here_it_is_the_machines(self):
        alone, beside = (worker_memory(EngineSettings(), n) or 0 for n in (0, 10**9))
        assert alone > 10**8
        assert 10**7 < beside <= alone

    def test_elsewhere_it_is_not_known(self):
        assert worker_memory(EngineSettings(scheduler="tcp://there:8786"), 0) is None


class TestRefusal:
    def test_names_what_would_do(self):
        plan = plan_of(10**6, SearchBudget(3), n_records=200_000, size=50)
        with pytest.raises(PolicyError, match=r"exchanges would need about 209\.7 MB") as refused:
            check_memory(plan, SMALL, 0)
        assert "distance: ordered" in str(refused.value)
        assert "1,000,000 values" in str(refused.value)

    def test_names_the_quasi_identifier_of_the_most_categories(self):
        zips = pa.table({"zip": [f"{i:06}" for i in range(200_000)], "sex": ["m", "f"] * 100_000})
        plan = replace(
            plan_of(0, SearchBudget(3), n_records=200_000, size=50),
            encodings=tuple(encodings_of(zips)),
        )
        assert category_bytes(plan) == 1_024 * 2 * 51_200 * 8
        with pytest.raises(PolicyError, match=r"exchanges would need about 838\.9 MB") as refused:
            check_memory(plan, SMALL, 0)
        assert "'zip' has 200,000 categories, and as many are counted of each of 2" in str(
            refused.value
        )
        assert "Group its categories; or take a smaller" in str(refused.value)
        check_memory(replace(plan, search_budget=OFF), SMALL, 0)

    def test_counts_of_both_are_added(self):
        """Neither alone is too much for the half of 64 MB."""
        zips = pa.table({"zip": [f"{i:06}" for i in range(200_000)]})
        encodings = tuple(encodings_of(zips))
        budget = SearchBudget(3, block_classes=280)
        plan = replace(plan_of(7_000, budget, 200_000, 50), encodings=encodings)
        values, categories = search_bytes(plan), category_bytes(plan)
        assert max(values, categories) <= 32_000_000 < values + categories
        with pytest.raises(PolicyError, match=f"about {(values + categories) / 1e6:,.1f} MB"):
            check_memory(plan, SMALL, 0)

    def test_a_task_needs_them_too(self):
        zips = pa.table({"zip": [f"{i:06}" for i in range(200_000)]})
        plan = replace(plan_of(50), encodings=tuple(encodings_of(zips)))
        without = replace(plan, search_budget=OFF)
        assert task_megabytes(plan) - task_megabytes(without) == pytest.approx(
            block_bytes(plan) / 1e6
        )

    def test_only_where_it_is_needed(self):
        check_memory(
            plan_of(10**6, SearchBudget(3), n_records=200_000, size=50), EngineSettings(), 0
        )
        check_memory(plan_of(50), SMALL, 0)
        check_memory(plan_of(0), EngineSettings.model_construct(memory_per_worker="1kB"), 0)

    def test_before_anything_is_done(self, tmp_path, monkeypatch):
        monkeypatch.setattr(engine_settings, "LEAST_MEMORY", 1)
        path = tmp_path / "people.parquet"
        pq.write_table(people(400), path)
        attributes: dict[str, Any] = {"age": "quasi-identifier", "sex": "quasi-identifier"}
        attributes["pay"] = {"role": "confidential", "distance": "equal", "t": 0.97}
        asked = policy_for(path, attributes=attributes, engine={"memory_per_worker": "2kB"})
        with pytest.raises(PolicyError, match=r"a worker has 0\.0 MB: 'pay' together have"):
            release(asked)
        assert not list((tmp_path / "releases").glob("*/*/manifest.json"))


def test_equal_distance_of_numbers_says_how_large_classes_have_to_be(tmp_path, capsys):
    from support.cases.people import write_policy
    from tclose.cli.main import main

    path = tmp_path / "people.parquet"
    pq.write_table(people(400, pay=pa.array(range(400))), path)
    pay = {"role": "confidential", "distance": "equal", "t": 0.75}
    attributes = {"age": "quasi-identifier", "sex": "quasi-identifier", "pay": pay}
    policy = write_policy(tmp_path / "policy.yaml", policy_for(path, attributes=attributes))
    assert main(["plan", str(policy), "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert "100 or more: fewer are farther than t = 0.75 from the 400 values of 'pay'" in printed
