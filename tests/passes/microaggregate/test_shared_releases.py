"""Representatives of clusters with persons: those released alike are a class that has to hold."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from support.tables.value_encodings import REPRESENTED, encoding
from tclose.model.array_types import Int64
from tclose.model.column_terms import Kind
from tclose.passes.microaggregate.region_classes import release_region
from tclose.passes.microaggregate.region_records import RegionRecords
from tclose.passes.microaggregate.search.compared_searches import RegionClusters
from tclose.passes.plan.plan import Plan
from tclose.privacy.person_closeness import PersonDemand

AGES = (10, 20, 30, 10)
VALUES = ([0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [1, 1, 1, 1, 1])
ENCODINGS = encoding(Kind.NUMERIC, pa.int64()), REPRESENTED
PLAN = Plan(2, (), ENCODINGS, (), (), (), (), (), 0, (), 100, 1_000)
LABELS = np.repeat(np.arange(4), 5)


@dataclass(frozen=True, eq=False)
class AtMost(PersonDemand):
    """A demand that classes of so many rows fail: a union may, though its parts hold."""

    rows: int = 0

    def holds(self, starts: Int64, persons: Int64, codes: Int64) -> NDArray[np.bool_]:
        held: NDArray[np.bool_] = np.diff(starts) <= self.rows
        return held


def release(demand: PersonDemand | None) -> list[tuple[int, int, int]]:
    """What each class releases, and its records."""
    records = RegionRecords(
        [np.repeat(AGES, 5), np.concatenate(VALUES)],
        np.empty((0, 20), dtype=np.int64),
        np.array([0, 20]),
        np.array([5]),
        4,
        persons=np.arange(20),
    )
    classes = release_region(RegionClusters(LABELS), records, PLAN, None, demand)
    ages, values = classes.released
    return list(zip(ages.tolist(), values.tolist(), np.diff(classes.starts).tolist(), strict=True))


@pytest.mark.parametrize("demand", [None, AtMost(5, rows=10)])
def test_a_class_of_two_clusters_that_holds_stays(demand: PersonDemand | None) -> None:
    """Nine records have the first value and eleven the second, by the modes fifteen and five."""
    assert release(demand) == [(10, 1, 10), (20, 0, 5), (30, 0, 5)]


def test_parts_of_one_that_fails_release_their_modes() -> None:
    assert release(AtMost(5, rows=9)) == [(10, 0, 5), (10, 1, 5), (20, 0, 5), (30, 0, 5)]


def test_what_fails_by_its_modes_is_left_to_verification() -> None:
    assert release(AtMost(5, rows=4)) == [(10, 0, 5), (10, 1, 5), (20, 0, 5), (30, 0, 5)]
