"""Ordered distances: kernels against the definition, decisions at the limit without rounding."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from support.naive import naive_kernels as naive
from support.tables.random_tables import (
    class_sizes,
    confidential_values,
    distribution_of,
    repeatable,
    starts_of,
)
from tclose.kernels.emd.ordered import (
    ERROR_PER_STEP,
    class_emds,
    exact_emd,
    exceeds,
    ordered_emd,
)
from tclose.model.distribution import make_distribution

TINY = Fraction(1, 10**18)


@st.composite
def classified_tables(draw: st.DrawFn) -> tuple[list[int], np.ndarray]:
    """Confidential values of a table, class by class, and where each class begins."""
    values = draw(confidential_values)
    return values, starts_of(draw(class_sizes(len(values))))


def class_values(values: list[int], starts: np.ndarray) -> list[list[int]]:
    return [values[a:b] for a, b in pairwise(starts)]


def error_bound(starts: np.ndarray) -> list[Fraction]:
    """What `exceeds` takes the float distance to err by at most."""
    return [Fraction(ERROR_PER_STEP) * (int(size) + 8) for size in np.diff(starts)]


class TestPaper:
    # Li et al. 2007, section 5.3: salaries 3k .. 11k, whose distances are given as 0.375 and 0.167.
    SALARIES = tuple(range(3, 12))

    @pytest.mark.parametrize(
        ("members", "emd"),
        [((3, 4, 5), Fraction(3, 8)), ((6, 8, 11), Fraction(1, 6)), ((7,), Fraction(5, 18))],
    )
    def test_salaries(self, members: tuple[int, ...], emd: Fraction) -> None:
        table, _ = distribution_of(self.SALARIES)
        codes = np.searchsorted(table.values, members).astype(np.int64)
        assert naive.ordered_emd(members, self.SALARIES) == emd
        assert exact_emd(codes, table.cumulative) == emd
        assert ordered_emd(codes, table.cumulative, table.prefix) == pytest.approx(
            float(emd), rel=4 * np.finfo(float).eps
        )

    @repeatable
    @given(st.integers(1, 8), st.integers(2, 9), st.randoms(use_true_random=False))
    def test_one_record_of_each_subset_is_within_proposition_2(
        self, n_clusters: int, size: int, random
    ) -> None:
        n_records = n_clusters * size
        table, _ = distribution_of(range(n_records))
        members = [s * n_clusters + random.randrange(n_clusters) for s in range(size)]
        lowest = [s * n_clusters for s in range(size)]
        bound = naive.emd_bound(n_records, size)
        assert exact_emd(np.array(members), table.cumulative) <= bound
        assert exact_emd(np.array(lowest), table.cumulative) == bound


class TestDistances:
    @repeatable
    @given(classified_tables())
    def test_equal_the_definition(self, case: tuple[list[int], np.ndarray]) -> None:
        values, starts = case
        table, codes = distribution_of(values)
        emds = class_emds(codes, starts, table.cumulative, table.prefix)
        for emd, members, error in zip(
            emds, class_values(values, starts), error_bound(starts), strict=True
        ):
            expected = naive.ordered_emd(members, values)
            assert abs(Fraction(emd) - expected) <= error
            assert exact_emd(np.searchsorted(table.values, members), table.cumulative) == expected

    @repeatable
    @given(classified_tables())
    def test_equal_scipys_transport_over_ranks(self, case: tuple[list[int], np.ndarray]) -> None:
        values, starts = case
        table, codes = distribution_of(values)
        m = table.values.size
        emds = class_emds(codes, starts, table.cumulative, table.prefix)
        expected = [
            wasserstein_distance(codes[a:b], np.arange(m), v_weights=table.counts) / max(m - 1, 1)
            for a, b in pairwise(starts)
        ]
        assert emds == pytest.approx(expected, rel=1e-13, abs=1e-13)

    @repeatable
    @given(
        st.lists(st.integers(1, 2**48), min_size=2, max_size=40),
        st.lists(st.integers(0, 10**6), min_size=1, max_size=40),
    )
    def test_err_no_more_than_assumed_on_huge_tables(
        self, counts: list[int], picks: list[int]
    ) -> None:
        table = make_distribution(np.arange(len(counts)), counts)
        codes = np.sort(np.array(picks, dtype=np.int64) % len(counts))
        expected = naive.ordered_emd(codes.tolist(), dict(enumerate(counts)))
        emd = ordered_emd(codes, table.cumulative, table.prefix)
        assert abs(Fraction(emd) - expected) <= error_bound(np.array([0, codes.size]))[0]
        assert exact_emd(codes, table.cumulative) == expected

    def test_counts_beyond_int64_products_stay_exact(self) -> None:
        counts = [2**45 + 1, 2**50 - 3, 7]
        table = make_distribution(np.arange(3), counts)
        codes = np.repeat(np.arange(3), [9_000, 1, 2_000])
        members = {0: 9_000, 1: 1, 2: 2_000}
        assert codes.size * table.n_records > 2**63
        assert exact_emd(codes, table.cumulative) == naive.ordered_emd(
            members, dict(enumerate(counts))
        )

    def test_order_within_a_class_and_its_input_are_untouched(self) -> None:
        table, codes = distribution_of([5, 1, 3, 3, 9, 1, 2])
        starts, before = starts_of([4, 3]), codes.copy()
        emds = class_emds(codes, starts, table.cumulative, table.prefix)
        assert codes.tolist() == before.tolist()
        turned = np.concatenate([codes[:4][::-1], codes[4:][::-1]])
        assert class_emds(turned, starts, table.cumulative, table.prefix).tolist() == emds.tolist()

    def test_whole_table_is_at_zero(self) -> None:
        table, codes = distribution_of([3, 1, 4, 1, 5, 9, 2, 6])
        assert class_emds(codes, starts_of([8]), table.cumulative, table.prefix).tolist() == [0.0]

    def test_one_distinct_value_is_at_zero(self) -> None:
        table, codes = distribution_of([7, 7, 7])
        assert class_emds(codes, starts_of([1, 2]), table.cumulative, table.prefix).tolist() == [
            0.0,
            0.0,
        ]
        assert exact_emd(codes[:1], table.cumulative) == 0

    @pytest.mark.parametrize("values", [[1, 2, 3], [7, 7, 7]])
    def test_empty_class_has_no_distance_and_exceeds_every_limit(self, values: list[int]) -> None:
        table, codes = distribution_of(values)
        starts = np.array([0, 0, 3, 3])
        emds = class_emds(codes, starts, table.cumulative, table.prefix)
        assert np.isnan(emds).tolist() == [True, False, True]
        above = exceeds(emds, Fraction(1), codes, starts, table.cumulative)
        assert above.tolist() == [0, 2]


class TestUnions:
    @repeatable
    @given(classified_tables())
    def test_are_no_farther_than_the_weighted_mean(
        self, case: tuple[list[int], np.ndarray]
    ) -> None:
        """Li et al. 2007, section 3, Fact 2."""
        values, starts = case
        table, codes = distribution_of(values)
        parts = np.split(codes, starts[1:-1])
        for a, b in pairwise(parts):
            emd_a, emd_b, emd = (
                exact_emd(part, table.cumulative) for part in (a, b, np.concatenate([a, b]))
            )
            assert emd <= (a.size * emd_a + b.size * emd_b) / (a.size + b.size) <= max(emd_a, emd_b)


class TestLimit:
    @repeatable
    @given(classified_tables(), st.data())
    def test_is_decided_as_in_exact_arithmetic(
        self, case: tuple[list[int], np.ndarray], data: st.DataObject
    ) -> None:
        values, starts = case
        table, codes = distribution_of(values)
        exact = [naive.ordered_emd(members, values) for members in class_values(values, starts)]
        difference = data.draw(st.sampled_from([-TINY, Fraction(0), TINY]))
        limit = data.draw(st.sampled_from(exact)) + difference
        emds = class_emds(codes, starts, table.cumulative, table.prefix)
        above = exceeds(emds, limit, codes, starts, table.cumulative)
        assert above.tolist() == [i for i, emd in enumerate(exact) if emd > limit]

    @repeatable
    @given(classified_tables(), st.fractions(0, 1))
    def test_anywhere(self, case: tuple[list[int], np.ndarray], limit: Fraction) -> None:
        values, starts = case
        table, codes = distribution_of(values)
        exact = [naive.ordered_emd(members, values) for members in class_values(values, starts)]
        emds = class_emds(codes, starts, table.cumulative, table.prefix)
        above = exceeds(emds, limit, codes, starts, table.cumulative)
        assert above.tolist() == [i for i, emd in enumerate(exact) if emd > limit]

    def test_does_not_hang_on_the_float_at_the_limit(self) -> None:
        table, codes = distribution_of(range(10))
        starts = starts_of([3, 3, 4])
        exact = [exact_emd(part, table.cumulative) for part in np.split(codes, starts[1:-1])]
        emds = class_emds(codes, starts, table.cumulative, table.prefix)
        for wrong in (np.nextafter(emds, 0), np.nextafter(emds, 1)):
            above = exceeds(wrong, exact[1], codes, starts, table.cumulative)
            assert above.tolist() == [i for i, emd in enumerate(exact) if emd > exact[1]]
            above = exceeds(wrong, exact[1] - TINY, codes, starts, table.cumulative)
            assert 1 in above
