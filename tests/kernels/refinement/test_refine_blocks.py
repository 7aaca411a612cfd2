"""One round: groups of classes are searched each for itself, and nothing that is kept gets lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_refine
from support.tables.classed_records import ClassedRecords, classed_records
from support.tables.random_tables import repeatable
from support.tables.searched_groups import check_groups, groupings, search_groups
from tclose.kernels.aggregate import group_by_label
from tclose.kernels.refinement.refine_blocks import HowSearched, measure_classes, refine_blocks
from tclose.kernels.refinement.search import LEAST_GAIN

# Partners, searches, sweeps.
hows = st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(0, 2))


def run_round(
    records: ClassedRecords, groups: list[list[int]], how: tuple[int, int, int]
) -> tuple[ClassedRecords, int]:
    def search(arrays, labels, by_class, in_groups) -> int:
        searched = HowSearched(records.k, *how)
        return refine_blocks(arrays, labels, by_class, in_groups, searched, LEAST_GAIN)

    return search_groups(records, groups, search)


class TestRound:
    @repeatable
    @given(classed_records(n_classes=st.integers(1, 8)), hows, st.data())
    def test_of_groups(
        self, before: ClassedRecords, how: tuple[int, int, int], data: st.DataObject
    ) -> None:
        groups = data.draw(groupings(before.n_classes))
        after, n_exchanges = run_round(before, groups, how)
        assert check_groups(before, after, groups) == (n_exchanges > 0)

    def test_what_a_release_would_lose_more_by_is_not_kept(self) -> None:
        """Fewer strays by half the mean 0/1 distance, more by the mode: all stays as it was."""
        found = 0
        for seed in range(400):
            records = nominal_example(seed)
            after, n_exchanges = run_round(records, [[0, 1]], (1, 1, 2))
            searched = [naive_refine.searched_loss(records, c.classes) for c in (records, after)]
            released = [naive_refine.released_loss(records, c.classes) for c in (records, after)]
            assert searched[1] <= searched[0]
            assert released[1] <= released[0]
            assert (released[1] < released[0]) == (n_exchanges > 0)
            found += n_exchanges > 0
        assert found > 100

    @repeatable
    @given(classed_records(n_classes=st.integers(1, 8), max_attributes=0))
    def test_measure_is_the_loss_of_a_release(self, records: ClassedRecords) -> None:
        values, levels, weights = records.arrays()[:3]
        by_class = group_by_label(records.labels, records.n_classes)
        loss = measure_classes(values, levels, weights, records.n_levels, *by_class).sum()
        expected = naive_refine.released_loss(records, records.classes)
        assert loss == pytest.approx(float(expected), abs=1e-11)


def nominal_example(seed: int) -> ClassedRecords:
    """Two classes of five, two nominal quasi-identifiers of four categories."""
    rng = np.random.default_rng(seed)
    return ClassedRecords(
        np.empty((0, 10)),
        rng.integers(0, 4, (2, 10), dtype=np.int32),
        4,
        np.empty((0, 10), np.int64),
        (),
        (),
        np.repeat([0, 1], 5),
        4,
    )
