"""Partners of classes: the pull of each record is by definition, and the best come first."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_refine
from support.tables.classed_records import ClassedRecords, classed_records
from support.tables.random_tables import repeatable
from tclose.kernels.refinement.partners import (
    count_strata,
    find_partners,
    measure_promises,
    start_trying,
)

NEAR = 2e-5  # sums of single precision, of values up to 1


def promises_of(records: ClassedRecords, n_strata: int = 1) -> np.ndarray:
    """Of each pair of classes by the definition, of a class with itself nothing."""
    block, rows = records.gather()
    classes = [
        rows[block.members[0, c, :size]].tolist() for c, size in enumerate(block.sizes.tolist())
    ]
    promises = np.full((len(classes), len(classes)), -np.inf)
    for a, of_a in enumerate(classes):
        for b, of_b in enumerate(classes):
            if a != b:
                promises[a, b] = naive_refine.promise(records, of_a, of_b, n_strata)
    return promises


class TestStrata:
    @pytest.mark.parametrize(
        ("limit", "n_records", "n_strata"),
        [
            (1.0, 40, 1),
            (0.3, 40, 1),
            (0.15, 40, 2),
            (0.1, 40, 3),
            (0.05, 40, 5),  # no more than five
            (0.05, 15, 3),  # nor than the records of a class, which are three here
            (0.0, 40, 5),
            (np.inf, 40, 1),
        ],
    )
    def test_are_as_many_as_t_leaves_room_for(
        self, limit: float, n_records: int, n_strata: int
    ) -> None:
        records = ClassedRecords(
            np.zeros((1, n_records)), np.empty((0, n_records), np.int32), 1,
            np.empty((0, n_records), np.int64), (), (), np.repeat(np.arange(5), n_records // 5), 2,
        )  # fmt: skip
        block = records.gather()[0]
        block.limits[:] = limit
        assert count_strata(block) == n_strata

    @repeatable
    @given(classed_records(n_classes=st.integers(2, 6), max_size=6), st.integers(1, 4))
    def test_promises_are_those_of_the_definition(
        self, records: ClassedRecords, n_strata: int
    ) -> None:
        promises = measure_promises(records.gather()[0], n_strata)
        assert promises.dtype == np.float32
        of_two = ~np.eye(records.n_classes, dtype=bool)
        expected = promises_of(records, n_strata)[of_two]
        assert promises[of_two] == pytest.approx(expected, abs=NEAR)

    @repeatable
    @given(classed_records(n_classes=st.integers(2, 6), max_size=6), st.integers(1, 4))
    def test_promises_are_the_same_wherever_the_records_are(
        self, records: ClassedRecords, n_strata: int
    ) -> None:
        """As far from 0 as one lowest value puts all others, of which singles keep no digit."""
        far = replace(records, numeric=records.numeric + 2.0**30)
        here, there = (measure_promises(one.gather()[0], n_strata) for one in (records, far))
        of_two = ~np.eye(records.n_classes, dtype=bool)
        assert there[of_two] == pytest.approx(here[of_two], abs=NEAR)


class TestPartners:
    @repeatable
    @given(classed_records(n_classes=st.integers(1, 7), max_size=6), st.integers(1, 9))
    def test_promise_most_and_the_best_comes_first(
        self, records: ClassedRecords, n_wanted: int
    ) -> None:
        partners = find_partners(records.gather()[0], start_trying(records.n_classes), n_wanted)
        n_found = min(n_wanted, records.n_classes - 1)
        assert partners.dtype == np.int32
        assert partners.shape == (records.n_classes, n_found)
        promises = promises_of(records, count_strata(records.gather()[0]))
        for a, found in enumerate(partners.tolist()):
            assert len({*found, a}) == n_found + 1
            ranked = sorted(promises[a], reverse=True)[:n_found]
            assert promises[a, found] == pytest.approx(ranked, abs=NEAR)

    @repeatable
    @given(classed_records(n_classes=st.just(2), max_size=5, max_attributes=0))
    def test_an_exchange_saves_what_is_promised(self, records: ClassedRecords) -> None:
        a, b = records.classes
        before = naive_refine.searched_loss(records, [a, b])
        after = min(
            naive_refine.searched_loss(records, naive_refine.exchanged(a, b, ([x], [y])))
            for x in a
            for y in b
        )
        assert before - after >= naive_refine.promise(records, a, b)

    def test_of_equal_ones_the_first(self) -> None:
        records = ClassedRecords(
            np.zeros((1, 10)), np.empty((0, 10), np.int32), 1, np.empty((0, 10), np.int64), (), (),
            np.repeat(np.arange(5), 2), 2,
        )  # fmt: skip
        partners = find_partners(records.gather()[0], start_trying(5), 3)
        assert partners[0].tolist() == [1, 2, 3]
        assert partners[4].tolist() == [0, 1, 2]

    @repeatable
    @given(classed_records(n_classes=st.integers(2, 7), max_size=6), st.data())
    def test_what_was_tried_in_vain_is_passed_over(
        self, records: ClassedRecords, data: st.DataObject
    ) -> None:
        n = records.n_classes
        tried, block = start_trying(n), records.gather()[0]
        numbers = st.lists(st.integers(1, 4), min_size=n, max_size=n)
        tried.changed[:] = data.draw(numbers)
        for a in range(n):
            for b in range(a):
                tried.seen[a, b] = tried.seen[b, a] = data.draw(st.integers(0, 4))
        everybody = find_partners(block, start_trying(n), n).tolist()
        for a, found in enumerate(find_partners(block, tried, n).tolist()):
            left = [
                b for b in everybody[a] if tried.seen[a, b] < max(tried.changed[[a, b]].tolist())
            ]
            assert found == left + [-1] * (n - 1 - len(left))
