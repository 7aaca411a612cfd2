"""Records that are left: ranked by distance and row, whatever was exchanged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.tables.random_tables import quasi_identifiers, repeatable, seeds
from tclose.kernels.clustering.live_records import (
    gather_remaining,
    measure_from_average,
    nearest_remaining,
    rank_remaining,
    take_out,
)


@st.composite
def partly_taken(draw: st.DrawFn) -> tuple[tuple[np.ndarray, np.ndarray], list[int]]:
    """Quasi-identifiers, and the rows that are taken out one group after another."""
    n_records = draw(st.integers(2, 400))
    numeric, nominal, _ = draw(quasi_identifiers(n_records))
    rng = np.random.default_rng(draw(seeds))
    if draw(st.booleans()) and numeric.size:
        numeric[0, rng.integers(n_records)] = 2.0**20  # all others are in one range then
    taken = rng.permutation(n_records)[: draw(st.integers(0, n_records - 1))]
    return (numeric, nominal), taken.tolist()


class TestOrder:
    @pytest.mark.nightly
    @repeatable
    @given(partly_taken())
    def test_is_by_distance_to_the_average_of_those_left_and_by_row(self, case) -> None:
        (numeric, nominal), taken = case
        records = gather_remaining(numeric, nominal, np.ones(len(nominal)))
        n_left, labels = numeric.shape[1], np.full(numeric.shape[1], -1)
        for some in (taken[::2], taken[1::2]):
            at = np.flatnonzero(np.isin(records.rows, some))
            n_left = take_out(records, n_left, at, labels, 7)
        assert np.flatnonzero(labels == 7).tolist() == sorted(taken)
        left = sorted(set(range(numeric.shape[1])) - set(taken))
        assert sorted(records.rows[:n_left].tolist()) == left

        measure_from_average(records, n_left)
        point = naive.average(numeric, nominal, left)
        distances = [naive.distance(numeric[:, i], nominal[:, i], *point) for i in left]
        expected = [i for _, i in sorted(zip(distances, left, strict=True))]
        assert records.rows[rank_remaining(records, n_left)].tolist() == expected
        n_wanted = (n_left + 1) // 2
        nearest = nearest_remaining(records, n_left, n_wanted)
        assert records.rows[nearest].tolist() == expected[:n_wanted]
