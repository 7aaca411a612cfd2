"""Hierarchical and equal distances: kernels against the paper's formula and a transport solver."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_taxonomy as naive
from support.tables.random_tables import class_sizes, repeatable, starts_of
from tclose.data.taxonomy import build_from_mapping
from tclose.kernels.emd.ordered import ERROR_PER_STEP
from tclose.kernels.emd.tree import (
    exact_tree_emd,
    flat_emd,
    star_metric,
    tree_emds,
    tree_exceeds,
    untouched_work,
)
from tclose.kernels.emd.tree_counts import count_below
from tclose.model.distribution import TreeMetric

TINY = Fraction(1, 10**18)


@st.composite
def classified_trees(draw: st.DrawFn) -> tuple[naive.Tree, list[str], np.ndarray]:
    """A tree, a table of some of its values, class by class, and where each class begins."""
    tree = draw(naive.trees())
    values = draw(st.lists(st.sampled_from(naive.leaves(tree)), min_size=1, max_size=40))
    return tree, values, starts_of(draw(class_sizes(len(values))))


def metric_of(tree: naive.Tree, values: list[str]) -> tuple[TreeMetric, np.ndarray]:
    taxonomy = build_from_mapping(naive.to_document(tree))
    codes = taxonomy.encode(values, "c")
    return taxonomy.metric(np.bincount(codes, minlength=len(taxonomy.leaves))), codes


def emds_of(metric: TreeMetric, codes: np.ndarray, starts: np.ndarray) -> np.ndarray:
    return tree_emds(codes, starts, metric.paths, metric.weights, metric.below)


def class_values(values: list[str], starts: np.ndarray) -> list[list[str]]:
    return [values[a:b] for a, b in pairwise(starts)]


class TestPaper:
    # Li et al. 2007, section 5.3. Figure 1 is known by the distances that the text gives: flu and
    # bronchitis 1/3, flu and pulmonary embolism 2/3, flu and stomach cancer 1.
    LUNGS: naive.Tree = (
        "lungs",
        [("infections", ["flu", "pneumonia", "bronchitis"]), ("vessels", ["embolism"])],
    )
    BOWELS: naive.Tree = (
        "bowels",
        [("stomach", ["ulcer", "cancer", "gastritis"]), ("colon", ["colitis", "colon cancer"])],
    )
    TREE: naive.Tree = ("any", [LUNGS, BOWELS])
    # Its results, 0.5 and 0.278, are those for six diseases that are equally common. In Table 3
    # three of them stand twice, which makes it 4/9 and 7/27.
    UNIFORM = ("ulcer", "gastritis", "cancer", "flu", "bronchitis", "pneumonia")
    TABLE_3 = (*UNIFORM, "gastritis", "bronchitis", "cancer")
    SIMILAR, MIXED = ("ulcer", "gastritis", "cancer"), ("ulcer", "cancer", "pneumonia")

    @pytest.mark.parametrize(
        ("members", "table", "emd"),
        [
            (SIMILAR, UNIFORM, Fraction(1, 2)),
            (MIXED, UNIFORM, Fraction(5, 18)),
            (("gastritis", "flu", "bronchitis"), UNIFORM, Fraction(5, 18)),
            (SIMILAR, TABLE_3, Fraction(4, 9)),
            (MIXED, TABLE_3, Fraction(7, 27)),
        ],
    )
    def test_diseases(self, members: tuple, table: tuple, emd: Fraction) -> None:
        metric, _ = metric_of(self.TREE, list(table))
        codes = build_from_mapping(naive.to_document(self.TREE)).encode(members, "disease")
        assert naive.hierarchical_emd(self.TREE, members, table) == emd
        assert exact_tree_emd(codes, metric) == emd
        assert emds_of(metric, codes, starts_of([3])) == pytest.approx(float(emd), abs=1e-15)


class TestHierarchicalDistance:
    @repeatable
    @given(classified_trees())
    def test_equals_the_formula_of_the_paper(self, case: tuple) -> None:
        tree, values, starts = case
        metric, codes = metric_of(tree, values)
        emds = emds_of(metric, codes, starts)
        for i, members in enumerate(class_values(values, starts)):
            expected = naive.hierarchical_emd(tree, members, values)
            steps = len(members) * metric.paths.shape[1] + 8
            assert abs(Fraction(emds[i]) - expected) <= Fraction(ERROR_PER_STEP) * steps
            assert exact_tree_emd(codes[starts[i] : starts[i + 1]], metric) == expected

    @repeatable
    @given(classified_trees())
    def test_is_the_least_work_of_any_transport(self, case: tuple) -> None:
        tree, values, starts = case
        metric, codes = metric_of(tree, values)
        expected = [
            naive.transport(members, values, lambda a, b: naive.distance(tree, a, b))
            for members in class_values(values, starts)
        ]
        assert emds_of(metric, codes, starts) == pytest.approx(expected, abs=1e-9)

    @repeatable
    @given(classified_trees())
    def test_of_a_union_is_no_larger_than_the_weighted_mean(self, case: tuple) -> None:
        """Li et al. 2007, section 3, Fact 2."""
        tree, values, starts = case
        metric, codes = metric_of(tree, values)
        for a, b in pairwise(np.split(codes, starts[1:-1])):
            emd_a, emd_b, emd = (
                exact_tree_emd(part, metric) for part in (a, b, np.concatenate([a, b]))
            )
            assert emd <= (a.size * emd_a + b.size * emd_b) / (a.size + b.size) <= 1


class TestEqualDistance:
    @repeatable
    @given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.data())
    def test_is_half_the_sum_of_differences(self, values: list, data: st.DataObject) -> None:
        starts = starts_of(data.draw(class_sizes(len(values))))
        codes = np.array(values, dtype=np.int64)
        metric = star_metric(np.bincount(codes, minlength=12))
        emds = emds_of(metric, codes, starts)
        for i, members in enumerate(class_values(values, starts)):
            expected = naive.equal_emd(members, values)
            assert exact_tree_emd(codes[starts[i] : starts[i + 1]], metric) == expected
            assert emds[i] == pytest.approx(float(expected), abs=1e-13)

    def test_is_that_of_a_taxonomy_of_one_level(self) -> None:
        counts = np.array([5, 1, 0, 4])
        star, flat = (
            star_metric(counts),
            build_from_mapping({"*": ["a", "b", "c", "d"]}).metric(counts),
        )
        assert star.paths.tolist() == flat.paths.tolist()
        assert star.weights.tolist() == flat.weights.tolist() == [0.5] * 4 + [0.0]
        assert star.below.tolist() == flat.below.tolist() == [5, 1, 0, 4, 10]


class TestClasses:
    def test_order_within_a_class_and_neighbours_change_nothing(self) -> None:
        metric = star_metric(np.array([3, 2, 2]))
        codes = np.array([0, 0, 1, 2, 0, 1, 2])
        both = emds_of(metric, codes, starts_of([4, 3]))
        turned = emds_of(
            metric, np.concatenate([codes[4:][::-1], codes[:4][::-1]]), starts_of([3, 4])
        )
        assert both.tolist() == turned[::-1].tolist()

    def test_the_whole_table_is_at_zero(self) -> None:
        codes = np.array([0, 1, 1, 2, 2, 2, 2])
        metric = star_metric(np.bincount(codes))
        assert emds_of(metric, codes, starts_of([7])) == pytest.approx([0], abs=1e-15)
        assert exact_tree_emd(codes, metric) == 0

    def test_an_empty_class_has_no_distance_and_exceeds_every_limit(self) -> None:
        codes, starts = np.array([0, 1, 1]), np.array([0, 0, 3, 3])
        metric = star_metric(np.bincount(codes))
        emds = emds_of(metric, codes, starts)
        assert np.isnan(emds).tolist() == [True, False, True]
        assert tree_exceeds(emds, Fraction(1), codes, starts, metric).tolist() == [0, 2]

    def test_counts_beyond_int64_products_stay_exact(self) -> None:
        counts = {"a": 2**50 + 1, "b": 2**49 - 3, "c": 7}
        codes = np.repeat(np.arange(3), [9_000, 1, 2_000])
        members = {"a": 9_000, "b": 1, "c": 2_000}
        metric = star_metric(np.array(list(counts.values())))
        assert codes.size * int(metric.below.max()) > 2**63
        expected = naive.equal_emd(members, counts)
        assert exact_tree_emd(codes, metric) == expected
        assert emds_of(metric, codes, starts_of([codes.size])) == pytest.approx(
            float(expected), abs=1e-12
        )

    def test_counts_below_nodes(self) -> None:
        paths = np.array([[0, 3, 4], [1, 3, 4], [2, 4, -1]])
        assert count_below(paths, np.array([5, 6, 7]), 5).tolist() == [5, 6, 7, 11, 18]


class TestLimit:
    @repeatable
    @given(classified_trees(), st.data())
    def test_is_decided_as_in_exact_arithmetic(self, case: tuple, data: st.DataObject) -> None:
        tree, values, starts = case
        metric, codes = metric_of(tree, values)
        exact = [naive.hierarchical_emd(tree, c, values) for c in class_values(values, starts)]
        difference = data.draw(st.sampled_from([-TINY, Fraction(0), TINY]))
        limit = data.draw(st.sampled_from(exact)) + difference
        above = tree_exceeds(emds_of(metric, codes, starts), limit, codes, starts, metric)
        assert above.tolist() == [i for i, emd in enumerate(exact) if emd > limit]

    @pytest.mark.parametrize("towards", [0, 1])
    def test_does_not_hang_on_the_float_at_the_limit(self, towards: int) -> None:
        tree: naive.Tree = ("any", [("x", ["a", "b", "c"]), "d"])
        values = ["a", "b", "d", "a", "c", "d", "d", "b", "a", "c"]
        metric, codes = metric_of(tree, values)
        starts = starts_of([3, 3, 4])
        exact = [naive.hierarchical_emd(tree, c, values) for c in class_values(values, starts)]
        wrong = np.nextafter(emds_of(metric, codes, starts), towards)
        for i, limit in enumerate(exact):
            above = tree_exceeds(wrong, limit, codes, starts, metric)
            assert above.tolist() == [j for j, emd in enumerate(exact) if emd > limit]
            assert i in tree_exceeds(wrong, limit - TINY, codes, starts, metric)


class TestFlatTrees:
    @repeatable
    @given(st.lists(st.integers(0, 9), min_size=1, max_size=50), st.data())
    def test_are_measured_to_the_last_bit_as_any_tree(self, values, data) -> None:
        _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
        metric, starts = star_metric(counts), starts_of(data.draw(class_sizes(len(values))))
        table = metric.paths, metric.weights, metric.below, int(counts.sum())
        untouched = untouched_work(metric.weights, metric.below)
        found = [flat_emd(np.sort(codes[a:b]), table, untouched) for a, b in pairwise(starts)]
        assert found == emds_of(metric, codes, starts).tolist()

    def test_an_empty_class_is_at_no_distance(self) -> None:
        metric = star_metric(np.array([3, 4]))
        table = metric.paths, metric.weights, metric.below, 7
        assert np.isnan(flat_emd(np.empty(0, np.int64), table, 0.5))
