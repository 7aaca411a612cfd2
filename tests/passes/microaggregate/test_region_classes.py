"""One region: the clusters of the listing, classes as released, repaired, and what is lost."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.tables.random_tables import (
    confidential_values,
    distribution_of,
    repeatable,
    seeds,
    starts_of,
)
from support.tables.value_encodings import NOMINAL, ORDINAL, PRIORITY, SPAN, encoding
from tclose.kernels.clustering.assign_subsets import assign_subsets
from tclose.methods.clustering_problem import Clustering
from tclose.methods.microaggregation.t_closeness_first import TClosenessFirst
from tclose.model.column_terms import Kind
from tclose.model.distribution import Distribution
from tclose.passes.microaggregate import region_clusters
from tclose.passes.microaggregate.region_classes import RegionClasses, release_region
from tclose.passes.microaggregate.region_clusters import cluster_region
from tclose.passes.microaggregate.region_records import RegionRecords
from tclose.passes.plan.class_sizes import choose_class_size
from tclose.passes.plan.plan import Plan
from tclose.passes.plan.quantile_subsets import cut_subsets
from tclose.passes.plan.search_budget import OFF
from tclose.privacy.t_closeness import find_above

TINY = Fraction(1, 10**18)
ENCODINGS = {
    "integer": encoding(Kind.NUMERIC, pa.int64()),
    "float": encoding(Kind.NUMERIC, pa.float64()),
    "median": encoding(Kind.NUMERIC, pa.int32(), aggregate="median"),
    "nominal": NOMINAL,
    "ordinal": ORDINAL,
}


def draw_keys(name: str, rng: np.random.Generator, n_records: int, n_values: int) -> np.ndarray:
    if name == "nominal":
        return rng.integers(0, 3, n_records)
    if name == "ordinal":
        return rng.integers(0, 5, n_records)
    keys = rng.integers(0, min(n_values, SPAN + 1), n_records)
    return keys.astype(np.float64) if name == "float" else keys


def released_value(name: str, keys: np.ndarray) -> float:
    """What a class is released as, by the twins."""
    members = keys.tolist()
    if name == "nominal":
        return naive.mode(members, PRIORITY.tolist())
    if name == "ordinal":
        return naive.lower_median(members)
    if name == "median":
        return naive.integer_mean([naive.lower_median(members), naive.upper_median(members)])
    return naive.float_mean(members) if name == "float" else naive.integer_mean(members)


def release(
    records: RegionRecords, plan: Plan, distributions: tuple[Distribution, ...]
) -> RegionClasses:
    return release_region(cluster_region(records, plan, distributions, None), records, plan)


@dataclass(frozen=True, eq=False)
class Case:
    """A region that is the whole table, in the order that a region's records come in."""

    names: list[str]
    values: list[list[int]]
    records: RegionRecords
    distributions: tuple[Distribution, ...]

    @property
    def size(self) -> int:
        return int(self.records.take.sum())

    @property
    def subsets(self) -> list[int]:
        sizes = np.diff(self.records.subset_starts)
        return np.repeat(np.arange(sizes.size), sizes).tolist()

    def plan(self, max_emd: Fraction, block_clusters: int) -> Plan:
        encodings = tuple(ENCODINGS[name] for name in self.names)
        limits = (max_emd,) * len(self.values)
        draft = Plan(2, limits, encodings, (), (), (), (), (), 0, (), block_clusters, 1_000)
        return replace(draft, method=TClosenessFirst(class_size="paper"))  # no natural classes

    def run(self, max_emd: Fraction, block_clusters: int = 2**62) -> RegionClasses:
        return release(self.records, self.plan(max_emd, block_clusters), self.distributions)

    def emd(self, attribute: int, members: list[int]) -> Fraction:
        values = self.values[attribute]
        return naive.ordered_emd([values[i] for i in members], values)

    def naive_classes(self) -> dict[tuple, set[int]]:
        """Clusters of the listing; those of equal released values become one class."""
        keys = dict(zip(self.names, self.records.keys, strict=True))
        numeric = [keys[name] / ENCODINGS[name].high for name in self.names if name != "nominal"]
        nominal = [keys[name] for name in self.names if name == "nominal"]
        n_records = len(self.subsets)
        labels = naive.cluster_block(
            np.array(numeric, dtype=np.float64).reshape(-1, n_records),
            np.array(nominal, dtype=np.int32).reshape(-1, n_records),
            self.subsets,
            self.records.take.tolist(),
            self.records.n_clusters,
        )
        classes: dict[tuple, set[int]] = {}
        for members in naive.groups(labels):
            released = tuple(released_value(name, keys[name][members]) for name in self.names)
            classes.setdefault(released, set()).update(members)
        return classes


def make_case(names: list[str], keys: list[np.ndarray], values: list[list], size: int) -> Case:
    """Sort a table's records by the subsets of its first confidential attribute."""
    tables = [distribution_of(of_attribute) for of_attribute in values]
    n_records = keys[0].size
    table = tables[0][0] if tables else None
    subsets, n_clusters = cut_subsets(size, table, n_records, 5)
    of_record = np.zeros(n_records, np.int32)
    if tables:
        unseen = np.zeros(subsets.tie_codes.size, np.int64)
        of_record = assign_subsets(
            tables[0][1],
            subsets.cut_codes,
            subsets.cut_ranks,
            subsets.tie_codes,
            subsets.tie_rule,
            unseen,
        )
    order = np.argsort(of_record, kind="stable")
    records = RegionRecords(
        [column[order] for column in keys],
        np.array([codes[order] for _, codes in tables], np.int64).reshape(len(values), n_records),
        starts_of(subsets.sizes),
        subsets.take,
        n_clusters,
    )
    in_order = [np.asarray(of_attribute)[order].tolist() for of_attribute in values]
    return Case(names, in_order, records, tuple(table for table, _ in tables))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Tables of one to three quasi-identifiers and up to two confidential attributes."""
    first = draw(confidential_values)
    n_records = len(first)
    rng = np.random.default_rng(draw(seeds))
    names = draw(st.lists(st.sampled_from(sorted(ENCODINGS)), min_size=1, max_size=3, unique=True))
    n_values = draw(st.integers(1, SPAN + 1))
    keys = [draw_keys(name, rng, n_records, n_values) for name in names]
    second = rng.integers(0, 8, n_records).tolist()
    values = [first, second][: draw(st.integers(0, 2))]
    k = draw(st.integers(1, min(6, n_records)))
    return make_case(names, keys, values, choose_class_size(n_records, k, []).adjusted)


def members_of(classes: RegionClasses) -> list[list[int]]:
    return [part.tolist() for part in np.split(classes.order, classes.starts[1:-1])]


def tuples_of(classes: RegionClasses) -> list[tuple]:
    return list(zip(*(column.tolist() for column in classes.released), strict=True))


limits = st.integers(0, 30).map(lambda percent: Fraction(percent, 100))


class TestRegion:
    @repeatable
    @given(cases())
    def test_one_block_gives_the_clusters_of_the_listing(self, case: Case) -> None:
        classes = case.run(Fraction(1))
        made = zip(tuples_of(classes), map(set, members_of(classes)), strict=True)
        assert dict(made) == case.naive_classes()
        assert (classes.n_repaired, classes.n_violating) == (0, 0)

    @repeatable
    @given(cases(), limits, st.integers(1, 5))
    def test_every_record_is_in_one_class_of_at_least_k(
        self, case: Case, max_emd: Fraction, block_clusters: int
    ) -> None:
        classes = case.run(max_emd, block_clusters)
        assert sorted(classes.order.tolist()) == list(range(len(case.subsets)))
        assert np.diff(classes.starts).min() >= case.size

    @repeatable
    @given(cases(), limits, st.integers(1, 5))
    def test_classes_differ_and_leave_in_the_order_of_their_keys(
        self, case: Case, max_emd: Fraction, block_clusters: int
    ) -> None:
        released = tuples_of(case.run(max_emd, block_clusters))
        assert released == sorted(set(released))

    @repeatable
    @given(cases(), limits, st.integers(1, 5))
    def test_every_class_of_the_table_is_within_t(
        self, case: Case, max_emd: Fraction, block_clusters: int
    ) -> None:
        classes = case.run(max_emd, block_clusters)
        for attribute in range(len(case.values)):
            for members in members_of(classes):
                assert case.emd(attribute, members) <= max_emd
        assert classes.n_violating == 0

    @repeatable
    @given(cases(), limits, st.integers(1, 5))
    def test_released_values_are_the_aggregates_of_the_members(
        self, case: Case, max_emd: Fraction, block_clusters: int
    ) -> None:
        """Clusters that are one class have equal aggregates each, which need not be the class's."""
        classes = case.run(max_emd, block_clusters)
        for name, keys, column in zip(case.names, case.records.keys, classes.released, strict=True):
            for value, members in zip(column.tolist(), members_of(classes), strict=True):
                assert min(keys[members]) <= value <= max(keys[members])
                if len(members) <= case.size + 1:
                    assert value == released_value(name, keys[np.sort(members)])

    @repeatable
    @given(cases(), limits)
    def test_losses_are_those_of_the_definition(self, case: Case, max_emd: Fraction) -> None:
        classes = case.run(max_emd)
        for name, keys, released, loss in zip(
            case.names,
            case.records.keys,
            classes.released,
            classes.losses.squares.tolist(),
            strict=True,
        ):
            span = ENCODINGS[name].high
            exact = Fraction(0)
            for value, members in zip(released.tolist(), members_of(classes), strict=True):
                for i in members:
                    difference = Fraction(value) - Fraction(keys[i].item())
                    square: Any = (difference / span) ** 2
                    exact += (value != keys[i]) if name == "nominal" else square
            assert loss >= 0
            assert loss == pytest.approx(float(exact), rel=1e-13, abs=0)

    def test_input_is_untouched(self) -> None:
        rng = np.random.default_rng(1)
        names = ["integer", "nominal"]
        keys = [draw_keys(name, rng, 40, SPAN) for name in names]
        case = make_case(names, keys, [rng.integers(0, 9, 40).tolist()], 4)
        for array in (*case.records.keys, case.records.codes, case.records.subset_starts):
            array.setflags(write=False)
        assert case.run(Fraction(1, 10), 3).starts[-1] == 40


class TestRepair:
    def test_of_a_heavily_tied_attribute(self) -> None:
        """Most are zero: a class with more than its share of the others is above t."""
        rng = np.random.default_rng(7)
        gains = rng.permutation([0] * 180 + list(range(1, 21))).tolist()
        keys = [draw_keys("integer", rng, 200, SPAN), draw_keys("nominal", rng, 200, 3)]
        case = make_case(["integer", "nominal"], keys, [gains], 5)
        t = Fraction(1, 10)
        loose, strict = case.run(Fraction(1), 10), case.run(t, 10)
        n_far = sum(case.emd(0, members) > t for members in members_of(loose))
        assert n_far == strict.n_repaired > 0
        assert 1 < strict.starts.size - 1 < loose.starts.size - 1
        assert strict.losses.squares.sum() > loose.losses.squares.sum()
        assert max(case.emd(0, members) for members in members_of(strict)) <= t

    def test_of_a_region_that_is_far_itself_ends_with_one_class_above(self) -> None:
        rng = np.random.default_rng(2)
        keys = [draw_keys("integer", rng, 30, SPAN)]
        case = make_case(["integer"], keys, [[i % 10 for i in range(30)]], 3)
        table, _ = distribution_of([i % 10 for i in range(30)] + [9] * 60)
        plan = case.plan(Fraction(1, 10), 4)
        classes = release(case.records, plan, (table,))
        assert classes.starts.tolist() == [0, 30]
        assert classes.n_violating == 1
        assert classes.n_repaired > 1

    def test_stops_at_the_exact_distance(self) -> None:
        """One class at a distance of exactly a third passes t = 1/3; nothing less does."""
        case = make_case(["integer"], [np.array([0, 0, 64, 64])], [[1, 2, 3, 4]], 1)
        codes, starts = np.array([[0, 1, 2, 3]]), np.array([0, 2, 4])
        order = np.arange(4)
        for limit, above in [(Fraction(1, 3), []), (Fraction(1, 3) - TINY, [0, 1])]:
            found = find_above(order, starts, codes, case.distributions, (limit,))
            assert found.tolist() == above

    def test_equal_centroids_are_one_class(self) -> None:
        case = make_case(["integer"], [np.full(12, 7)], [[1] * 6 + [2] * 6], 2)
        classes = case.run(Fraction(1, 100))
        assert classes.starts.tolist() == [0, 12]
        assert tuples_of(classes) == [(7,)]
        assert classes.losses.squares.tolist() == [0.0]
        assert (classes.n_repaired, classes.n_violating) == (0, 0)

    def test_any_attribute_counts(self) -> None:
        tables = [distribution_of([1, 2, 1, 2]), distribution_of([1, 1, 2, 2])]
        codes = np.array([codes for _, codes in tables])
        found = find_above(
            np.array([0, 2, 1, 3]),
            np.array([0, 2, 4]),
            codes,
            tuple(table for table, _ in tables),
            (Fraction(1, 2) - TINY, Fraction(0)),
        )
        assert found.tolist() == [0, 1]
        assert not find_above(
            np.arange(4), np.array([0, 4]), codes, tuple(t for t, _ in tables), (Fraction(0),) * 2
        ).size


class TestStarts:
    """Ages 0 to 7 in four classes: of neighbours, or of those that are far apart."""

    def run(
        self, starts: list[str], values: list[int], *, alike: bool = False, **how: Any
    ) -> RegionClasses:
        """Classes of a search with no rounds from the first start, which has the others beside.

        ``alike``: or is like them.
        """
        case = make_case(["integer"], [np.arange(8)], [values], 2)
        ages = case.records.keys[0].astype(np.int64)
        labels = {"near": ages // 2, "far": ages % 4}
        others = [Clustering(labels[name]) for name in starts[1:]]
        beside = (lambda _: [[one] for one in others]) if others and not alike else None
        plan = replace(case.plan(how.pop("t", Fraction(1)), 4), search_budget=replace(OFF, **how))
        with pytest.MonkeyPatch.context() as patch:
            start = Clustering(labels[starts[0]], alike=others if alike else (), beside=beside)
            patch.setattr(region_clusters, "_make_clusters", lambda *_: start)
            return release(case.records, plan, case.distributions)

    @pytest.mark.parametrize(
        ("starts", "released"),
        [
            (["near", "far"], [1, 3, 5, 7]),
            (["far", "near"], [1, 3, 5, 7]),
            (["far", "near", "far"], [1, 3, 5, 7]),
            (["far", "far", "near"], [1, 3, 5, 7]),
            (["far"], [2, 3, 4, 5]),
        ],
    )
    def test_what_ends_at_less_loss_is_released(
        self, starts: list[str], released: list[int]
    ) -> None:
        for alike in (False, True):
            classes = self.run(starts, [1] * 8, alike=alike)
            assert classes.released[0].tolist() == released

    def test_what_can_be_brought_within_t_comes_first(self) -> None:
        """Values go with ages: only classes of ages that are far apart are like the table."""
        values = [1] * 4 + [2] * 4
        alone = self.run(["near"], values, t=Fraction(0))
        both = self.run(["near", "far"], values, t=Fraction(0))
        assert both.n_violating == 0
        assert both.losses.squares.sum() < alone.losses.squares.sum()
