"""Distances of the confidential attributes: each by its definition, decided without rounding."""

from fractions import Fraction
from math import floor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.naive import naive_refine, naive_taxonomy
from support.tables.classed_records import (
    ClassedRecords,
    Ground,
    classed_records,
    draw_attribute,
    grounds,
)
from support.tables.random_tables import (
    class_sizes,
    repeatable,
    seeds,
    starts_of,
)
from tclose.data.taxonomy import taxonomy_of
from tclose.errors import DataError
from tclose.kernels.emd.ordered import ERROR_PER_STEP
from tclose.kernels.emd.reference import distance_to
from tclose.model.array_types import Int64
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Distance, Kind, Role
from tclose.model.distribution import Distribution, make_distribution
from tclose.passes.plan.class_sizes import mean_cluster_emd
from tclose.privacy.t_closeness import (
    class_distances,
    classes_above,
    find_above,
    make_target,
    partition_distance,
    rounding_work,
    stack_trees,
    with_metric,
)

# France and Spain, Iran and Japan: of different depths below the root.
ROWS = (
    ("France", "Europe", "any"),
    ("Spain", "Europe", "any"),
    ("Iran", "West", "Asia", "any"),
    ("Japan", "East", "Asia", "any"),
    ("Atlantis", "any"),
)
TREE = (
    "any",
    [
        ("Europe", ["France", "Spain"]),
        ("Asia", [("West", ["Iran"]), ("East", ["Japan"])]),
        "Atlantis",
    ],
)
VALUES = ["Japan", "France", "Atlantis", "Spain"]
TINY = Fraction(1, 10**18)


def column(distance: Distance | None = None, **keys) -> Column:
    attribute = Attribute("home", Role.CONFIDENTIAL, distance=distance, **keys)
    return Column(attribute, Kind.NOMINAL, pa.string())


def four_values() -> Distribution:
    return make_distribution(np.arange(4), [1, 2, 3, 4])


class TestMetric:
    def test_ordered_values_have_none(self) -> None:
        table = four_values()
        made = with_metric(
            table, Column(Attribute("x", Role.CONFIDENTIAL), Kind.NUMERIC, pa.int8()), []
        )
        assert made is table
        assert made.metric is None

    def test_nominal_values_are_equally_far(self) -> None:
        metric = with_metric(four_values(), column(), VALUES).metric
        assert metric is not None
        assert metric.paths.tolist() == [[0, 4], [1, 4], [2, 4], [3, 4]]
        assert metric.weights.tolist() == [0.5] * 4 + [0.0]
        assert metric.below.tolist() == [1, 2, 3, 4, 10]

    def test_numbers_can_be_equally_far(self) -> None:
        attribute = Attribute("x", Role.CONFIDENTIAL, distance=Distance.EQUAL)
        metric = with_metric(four_values(), Column(attribute, Kind.NUMERIC, pa.int8()), []).metric
        assert metric is not None
        assert metric.weights.tolist() == [0.5] * 4 + [0.0]

    def test_a_taxonomy_gives_the_hierarchical_distance(self) -> None:
        """Unless the policy says equal; paths stand in the values' order, not the leaves'."""
        table = with_metric(four_values(), column(taxonomy=ROWS), VALUES)
        assert table.metric is not None
        taxonomy = taxonomy_of(ROWS)
        named = [[taxonomy.name(n) for n in path if n >= 0] for path in table.metric.paths]
        assert named == [
            ["Japan", "East", "Asia", "any"],
            ["France", "Europe", "any"],
            ["Atlantis", "any"],
            ["Spain", "Europe", "any"],
        ]
        below = dict(zip(taxonomy.names, table.metric.below.tolist(), strict=True))
        assert below["Europe"] == 6
        assert (below["West"], below["Asia"], below["any"]) == (0, 1, 10)
        equal = with_metric(four_values(), column(Distance.EQUAL, taxonomy=ROWS), VALUES).metric
        assert equal is not None
        assert equal.weights.tolist() == [0.5] * 4 + [0.0]

    @repeatable
    @given(grounds, seeds)
    def test_of_two_values_is_their_distance(self, ground: Ground, seed: int) -> None:
        """Between two classes of one record each: the path along the tree.

        Li et al. 2007, section 5.2.
        """
        rng = np.random.default_rng(seed)
        table, _, drawn = draw_attribute(rng, ground, 12)
        assert table.metric is not None
        assert drawn is not None
        weights = [Fraction(int(n), table.metric.denominator) for n in table.metric.numerators]
        for i, a in enumerate(drawn.leaves):
            for j, b in enumerate(drawn.leaves):
                paths = [{n for n in table.metric.paths[x].tolist() if n >= 0} for x in (i, j)]
                way = sum((weights[n] for n in paths[0] ^ paths[1]), Fraction(0))
                assert way == (
                    Fraction(a != b)
                    if drawn.distance is Distance.EQUAL
                    else naive_taxonomy.distance(drawn.tree, a, b)
                )

    def test_a_value_that_the_taxonomy_has_not_is_refused(self) -> None:
        with pytest.raises(DataError, match="'home': 2 of its values are not in its tax") as error:
            with_metric(four_values(), column(taxonomy=ROWS), ["Mars", "France", "Venus", "Spain"])
        assert "Mars" not in str(error.value)


@st.composite
def classed_codes(draw: st.DrawFn) -> tuple[Distribution, Int64, Int64, ClassedRecords]:
    """One attribute of classed records: its table, codes class by class, and their starts."""
    records = draw(classed_records(max_attributes=2))
    assume(records.tables)
    order = [row for rows in records.classes for row in rows]
    starts = starts_of([len(rows) for rows in records.classes])
    return records.tables[0], records.codes[0][order], starts, records


class TestClasses:
    @repeatable
    @given(classed_codes())
    def test_distance_is_that_of_the_definition(self, case: tuple) -> None:
        table, codes, starts, records = case
        found = class_distances(codes, starts, table)
        for distance, rows in zip(found, records.classes, strict=True):
            assert float(distance) == pytest.approx(float(records.emd(0, rows)), abs=1e-13)

    @repeatable
    @given(classed_codes(), st.data())
    def test_limit_is_decided_as_in_exact_arithmetic(
        self, case: tuple, data: st.DataObject
    ) -> None:
        """Exactly at a class's distance, or a hair above or below."""
        table, codes, starts, records = case
        exact = [records.emd(0, rows) for rows in records.classes]
        limit = data.draw(st.sampled_from(exact)) + data.draw(st.sampled_from([-TINY, 0, TINY]))
        above = classes_above(class_distances(codes, starts, table), limit, codes, starts, table)
        assert above.tolist() == [c for c, emd in enumerate(exact) if emd > limit]

    @repeatable
    @given(classed_codes())
    def test_no_distance_is_above_every_limit(self, case: tuple) -> None:
        table, codes, starts, _ = case
        distances = class_distances(codes, starts, table)
        distances[-1] = np.nan
        last = distances.size - 1
        assert last in classes_above(distances, Fraction(1), codes, starts, table)
        empty = np.append(starts, starts[-1])
        assert np.isnan(class_distances(codes, empty, table)[-1])

    @repeatable
    @given(classed_records())
    def test_above_any_limit_is_above(self, records: ClassedRecords) -> None:
        order = np.array([row for rows in records.classes for row in rows])
        starts = starts_of([len(rows) for rows in records.classes])
        found = find_above(order, starts, records.codes, records.tables, records.max_emds)
        assert found.tolist() == [
            c
            for c, rows in enumerate(records.classes)
            if any(records.emd(a, rows) > t for a, t in enumerate(records.max_emds))
        ]

    @repeatable
    @given(classed_codes())
    def test_kernels_hold_classes_to_the_same(self, case: tuple) -> None:
        table, codes, starts, records = case
        target = make_target(table, Fraction(1, 3))
        assert target.limit == 1 / 3
        for rows, a, b in zip(records.classes, starts, starts[1:], strict=False):
            error = Fraction(ERROR_PER_STEP) * (len(rows) * 5 + 8)
            found = Fraction(distance_to(np.sort(codes[a:b]), target))
            assert abs(found - records.emd(0, rows)) <= error


class TestReleasePartitions:
    @repeatable
    @given(grounds, seeds, st.data())
    def test_distance_is_that_of_the_definition(
        self, ground: Ground, seed: int, data: st.DataObject
    ) -> None:
        """Exactly, and over the table's values, some of which the release partition has not."""
        table, codes, drawn = draw_attribute(np.random.default_rng(seed), ground, 30)
        assert drawn is not None
        size = data.draw(st.integers(1, 30))
        counts = np.bincount(codes[:size], minlength=table.values.size)
        release_partition = drawn.measure(make_distribution(np.arange(counts.size), counts))
        assert partition_distance(release_partition, table) == drawn.emd(
            codes[:size].tolist(), table
        )

    @repeatable
    @given(
        st.lists(st.tuples(st.integers(0, 2**50), st.integers(1, 2**50)), min_size=2, max_size=6)
    )
    def test_of_huge_tables(self, counts: list[tuple[int, int]]) -> None:
        """Products beyond 64 bits."""
        of_partition = [a for a, _ in counts]
        of_table = [a + b for a, b in counts]
        assume(any(of_partition))
        values = [f"v{i}" for i in range(len(counts))]
        made = [
            with_metric(make_distribution(np.arange(len(values)), of), column(), values)
            for of in (of_partition, of_table)
        ]
        expected = naive_taxonomy.equal_emd(
            dict(zip(values, of_partition, strict=True)), dict(zip(values, of_table, strict=True))
        )
        assert partition_distance(*made) == expected

    def test_a_table_is_at_zero_from_itself(self) -> None:
        table = with_metric(four_values(), column(taxonomy=ROWS), VALUES)
        assert partition_distance(table, table) == 0
        one = with_metric(make_distribution(np.arange(1), [3]), column(), ["a"])
        assert partition_distance(one, one) == 0


class TestStacking:
    @repeatable
    @given(classed_records(attributes=grounds))
    def test_nodes_above_two_values_stand_in_one_column(self, records: ClassedRecords) -> None:
        """So that an exchange changes just the columns in which its two records differ."""
        held = list(zip(records.codes, records.tables, records.limits, strict=True))
        trees = stack_trees(held, records.n_records)
        assert trees.nodes.shape == (records.n_records, trees.columns[-1])
        assert trees.limits.tolist() == list(records.limits)
        for u, (codes, table, _) in enumerate(held):
            assert table.metric is not None
            own = trees.nodes[:, trees.columns[u] : trees.columns[u + 1]]
            root = table.metric.below.size - 1
            for of_record, code in zip(own.tolist(), codes.tolist(), strict=True):
                upwards = [n for n in table.metric.paths[code].tolist() if n >= 0]
                assert upwards[-1] == root
                there = [n - trees.ends[u] for n in of_record if n >= 0]
                assert there == upwards[-2::-1]
                assert of_record[len(there) :] == [-1] * (len(of_record) - len(there))
            columns_of = [
                set(np.flatnonzero((own == n).any(axis=0))) for n in np.unique(own[own >= 0])
            ]
            assert all(len(columns) == 1 for columns in columns_of)

    @repeatable
    @given(classed_records(attributes=grounds))
    def test_nodes_are_numbered_one_attribute_after_the_other(
        self, records: ClassedRecords
    ) -> None:
        held = list(zip(records.codes, records.tables, records.limits, strict=True))
        trees = stack_trees(held, records.n_records)
        metrics = [table.metric for table in records.tables]
        assert trees.ends.tolist() == starts_of([m.below.size for m in metrics]).tolist()
        assert trees.weights.tolist() == [w for m in metrics for w in m.weights.tolist()]
        shares = [Fraction(int(n), int(m.below[-1])) for m in metrics for n in m.below]
        assert trees.shares.tolist() == pytest.approx([float(share) for share in shares], abs=1e-16)

    def test_of_none(self) -> None:
        trees = stack_trees([], 7)
        assert trees.nodes.shape == (7, 0)
        assert trees.columns.tolist() == trees.ends.tolist() == [0]
        assert trees.weights.size == trees.shares.size == trees.limits.size == 0

    def test_example(self) -> None:
        """Japan is three steps below the root, Atlantis one."""
        table = with_metric(four_values(), column(taxonomy=ROWS), VALUES)
        names = taxonomy_of(ROWS).names
        trees = stack_trees([(np.array([0, 2, 1]), table, 0.5)], 3)
        named = [[names[n] if n >= 0 else "" for n in nodes] for nodes in trees.nodes]
        assert named == [["Asia", "East", "Japan"], ["Atlantis", "", ""], ["Europe", "France", ""]]


class TestRoundingWork:
    @repeatable
    @given(grounds, seeds, st.integers(1, 12))
    def test_is_the_mean_over_the_two_nearest_counts(
        self, ground: Ground, seed: int, n_subsets: int
    ) -> None:
        """Below each node floor(K q) or one more, so often that the mean is K q."""
        table, _, _ = draw_attribute(np.random.default_rng(seed), ground, 40)
        assert table.metric is not None
        expected = Fraction(0)
        for weight, below in zip(table.metric.numerators, table.metric.below, strict=True):
            share = Fraction(int(below), 40)
            low = floor(n_subsets * share)
            often = n_subsets * share - low
            mean = (1 - often) * abs(Fraction(low, n_subsets) - share)
            mean += often * abs(Fraction(low + 1, n_subsets) - share)
            expected += Fraction(int(weight), table.metric.denominator) * mean
        found = rounding_work(table.metric, n_subsets)
        assert found == pytest.approx(float(expected), abs=1e-13)
        if table.values.size > 1:
            assert mean_cluster_emd(table, n_subsets) == found

    @repeatable
    @given(st.integers(1, 4), st.integers(1, 5), st.data())
    def test_is_the_mean_over_all_clusters_of_two_values(
        self, n_subsets: int, per_subset: int, data: st.DataObject
    ) -> None:
        """Of one record per subset, each of them made: with two values the order is no matter."""
        n_records = n_subsets * per_subset
        n_ones = data.draw(st.integers(1, max(1, n_records - 1)))
        assume(n_ones < n_records)
        values = [0] * (n_records - n_ones) + [1] * n_ones
        counts = [n_records - n_ones, n_ones]
        table = with_metric(make_distribution(np.arange(2), counts), column(), ["a", "b"])
        assert table.metric is not None
        expected = naive_refine.mean_cluster_emd(values, n_subsets)
        assert rounding_work(table.metric, n_subsets) == pytest.approx(float(expected), abs=1e-13)


@repeatable
@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.data())
def test_ordered_distance_is_untouched(values: list[int], data: st.DataObject) -> None:
    """Without a metric all is as it was: Li et al. 2007, section 5.1."""
    distinct, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    table = make_distribution(distinct, counts)
    starts = starts_of(data.draw(class_sizes(len(values))))
    found = class_distances(codes.astype(np.int64), starts, table)
    for i, distance in enumerate(found):
        members = values[starts[i] : starts[i + 1]]
        assert distance == pytest.approx(float(naive.ordered_emd(members, values)), abs=1e-13)
