"""Algorithm 1's merging: the classes of the listing, all within the limits."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.naive import naive_microaggregation
from support.tables.microdata import Microdata, microdata
from support.tables.random_tables import class_sizes, repeatable, seeds
from tclose.kernels.clustering.algorithm1 import (
    merge_by_excess,
    merge_farthest,
    ordered_excess,
)
from tclose.kernels.emd.ordered import ERROR_PER_STEP


@st.composite
def classed(draw: st.DrawFn) -> tuple[Microdata, np.ndarray]:
    """Microdata and a class of each record."""
    table = draw(microdata())
    sizes = draw(class_sizes(table.n_records))
    rng = np.random.default_rng(draw(seeds))
    return table, rng.permutation(np.repeat(np.arange(len(sizes)), sizes))


def merge(table: Microdata, labels: np.ndarray) -> list[int]:
    return merge_farthest(table.numeric, table.nominal, labels, table.targets()).tolist()


class TestTwin:
    @repeatable
    @given(classed())
    def test_makes_the_classes_of_the_listing(self, case) -> None:
        table, labels = case
        merged = merge_farthest(table.numeric, table.nominal, labels, table.targets())
        assert merged.dtype == np.int64
        assert merged.tolist() == naive_microaggregation.merge_farthest(
            table.numeric, table.nominal, labels, table.excess
        )

    @repeatable
    @given(classed())
    def test_excess_is_that_of_the_definition_and_a_margin(self, case) -> None:
        table, labels = case
        for rows in naive.groups(labels):
            found = Fraction(float(ordered_excess(np.array(rows), table.targets())))
            error = Fraction(ERROR_PER_STEP) * (len(rows) + 8)
            assert 0 <= found - table.excess.of(rows) <= 2 * error


class TestProperties:
    @repeatable
    @given(classed())
    def test_ends_with_all_classes_within(self, case) -> None:
        table, labels = case
        merged = naive.groups(merge(table, labels))
        assert len(merged) == 1 or all(table.excess.of(rows) <= 0 for rows in merged)

    @repeatable
    @given(classed())
    def test_unites_whole_classes_and_numbers_them_without_gaps(self, case) -> None:
        table, labels = case
        merged = merge(table, labels)
        assert sorted(set(merged)) == list(range(max(merged) + 1))
        for rows in naive.groups(labels):
            assert len({merged[i] for i in rows}) == 1
        first_seen = [merged[rows[0]] for rows in naive.groups(labels)]
        assert list(dict.fromkeys(first_seen)) == sorted(set(merged))

    @repeatable
    @given(classed())
    def test_limits_just_below_what_classes_have_are_not_met(self, case) -> None:
        """A class at its limit is within; one above it by less than a float can tell is not."""
        table, labels = case
        largest = max(table.excess.of(rows) for rows in naive.groups(labels))
        limits = tuple(limit + largest for limit in table.limits)
        merged = merge(
            table.with_limits(*(limit - Fraction(1, 10**18) for limit in limits)), labels
        )
        before = naive.groups(labels)
        assert len(before) == 1 or len(naive.groups(merged)) < len(before)

    @repeatable
    @given(classed())
    def test_leaves_its_input_alone(self, case) -> None:
        table, labels = case
        arrays = [table.numeric, table.nominal, labels]
        before = [array.copy() for array in arrays]
        merge(table, labels)
        assert [array.tolist() for array in arrays] == [array.tolist() for array in before]


class TestChoice:
    def test_farthest_goes_first_and_to_the_nearest_centre(self) -> None:
        # Excess 3, 1, 2, 0 on a line: class 0 takes in class 1, which is enough for both.
        found = self.merge_by_sizes([0, 4, 9, 10], {(0,): 3, (1,): 1, (2,): 0, (3,): 0})
        assert found == [0, 0, 1, 2]

    def test_centres_weigh_classes_by_their_records(self) -> None:
        # Three records at 0 and one at 8 have their centre at 2: 5 is nearer to it than -2.
        labels = np.array([0, 0, 0, 1, 2, 3])
        numeric = np.array([[0.0, 0.0, 0.0, 8.0, 5.0, -2.0]])
        steps = []

        def excess_of(rows: np.ndarray) -> float:
            steps.append(sorted(rows.tolist()))
            return 1.0 if 3 in rows and rows.size < 5 else 0.0

        # 8 is nearest to 5; their centre 6.5 is nearest to the three at 0, not to the one at -2.
        merge_by_excess(numeric, np.empty((0, 6), np.int32), labels, excess_of)
        assert steps[4:] == [[3, 4], [0, 1, 2, 3, 4]]

    def test_any_distance_will_do_and_one_is_taken_per_merger(self) -> None:
        counted = []

        def too_small(rows: np.ndarray) -> float:
            counted.append(rows.size)
            return 3.0 - rows.size

        labels = np.arange(9)
        merged = merge_by_excess(
            np.arange(9.0)[np.newaxis], np.empty((0, 9), np.int32), labels, too_small
        )
        assert np.bincount(merged).min() >= 3
        assert len(counted) == 9 + (9 - int(merged.max()) - 1)

    def test_category_of_a_union_is_its_commonest(self) -> None:
        nominal = np.array([[0, 0, 1, 1, 1, 0]], dtype=np.int32)
        labels = np.array([0, 0, 1, 1, 2, 3])

        def excess_of(rows: np.ndarray) -> float:
            return 5.0 - rows.size if 0 in rows else -1.0

        # 00 is nearest to the last 0; 000 then is as far from 11 and 1; then 000 11 stays a 0.
        merged = merge_by_excess(np.empty((0, 6)), nominal, labels, excess_of)
        assert merged.tolist() == [0, 0, 0, 0, 1, 0]

    @staticmethod
    def merge_by_sizes(places: list[float], excess: dict[tuple[int, ...], float]) -> list[int]:
        def excess_of(rows: np.ndarray) -> float:
            return excess.get(tuple(rows.tolist()), 0.0)

        n_records = len(places)
        return merge_by_excess(
            np.array([places], dtype=np.float64),
            np.empty((0, n_records), np.int32),
            np.arange(n_records),
            excess_of,
        ).tolist()
