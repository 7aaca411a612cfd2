"""Values of regions, counted before classes are made: those of the records that each one has."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.cases.people import CONFIDENTIAL, QUASI, people, policy_for
from tclose.data.files import input_partitions
from tclose.passes.microaggregate import microaggregate, region_task, region_values
from tclose.passes.microaggregate.gather_region import gather_region
from tclose.passes.microaggregate.representatives import apportion_regions
from tclose.passes.plan import coarse_tree
from tclose.passes.release import run_release
from tclose.policy.policy import parse_policy
from tclose.runtime.monitoring.progress import Progress

N_RECORDS = 400
WARDS = ["north", "east", "south", "west"]


@pytest.mark.parametrize("partition_by", [(), ("sex",)])
@pytest.mark.parametrize("most_items", [1, 8])
def test_they_are_those_of_the_records_that_a_region_gathers(
    partition_by: tuple[str, ...], most_items: int, tmp_path, monkeypatch
) -> None:
    rng = np.random.default_rng(4)
    wards = pa.array(
        np.array(WARDS)[rng.choice(4, N_RECORDS, p=[0.6, 0.3, 0.08, 0.02])],
        mask=rng.random(N_RECORDS) < 0.1,
    )
    pq.write_table(people(N_RECORDS, ward=wards), tmp_path / "people.parquet", row_group_size=70)
    monkeypatch.setattr(input_partitions, "MIN_PARTITION_ROWS", 50)
    monkeypatch.setattr(coarse_tree, "MIN_REGION_RECORDS", 60)
    monkeypatch.setattr(coarse_tree, "MAX_REGION_RECORDS", 90)
    monkeypatch.setattr(region_values, "MOST_ITEMS", most_items)
    counted: list[Any] = []
    gathered: dict[str, list[int]] = {}

    def keep_counts(counts, sizes):
        counted.append(np.array(counts))
        wanted = apportion_regions(counts, sizes)
        assert np.sum(wanted, axis=0).tolist() == counted[-1].sum(axis=0).tolist()
        return wanted

    def keep_values(workspace, plan, item):
        region = gather_region(workspace, plan, item)
        j = [encoding.column.name for encoding in plan.encodings].index("ward")
        keys = region.records.keys[j]
        known = region.records.gaps.find_known(j, np.arange(keys.size))
        gathered[item.region.name] = np.bincount(keys[known], minlength=len(WARDS)).tolist()
        return region

    monkeypatch.setattr(microaggregate, "apportion_regions", keep_counts)
    monkeypatch.setattr(region_task, "gather_region", keep_values)
    document = policy_for(
        tmp_path / "people.parquet",
        attributes={
            "age": QUASI,
            "sex": QUASI,
            "ward": {"role": QUASI, "missing": "class"},
            "pay": CONFIDENTIAL,
        },
        output={"path": str(tmp_path / "releases"), "partition_by": list(partition_by)},
    )
    run_release(parse_policy(document), Progress("none"))
    assert len(gathered) > 2
    assert list(gathered.values()) == counted[-1].tolist()
    assert counted[-1].sum() == N_RECORDS - wards.null_count
