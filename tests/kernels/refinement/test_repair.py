"""Merging of classes above t: always ends, loses no record, repairs each class that it can."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.naive import naive_refine
from support.tables.classed_records import Ground, grounds
from support.tables.random_tables import (
    class_sizes,
    confidential_values,
    distribution_of,
    repeatable,
    seeds,
    weighted_columns,
)
from tclose.kernels.emd.least_distance import sum_ranges
from tclose.kernels.emd.reference import EmdReference
from tclose.kernels.refinement.repair import N_PARTNERS, merge_classes
from tclose.model.distribution import Distribution
from tclose.privacy.t_closeness import make_target


@dataclass(frozen=True, eq=False)
class ClassedTable:
    """Records with a class each, and p confidential attributes, ordered or over leaves."""

    numeric: np.ndarray
    nominal: np.ndarray
    labels: np.ndarray
    values: list[list[int]]
    limits: list[Fraction]
    grounds: list[Ground | None] | None = None
    weights: np.ndarray | None = None

    @property
    def sizes(self) -> np.ndarray:
        return np.bincount(self.labels)

    def targets(self) -> tuple[np.ndarray, tuple[EmdReference, ...]]:
        """As the kernel takes them."""
        tables, codes = self.distributions()
        limits = zip(tables, self.limits, strict=True)
        return codes, tuple(make_target(table, limit) for table, limit in limits)

    def distributions(self) -> tuple[list[Distribution], np.ndarray]:
        """Of each attribute the table's distribution, and each record's code."""
        pairs = [distribution_of(values) for values in self.values]
        grounds = self.grounds or [None] * len(pairs)
        tables = [
            table if ground is None else ground.measure(table)
            for (table, _), ground in zip(pairs, grounds, strict=True)
        ]
        return tables, np.array([codes for _, codes in pairs])

    def emd(self, attribute: int, members: list[int]) -> Fraction:
        """Distance of a class to the table, by the definition."""
        values = self.values[attribute]
        ground = self.grounds[attribute] if self.grounds else None
        if ground is None:
            return naive.ordered_emd([values[i] for i in members], values)
        tables, codes = self.distributions()
        return ground.emd(codes[attribute][members].tolist(), tables[attribute])

    def find_above(self, labels: np.ndarray) -> list[int]:
        """Classes above a limit, by the definition."""
        return [
            c
            for c, members in enumerate(naive.groups(labels))
            if any(self.emd(a, members) > limit for a, limit in enumerate(self.limits))
        ]

    def merge(self, above: list[int], most_cost: float = np.inf) -> tuple[np.ndarray, int]:
        labels, n_classes, _ = merge_classes(
            self.numeric,
            self.nominal,
            np.ones(len(self.nominal)) if self.weights is None else self.weights,
            self.labels,
            self.sizes,
            np.array(above, dtype=np.int64),
            self.targets(),
            most_cost,
        )
        return labels, n_classes


@st.composite
def classed_tables(draw: st.DrawFn) -> ClassedTable:
    """One or two confidential attributes; classes of one record and more, in any order."""
    values = [draw(confidential_values)]
    n_records = len(values[0])
    rng = np.random.default_rng(draw(seeds))
    if draw(st.booleans()):
        values.append(rng.integers(0, draw(st.integers(1, 20)), n_records).tolist())
    chosen = [draw(st.none() | grounds) for _ in values]
    for a, ground in enumerate(chosen):
        if ground is not None:
            leaves = rng.integers(0, len(ground.leaves), n_records)
            present = np.unique(leaves)
            values[a] = leaves.tolist()
            chosen[a] = replace(ground, leaves=tuple(ground.leaves[leaf] for leaf in present))
    columns = draw(weighted_columns(n_records))
    sizes = draw(class_sizes(n_records))
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    limits = [Fraction(draw(st.integers(0, 30)), 100) for _ in values]
    quasi = columns.numeric, columns.nominal
    return ClassedTable(*quasi, labels, values, limits, chosen, columns.weights)


def on_a_line(
    places: list[float], labels: list[int], values: list[int], limit: Fraction
) -> ClassedTable:
    """A table with one numeric quasi-identifier and one confidential attribute."""
    nominal = np.empty((0, len(places)), np.int32)
    return ClassedTable(np.array([places]), nominal, np.array(labels), [values], [limit])


class TestProperties:
    @repeatable
    @given(classed_tables())
    def test_ends_with_all_classes_within_or_with_one_class(self, table: ClassedTable) -> None:
        labels, n_classes = table.merge(table.find_above(table.labels))
        assert n_classes == 1 or not table.find_above(labels)

    @repeatable
    @given(classed_tables())
    def test_takes_in_what_a_look_at_all_partners_finds(self, table: ClassedTable) -> None:
        """No partner is passed over by a bound whose union is within every limit."""
        above, before = table.find_above(table.labels), naive.groups(table.labels)

        def is_close(rows: list[int]) -> bool:
            return all(table.emd(a, rows) < limit for a, limit in enumerate(table.limits))

        weights = np.ones(len(table.nominal)) if table.weights is None else table.weights
        columns = table.numeric, table.nominal, weights
        codes, targets = table.targets()
        works = sum_ranges(table.labels, len(before), (codes, targets))
        bounds = naive_refine.Bounds(works, [target.limit for target in targets])
        expected = naive_refine.merge_above(columns, before, above, is_close, bounds)
        assert naive.groups(table.merge(above)[0]) == expected

    @repeatable
    @given(classed_tables())
    def test_unites_whole_classes_and_loses_no_record(self, table: ClassedTable) -> None:
        labels, n_classes = table.merge(table.find_above(table.labels))
        assert labels.dtype == np.int64
        assert sorted(set(labels.tolist())) == list(range(n_classes))
        for members in naive.groups(table.labels):
            assert len({int(labels[i]) for i in members}) == 1

    @repeatable
    @given(classed_tables())
    def test_leaves_alone_what_is_within(self, table: ClassedTable) -> None:
        above = table.find_above(table.labels)
        before = naive.groups(table.labels)
        labels, n_classes = table.merge(above)
        repaired = {i for c in above for i in before[c]}
        for members in naive.groups(labels):
            assert members in before or repaired.intersection(members)
        if not above:
            assert labels.tolist() == table.labels.tolist()
            assert n_classes == len(before)

    @repeatable
    @given(classed_tables(), st.floats(0, 20))
    def test_gives_up_where_unions_cost_more(self, table: ClassedTable, most: float) -> None:
        above = table.find_above(table.labels)
        labels, n_classes = table.merge(above, most)
        if n_classes:
            whole, n_whole = table.merge(above)
            assert (labels.tolist(), n_classes) == (whole.tolist(), n_whole)
        else:
            assert labels.tolist() == table.labels.tolist()
            more, n_more = table.merge(above, most + 1e6)
            assert n_more < table.sizes.size
            assert more.tolist() != labels.tolist()

    @repeatable
    @given(classed_tables())
    def test_leaves_its_input_alone(self, table: ClassedTable) -> None:
        codes, targets = table.targets()
        arrays = [table.numeric, table.nominal, table.labels, table.sizes, codes]
        before = [array.copy() for array in arrays]
        numeric, nominal, labels, sizes, _ = arrays
        merge_classes(
            numeric,
            nominal,
            np.ones(len(nominal)),
            labels,
            sizes,
            np.array(table.find_above(labels), dtype=np.int64),
            (codes, targets),
            np.inf,
        )
        assert [array.tolist() for array in arrays] == [array.tolist() for array in before]

    @repeatable
    @given(classed_tables())
    def test_limit_zero_needs_the_whole_table(self, table: ClassedTable) -> None:
        strict = replace(table, limits=[Fraction(0)] * len(table.limits))
        above = strict.find_above(table.labels)
        labels, n_classes = strict.merge(above)
        assert n_classes == (1 if above else table.sizes.size)
        assert not strict.find_above(labels)


class TestChoice:
    LIMIT = Fraction(1, 10)

    def test_takes_the_nearest_partner_that_repairs_it(self) -> None:
        # Class 0 holds low values; of the high ones, class 2 is nearer than class 3. Class 1, low
        # too, is nearest, but no remedy.
        table = on_a_line(
            [0.0, 0.0, 0.1, 0.1, 0.3, 0.3, 0.9, 0.9],
            [0, 0, 1, 1, 2, 2, 3, 3],
            [1, 2, 1, 2, 3, 4, 3, 4],
            self.LIMIT,
        )
        labels, n_classes = table.merge([0])
        assert (labels.tolist(), n_classes) == ([0, 0, 1, 1, 0, 0, 2, 2], 3)

    def test_takes_the_nearest_on_the_way_if_no_single_partner_repairs_it(self) -> None:
        # A third each of values 1, 2, 3, a class each: only all three together are close.
        table = on_a_line([0.0, 0.9, 0.5], [0, 1, 2], [1, 2, 3], Fraction(1, 100))
        labels, n_classes = table.merge([0, 1, 2])
        assert (labels.tolist(), n_classes) == ([0, 0, 0], 1)

    def test_takes_what_brings_it_nearer_on_the_way(self) -> None:
        # Low values at 0, of which the nearest is another low one. Two high ones, farther away,
        # make it close together, each of them nearer; the low one is none of its partners.
        table = on_a_line(
            [0.0, 0.1, 0.3, 0.35, 9.0, 9.1], [0, 1, 2, 3, 4, 5], [1, 1, 2, 3, 2, 3], Fraction(2, 25)
        )
        labels, n_classes = table.merge([0])
        assert labels[0] == labels[2] == labels[3] != labels[1]
        assert n_classes == 4

    def test_counts_the_growth_of_the_squared_error(self) -> None:
        # Partners at the distances 0.30 and 0.25, of one and of four records: 0.045 against 0.05.
        places = [0.0] + [0.30] + [-0.25] * 4
        table = on_a_line(places, [0, 1, 2, 2, 2, 2], [1, 2, 2, 1, 1, 2], Fraction(1))
        labels, n_classes = table.merge([0])
        assert (labels.tolist(), n_classes) == ([0, 0, 1, 1, 1, 1], 2)

    def test_categories_count_as_one(self) -> None:
        nominal = np.array([[1, 1, 0, 0, 1, 1]], dtype=np.int32)
        numeric = np.array([[0.0, 0.0, 0.1, 0.1, 0.9, 0.9]])
        table = ClassedTable(
            numeric, nominal, np.repeat([0, 1, 2], 2), [[1, 1, 2, 2, 2, 2]], [Fraction(1, 2)]
        )
        labels, _ = table.merge([0])
        assert labels.tolist() == [0, 0, 1, 1, 0, 0]

    def test_near_categories_count_less(self) -> None:
        # Both partners repair class 0, and both are of another category; class 2's is a sibling.
        table = ClassedTable(
            np.zeros((1, 6)),
            np.array([[0, 0, 2, 2, 1, 1], [0, 0, 1, 1, 0, 0]], dtype=np.int32),
            np.repeat([0, 1, 2], 2),
            [[1, 1, 2, 2, 2, 2]],
            [Fraction(1, 2)],
            weights=np.full(2, 0.5),
        )
        assert table.merge([0])[0].tolist() == [0, 0, 1, 1, 0, 0]
        only_values = replace(table, weights=np.array([1.0, 0.0]))
        assert only_values.merge([0])[0].tolist() == [0, 0, 0, 0, 1, 1]

    def test_most_frequent_category_stands_for_a_class_and_the_lowest_of_equals(self) -> None:
        # Class 1 holds both categories; it counts as 1, at no distance from class 0.
        nominal = np.array([[1, 1, 2, 1]], dtype=np.int32)
        numeric = np.array([[0.0, 0.0, 0.0, 0.5]])
        table = ClassedTable(
            numeric, nominal, np.array([0, 1, 1, 2]), [[1, 2, 2, 2]], [Fraction(1)]
        )
        assert table.merge([0])[0].tolist() == [0, 0, 0, 1]

    def test_goes_on_from_the_centre_of_the_union(self) -> None:
        # Value 2 at 0.4 is taken on the way; from 0.2, the 3 at 1.0 is nearer than that at -0.9.
        table = on_a_line(
            [0.0, 0.4, 1.0, -0.9, 9.0, 9.0, 9.0, 9.0],
            [0, 1, 2, 3, 4, 4, 4, 4],
            [1, 2, 3, 3, 2, 2, 2, 2],
            Fraction(15, 100),
        )
        assert table.merge([0])[0].tolist() == [0, 0, 0, 1, 2, 2, 2, 2]

    def test_goes_on_from_the_category_of_the_larger_part(self) -> None:
        # Three 2s of category 1 are taken on the way; then the 3 at 1.0 has the union's category.
        table = ClassedTable(
            np.array([[0.0, 0.0, 0.0, 0.0, 1.0, 1.3]]),
            np.array([[0, 1, 1, 1, 1, 0]], dtype=np.int32),
            np.array([0, 1, 1, 1, 2, 3]),
            [[1, 2, 2, 2, 3, 3]],
            [self.LIMIT],
        )
        assert table.merge([0])[0].tolist() == [0, 0, 0, 0, 0, 1]

    def test_class_taken_in_by_an_earlier_one_is_done(self) -> None:
        table = on_a_line([0.0, 0.1, 0.8, 0.9], [0, 1, 2, 3], [1, 2, 1, 2], self.LIMIT)
        labels, n_classes = table.merge([0, 1, 2, 3])
        assert (labels.tolist(), n_classes) == ([0, 0, 1, 1], 2)

    def test_every_attribute_has_to_be_within(self) -> None:
        # Only the farthest record has the other value of both attributes.
        table = ClassedTable(
            np.array([[0.0, 0.1, 0.2, 0.3]]),
            np.empty((0, 4), np.int32),
            np.arange(4),
            [[1, 2, 1, 2], [1, 1, 2, 2]],
            [self.LIMIT, self.LIMIT],
        )
        assert table.merge([0])[0].tolist() == [0, 1, 2, 0]
        loose = replace(table, limits=[self.LIMIT, Fraction(1)])
        assert loose.merge([0])[0].tolist() == [0, 0, 1, 2]

    @pytest.mark.parametrize(
        ("n_useless", "united"), [(N_PARTNERS - 1, [0, -1]), (N_PARTNERS, [0, 1, -1])]
    )
    def test_tries_a_limited_number_of_partners(self, n_useless: int, united: list[int]) -> None:
        """A remedy beyond the last partner tried costs one union with the nearest first.

        Class 0 holds value 1 and so do the useless ones; the last class is the remedy.
        """
        n_classes = n_useless + 2
        places = [i / 1_000 for i in range(n_classes)]
        values = [1] * (n_classes - 1) + [2]
        table = on_a_line(
            places + [9.0] * n_useless,
            [*range(n_classes), *[n_classes] * n_useless],
            values + [2] * n_useless,
            Fraction(49, 100),
        )
        labels, n_left = table.merge([0])
        places_of_0 = np.flatnonzero(labels[:n_classes] == labels[0]).tolist()
        assert places_of_0 == [i % n_classes for i in united]
        assert n_left == n_classes + 1 - (len(united) - 1)
