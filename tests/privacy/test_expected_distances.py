"""Distances of clusters that are dealt one record of each subset, by the equal distance."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_taxonomy
from support.tables.random_tables import distribution_of, repeatable, seeds
from tclose.kernels.emd.tree import star_metric
from tclose.privacy.t_closeness import expected_emd, rounding_work


class TestDealing:
    """Clusters of one record per subset by the equal distance: every one of them is made."""

    @repeatable
    @given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 9), seeds)
    def test_mean_is_that_of_all_clusters(
        self, n_subsets: int, per_subset: int, n_values: int, seed: int
    ) -> None:
        values = np.random.default_rng(seed).integers(0, n_values, n_subsets * per_subset)
        values = np.unique(values, return_inverse=True)[1]
        table = replace(distribution_of(values)[0], metric=star_metric(np.bincount(values)))
        strata = np.sort(values).reshape(n_subsets, per_subset).tolist()
        texts = [str(v) for v in values]
        emds = [
            float(naive_taxonomy.equal_emd([str(v) for v in cluster], texts))
            for cluster in product(*strata)
        ]
        mean, deviation = expected_emd(table, n_subsets)
        assert mean == pytest.approx(np.mean(emds), abs=1e-9)
        assert deviation >= 0
        assert table.metric is not None
        assert mean >= rounding_work(table.metric, n_subsets) - 1e-9

    def test_spread_is_not_below_what_is_drawn(self) -> None:
        rng = np.random.default_rng(3)
        counts = np.sort(rng.zipf(1.6, 900).clip(max=600))[::-1]
        table = replace(distribution_of(np.repeat(np.arange(900), counts))[0])
        table = replace(table, metric=star_metric(counts))
        n_subsets, codes = 60, np.repeat(np.arange(900), counts)
        strata = np.array_split(codes, n_subsets)
        drawn = np.array([[rng.choice(s) for s in strata] for _ in range(300)])
        shares = np.array([np.bincount(c, minlength=900) for c in drawn]) / n_subsets
        emds = np.abs(shares - counts / counts.sum()).sum(axis=1) / 2
        mean, deviation = expected_emd(table, n_subsets)
        assert mean == pytest.approx(emds.mean(), rel=0.01)
        assert deviation >= 0.9 * emds.std()
