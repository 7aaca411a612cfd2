"""Class sizes of the paper, and the subsets that follow from them."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pipeline.stages.subsets import ClassSize, choose_class_size, cut_subsets
from support import naive
from support.tables import confidential_values, distribution_from, distribution_of, repeatable

TINY = Fraction(1, 10**18)


class TestClassSize:
    @pytest.mark.parametrize(
        ("max_emd", "size"),
        [
            ("0.01", 49),
            ("0.05", 10),
            ("0.09", 6),
            ("0.13", 4),
            ("0.17", 3),
            ("0.21", 3),
            ("0.25", 2),
        ],
    )
    def test_of_the_papers_table(self, max_emd: str, size: int) -> None:
        """Papers/003, Table 3: minimum class sizes on 1,080 records, for k from 2 to 30."""
        assert choose_class_size(1_080, 2, [Fraction(max_emd)]).adjusted == size
        for k in (5, 10, 15, 20, 25, 30):
            assert choose_class_size(1_080, k, [Fraction(max_emd)]).adjusted == max(size, k)

    @repeatable
    @given(st.integers(2, 500), st.integers(1, 12), st.fractions(0, 1))
    def test_is_the_smallest_within_proposition_2(
        self, n_records: int, k: int, max_emd: Fraction
    ) -> None:
        assume(k <= n_records)
        chosen = choose_class_size(n_records, k, [max_emd])
        assert chosen.adjusted == naive.class_size(n_records, k, max_emd)

    @repeatable
    @given(st.integers(2, 5_000), st.integers(1, 5_000))
    def test_is_exact_at_the_bound(self, n_records: int, size: int) -> None:
        assume(size < n_records)
        bound = naive.emd_bound(n_records, size)
        assert choose_class_size(n_records, 1, [bound]).by_distance == size
        assert choose_class_size(n_records, 1, [bound + TINY]).by_distance == size
        assert choose_class_size(n_records, 1, [bound - TINY]).by_distance == size + 1

    @repeatable
    @given(st.integers(1, 10**6), st.integers(1, 10**4))
    def test_leaves_fewer_records_over_than_clusters(self, n_records: int, k: int) -> None:
        assume(k <= n_records)
        size = choose_class_size(n_records, k, []).adjusted
        assert size >= k
        assert n_records % size < n_records // size
        assert n_records // size == n_records // k

    def test_smallest_t_decides(self) -> None:
        limits = [Fraction("0.25"), Fraction("0.05"), Fraction("0.17")]
        assert choose_class_size(1_080, 2, limits).adjusted == 10

    def test_no_distance_left_takes_all_records_and_one_record_is_a_class(self) -> None:
        assert choose_class_size(1_080, 2, [Fraction(0)]) == ClassSize(2, 1_080, 1_080)
        assert choose_class_size(1, 1, [Fraction(0)]) == ClassSize(1, 1, 1)

    @pytest.mark.parametrize(
        ("chosen", "line"),
        [
            (ClassSize(2, 10, 10), "10: the larger of k = 2 and 10 from eq. (3)"),
            (ClassSize(3, 0, 3), "3: k = 3, no confidential attribute"),
            (
                ClassSize(4, 1, 5),
                (
                    "5: the larger of k = 4 and 1 from eq. (3); "
                    "eq. (4) adds 1 so that the remainder fits"
                ),
            ),
        ],
    )
    def test_explains_itself(self, chosen: ClassSize, line: str) -> None:
        assert chosen.explain() == line

    def test_examples(self) -> None:
        assert choose_class_size(1_080, 2, [Fraction("0.05")]) == ClassSize(2, 10, 10)
        assert choose_class_size(1_080, 3, []) == ClassSize(3, 0, 3)
        assert choose_class_size(10, 4, [Fraction("0.9")]) == ClassSize(4, 1, 5)


class TestSubsets:
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

    def test_values_that_a_domain_lacks_are_passed_over(self) -> None:
        table = distribution_from(np.arange(5), [0, 2, 0, 0, 2])
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
