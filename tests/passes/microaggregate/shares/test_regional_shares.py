"""What regions have to release, so that all of them together keep the shares of values."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cases.people import CONFIDENTIAL, QUASI, people, policy_for, publish
from support.tables.random_tables import repeatable
from support.tables.value_encodings import REPRESENTED, encoding
from tclose.model.array_types import Int64
from tclose.model.column_terms import Kind
from tclose.passes.microaggregate import cluster_task, microaggregate
from tclose.passes.microaggregate.gather_region import gather_region
from tclose.passes.microaggregate.region_records import RegionRecords
from tclose.passes.microaggregate.shares.regional_shares import (
    CHANCE,
    SampledClasses,
    allot_shares,
    count_steps,
    sample_classes,
)
from tclose.passes.microaggregate.shares.representatives import MORE_LOSS
from tclose.passes.plan import coarse_tree
from tclose.passes.plan.plan import Plan, Region

N_RECORDS = 400
WARDS = ["north", "east", "south", "west"]
SIZE = 5  # records of a class
PLAN = Plan(
    2, (), (encoding(Kind.NUMERIC, pa.int64()), REPRESENTED), (), (), (), (), (), 0, (), 9, 9
)


def sample(values: Int64, step: int = 1) -> SampledClasses:
    """A region of classes (c, SIZE) with these values, all of one number."""
    records = RegionRecords(
        [np.zeros(values.size, dtype=np.int64), values.ravel()],
        np.empty((0, values.size), dtype=np.int64),
        np.array([0, values.size]),
        np.array([SIZE]),
        len(values),
    )
    made = sample_classes(np.repeat(np.arange(len(values)), SIZE), records, PLAN, step)
    assert made is not None
    return made


def allot(*regions: Int64, step: int = 1) -> list[list[int]]:
    """Records of each value that each region has to release."""
    allotments = allot_shares(PLAN, [sample(r, step) for r in regions], [SIZE] * len(regions))
    return [one.wanted[0].tolist() for one in allotments]


@repeatable
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 4))
def test_regions_together_have_to_release_what_there_is(seed: int, n_regions: int, step: int):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet([0.7] * 3, n_regions)
    regions = [
        rng.choice(3, (int(rng.integers(1, 200)), SIZE), p=share).astype(np.int64)
        for share in shares
    ]
    wanted = np.array(allot(*regions, step=step))
    assert wanted.min() >= 0
    there = sum(np.bincount(region.ravel(), minlength=3) for region in regions)
    assert wanted.sum(axis=0).tolist() == there.tolist()


def test_a_value_is_released_where_it_is_cheap() -> None:
    """In one region each class has one record of it, in the other a fifth of them have two."""
    spread = np.tile([0, 0, 0, 0, 1], (100, 1))
    near = np.tile([0, 0, 0, 0, 0], (100, 1))
    near[:80] = [0, 0, 0, 1, 1]
    (of_spread, of_near) = allot(spread, near)
    assert of_spread[1] < 20 < 100
    assert of_near[1] > 240 > 160
    assert of_spread[1] + of_near[1] == 260


def test_who_has_little_to_lose_gets_little_and_nobody_more_than_there_is() -> None:
    rng = np.random.default_rng(3)
    even = np.tile([0, 0, 0, 0, 0], (300, 1))
    mixed = rng.choice(3, (300, SIZE), p=[0.6, 0.3, 0.1]).astype(np.int64)
    samples = [sample(even), sample(mixed)]
    made = allot_shares(PLAN, samples, [SIZE, SIZE])
    assert made[0].more_loss == 0
    assert 0 < made[1].more_loss <= MORE_LOSS * CHANCE * (1 + 1e-9)


def test_some_classes_tell_nearly_what_all_do() -> None:
    rng = np.random.default_rng(5)
    regions = [
        rng.choice(3, (4_000, SIZE), p=p).astype(np.int64)
        for p in ([0.7, 0.2, 0.1], [0.5, 0.4, 0.1], [0.2, 0.2, 0.6])
    ]
    of_all, of_some = np.array(allot(*regions)), np.array(allot(*regions, step=8))
    moved = np.abs(of_all - [np.bincount(r.ravel(), minlength=3) for r in regions]).sum()
    assert moved > 0
    assert np.abs(of_all - of_some).sum() < moved / 2


def test_a_rare_value_is_given_out_in_whole_classes() -> None:
    regions = [np.zeros((50, SIZE), dtype=np.int64) for _ in range(4)]
    for region in regions:
        region[:2, 0] = 2
    wanted = np.array(allot(*regions))
    assert wanted[:, 2].sum() == 8
    assert wanted[:, 2].max() >= SIZE


def test_one_region_or_no_representative_is_not_sampled() -> None:
    region = Region(0, 0, 7)
    assert count_steps(PLAN, [region]) == 0
    assert count_steps(PLAN, [region, region]) == 1
    assert count_steps(replace(PLAN, encodings=PLAN.encodings[:1]), [region, region]) == 0


@pytest.mark.parametrize("partition_by", [(), ("sex",)])
def test_what_is_counted_is_what_a_region_gathers(
    partition_by: tuple[str, ...], tmp_path, monkeypatch
) -> None:
    rng = np.random.default_rng(4)
    wards = pa.array(
        np.array(WARDS)[rng.choice(4, N_RECORDS, p=[0.6, 0.3, 0.08, 0.02])],
        mask=rng.random(N_RECORDS) < 0.1,
    )
    pq.write_table(people(N_RECORDS, ward=wards), tmp_path / "people.parquet", row_group_size=70)
    monkeypatch.setattr(coarse_tree, "MIN_REGION_RECORDS", 60)
    monkeypatch.setattr(coarse_tree, "MAX_REGION_RECORDS", 90)
    counted: list[Any] = []
    gathered: dict[tuple[int, ...], list[int]] = {}  # regions are gathered side by side

    def keep_counts(plan, samples, sizes):
        counted.append([one.counts[-1].tolist() for one in samples])
        return allot_shares(plan, samples, sizes)

    def keep_values(workspace, plan, item, **how):
        region = gather_region(workspace, plan, item, **how)
        j = [encoding.column.name for encoding in plan.encodings].index("ward")
        keys = region.records.keys[j]
        known = region.records.gaps.find_known(j, np.arange(keys.size))
        gathered[item.region.name] = np.bincount(keys[known], minlength=len(WARDS)).tolist()
        return region

    monkeypatch.setattr(microaggregate, "allot_shares", keep_counts)
    monkeypatch.setattr(cluster_task, "gather_region", keep_values)
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
    publish(document)
    assert len(gathered) > 2
    assert [gathered[name] for name in sorted(gathered)] == counted[-1]
    assert np.sum(counted[-1]) == N_RECORDS - wards.null_count
