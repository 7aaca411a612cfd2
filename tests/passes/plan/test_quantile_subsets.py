"""Subsets that follow from a class size, and the cells of further attributes."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.tables.random_tables import (
    confidential_values,
    distribution_of,
    repeatable,
)
from tclose.kernels.clustering import assign_subsets as kernels
from tclose.model.distribution import make_distribution
from tclose.passes.plan.class_sizes import choose_class_size
from tclose.passes.plan.quantile_subsets import cut_cells, cut_subsets


class TestSubsets:
    @repeatable
    @given(st.integers(1, 2_000), st.data())
    def test_of_fewer_clusters_leave_the_rest_to_the_middle(
        self, n_records: int, data: st.DataObject
    ) -> None:
        size = data.draw(st.integers(1, min(n_records, 40)))
        n_clusters = data.draw(st.integers(1, n_records // size))
        sizes = kernels.subset_sizes(n_records, size, n_clusters).tolist()
        middle = {(size - 1) // 2, size // 2}
        assert sum(sizes) == n_records
        assert all(n == n_clusters for s, n in enumerate(sizes) if s not in middle)
        central = [sizes[s] for s in sorted(middle)]
        assert 0 <= central[0] - central[-1] <= 1
        if n_clusters == n_records // size:
            assert sizes == naive.subset_sizes(n_records, size)

    @repeatable
    @given(confidential_values, st.data())
    def test_add_up(self, values: list[int], data: st.DataObject) -> None:
        size = data.draw(st.integers(1, len(values)))
        table, _ = distribution_of(values)
        subsets, n_clusters = cut_subsets(size, table, len(values), 0)
        assert n_clusters == len(values) // size
        assert subsets.sizes.tolist() == naive.subset_sizes(len(values), size)
        assert (n_clusters * subsets.take + subsets.extras).tolist() == subsets.sizes.tolist()
        assert subsets.take.tolist() == [1] * size

    def test_values_that_a_release_partition_lacks_are_skipped(self) -> None:
        table = make_distribution(np.arange(5), [0, 2, 0, 0, 2])
        subsets, _ = cut_subsets(2, table, 4, 0)
        assert subsets.cut_codes.tolist() == [4]
        assert subsets.tie_codes.size == 0

    def test_without_confidential_attribute_are_one(self) -> None:
        subsets, n_clusters = cut_subsets(4, None, 11, 0)
        assert n_clusters == 2
        assert subsets.sizes.tolist() == [11]
        assert subsets.take.tolist() == [4]
        assert subsets.extras.tolist() == [3]
        assert subsets.tie_rule.shape == (0, 4)

    @repeatable
    @given(st.integers(1, 300), st.data())
    def test_records_before_a_cluster_are_dealt_one_by_one(
        self, n_records: int, data: st.DataObject
    ) -> None:
        k = data.draw(st.integers(1, n_records))
        size = choose_class_size(n_records, k, []).adjusted
        table = data.draw(st.sampled_from([None, distribution_of(range(n_records))[0]]))
        subsets, n_clusters = cut_subsets(size, table, n_records, 0)
        before = [subsets.records_before(i, n_clusters) for i in range(n_clusters + 1)]
        take, extras = subsets.take.tolist(), subsets.extras.tolist()
        assert [rows.tolist() for rows in before] == [
            naive.records_before(take, extras, n_clusters, i) for i in range(n_clusters + 1)
        ]
        assert before[-1].tolist() == subsets.sizes.tolist()
        for a, b in pairwise(before):
            assert ((b - a) >= subsets.take).all()
            assert (b - a).sum() - subsets.take.sum() in (0, 1)


class TestCells:
    def test_quantiles_of_each_further_attribute(self) -> None:
        tables = [distribution_of(range(80))[0], distribution_of([0] * 79 + [1])[0]]
        cells = cut_cells(tables)
        assert [cuts.tolist() for cuts in cells.cut_codes] == [[20, 40, 60], []]
        assert cells.n_cells == 4
        codes = np.array([[0, 0, 0, 0, 0], [0, 19, 20, 59, 60], [0, 1, 0, 1, 0]])
        assert cells.find(codes, subset_attribute=0).tolist() == [0, 0, 1, 2, 3]

    @given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(0, 2))
    def test_equal_values_share_a_cell(self, values: list[int], subset_attribute: int) -> None:
        table, codes = distribution_of(values)
        cells = cut_cells([table, table])
        found = cells.find(np.array([codes] * 3), subset_attribute)
        assert found.min() >= 0
        assert found.max() < cells.n_cells
        assert len(set(zip(codes.tolist(), found.tolist(), strict=True))) == len(set(values))

    def test_one_attribute_needs_none(self) -> None:
        cells = cut_cells([])
        assert cells.n_cells == 1
        assert cells.find(np.zeros((1, 3), np.int64), 0).tolist() == [0, 0, 0]
        assert cells.find(np.zeros((0, 3), np.int64), 0).tolist() == [0, 0, 0]
