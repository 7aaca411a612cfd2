"""The plan: class sizes, subsets, regions and where their records are, proofs that none exists."""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pipeline.errors import InfeasibleError, PolicyError
from pipeline.kernels.blocks import find_leaves
from pipeline.model import Attribute, Column, Kind, Role
from pipeline.stages.keys import Encoding
from pipeline.stages.plan import (
    LEAVES_PER_REGION,
    MAX_REGION_RECORDS,
    MAX_SAMPLE,
    MIN_REGION_RECORDS,
    SAMPLE_PER_LEAF,
    USUAL_REGIONS,
    ClassSize,
    CoarseTree,
    Domain,
    Plan,
    Region,
    bin_records,
    check_feasible,
    check_k,
    choose_class_size,
    count_regions,
    cut_subsets,
    domain_emd,
    domain_name,
    grow_tree,
    locate_region,
    sample_leaves,
    sample_size,
)
from support import naive
from support.tables import (
    confidential_values,
    distribution_from,
    distribution_of,
    quasi_identifiers,
    repeatable,
    seeds,
)

TINY = Fraction(1, 10**18)
LEAF = CoarseTree(np.empty(0, dtype=np.int32), np.empty((1, 0)))


def confidential(name: str) -> Encoding:
    return Encoding(Column(Attribute(name, Role.CONFIDENTIAL), Kind.NUMERIC, pa.int64()))


def make_domain(
    n_records: int, size: int, *, n_leaves: int = 1, n_regions: int = 1, first_bin: int = 0
) -> Domain:
    """A domain of distinct confidential values; its tree has leaves, but no say in what follows."""
    table, _ = distribution_of(range(n_records))
    subsets, n_clusters = cut_subsets(size, table, n_records, 0)
    tree = CoarseTree(np.zeros(n_leaves - 1, np.int32), np.zeros((size, n_leaves - 1)))
    return Domain(
        (),
        (),
        n_records,
        ClassSize(size, size, size),
        n_clusters,
        n_regions,
        (Fraction(0),),
        subsets,
        tree,
        first_bin,
    )


def make_plan(*domains: Domain) -> Plan:
    return Plan(2, (Fraction(1),), (), (), (), (), (), (), 0, domains, 100, 1_000)


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


class TestRegions:
    @repeatable
    @given(st.integers(1, 10**9))
    def test_are_a_power_of_two_of_bearable_size(self, n_records: int) -> None:
        n_regions = count_regions(n_records)
        assert n_regions & (n_regions - 1) == 0
        assert n_records <= n_regions * MAX_REGION_RECORDS
        assert n_regions == 1 or n_records >= n_regions * MIN_REGION_RECORDS

    @pytest.mark.parametrize(
        ("n_records", "n_regions"),
        [
            (1, 1),
            (2 * MIN_REGION_RECORDS - 1, 1),
            (2 * MIN_REGION_RECORDS, 2),
            (USUAL_REGIONS * MIN_REGION_RECORDS, USUAL_REGIONS),
            (USUAL_REGIONS * MAX_REGION_RECORDS, USUAL_REGIONS),
            (USUAL_REGIONS * MAX_REGION_RECORDS + 1, 2 * USUAL_REGIONS),
        ],
    )
    def test_by_the_number_of_records(self, n_records: int, n_regions: int) -> None:
        assert count_regions(n_records) == n_regions

    def test_samples_are_bounded_and_none_where_nothing_is_cut(self) -> None:
        assert sample_size(2 * MIN_REGION_RECORDS - 1, 10) == 0
        n_leaves = 2 * LEAVES_PER_REGION
        assert sample_size(2 * MIN_REGION_RECORDS, 3) == n_leaves * 3 * SAMPLE_PER_LEAF
        assert sample_size(10**9, 50) == MAX_SAMPLE

    @repeatable
    @given(st.integers(2, 60), st.integers(2, 60), st.integers(1, 9), st.integers(1, 9))
    def test_share_out_all_clusters_evenly(
        self, n_first: int, n_second: int, regions_first: int, regions_second: int
    ) -> None:
        plan = make_plan(
            make_domain(n_first, 2, n_regions=regions_first),
            make_domain(n_second, 2, n_regions=regions_second),
        )
        regions = plan.regions()
        assert plan.n_records == n_first + n_second
        for d, domain in enumerate(plan.domains):
            of_domain = [region for region in regions if region.domain == d]
            sizes = [region.n_clusters for region in of_domain]
            assert len(sizes) == min(domain.n_regions, domain.n_clusters)
            assert max(sizes) - min(sizes) <= 1
            assert (of_domain[0].first_cluster, of_domain[-1].last_cluster) == (
                0,
                domain.n_clusters,
            )
            assert all(a.last_cluster == b.first_cluster for a, b in pairwise(of_domain))


@dataclass(frozen=True, eq=False)
class Binned:
    """A plan with several domains and the bins of all records, partition by partition."""

    plan: Plan
    partitions: list[list[tuple[int, int, int]]]  # (domain, subset, leaf) of each record

    def bin_of(self, record: tuple[int, int, int]) -> int:
        domain = self.plan.domains[record[0]]
        return domain.first_bin + record[1] * domain.tree.n_leaves + record[2]

    def histogram(self) -> np.ndarray:
        counts = np.zeros((len(self.partitions), self.plan.n_bins), dtype=np.int64)
        for p, records in enumerate(self.partitions):
            for record in records:
                counts[p, self.bin_of(record)] += 1
        return counts

    def sorted_rows(self) -> list[list[int]]:
        """Position in its partition of each row, once the partition is sorted by bin."""
        return [
            sorted(range(len(records)), key=lambda i, records=records: self.bin_of(records[i]))
            for records in self.partitions
        ]

    def members(self, region: Region, subset: int) -> set[tuple[int, int]]:
        """(partition, position) of a region's records of a subset: all sorted by (leaf, place)."""
        domain = self.plan.domains[region.domain]
        ranked = sorted(
            (leaf, p, i)
            for p, records in enumerate(self.partitions)
            for i, (d, s, leaf) in enumerate(records)
            if (d, s) == (region.domain, subset)
        )
        first, last = (
            naive.records_before(
                domain.subsets.take.tolist(),
                domain.subsets.extras.tolist(),
                domain.n_clusters,
                cluster,
            )[subset]
            for cluster in (region.first_cluster, region.last_cluster)
        )
        return {(p, i) for _, p, i in ranked[first:last]}


@st.composite
def binned_tables(draw: st.DrawFn) -> Binned:
    domains, records, first_bin = [], [], 0
    rng = np.random.default_rng(draw(seeds))
    for d in range(draw(st.integers(1, 3))):
        n_records = draw(st.integers(2, 60))
        k = draw(st.integers(1, min(n_records, 7)))
        size = choose_class_size(n_records, k, []).adjusted
        domain = make_domain(
            n_records,
            size,
            n_leaves=draw(st.sampled_from([1, 2, 4, 8])),
            n_regions=draw(st.sampled_from([1, 2, 4])),
            first_bin=first_bin,
        )
        domains.append(domain)
        first_bin += domain.n_bins
        of_record = np.repeat(np.arange(size), domain.subsets.sizes).tolist()
        leaves = rng.integers(0, domain.tree.n_leaves, n_records).tolist()
        records += [(d, s, leaf) for s, leaf in zip(of_record, leaves, strict=True)]
    records = [records[i] for i in rng.permutation(len(records))]
    cuts = sorted(rng.integers(0, len(records) + 1, draw(st.integers(0, 4))).tolist())
    partitions = [records[a:b] for a, b in pairwise([0, *cuts, len(records)])]
    return Binned(make_plan(*domains), partitions)


class TestLocation:
    @repeatable
    @given(binned_tables())
    def test_equals_sorting_all_records(self, table: Binned) -> None:
        histogram, rows = table.histogram(), table.sorted_rows()
        for region in table.plan.regions():
            starts, stops = locate_region(table.plan, region, histogram)
            for s in range(starts.shape[1]):
                found = [
                    (p, rows[p][row])
                    for p in range(len(table.partitions))
                    for row in range(starts[p, s], stops[p, s])
                ]
                assert len(found) == len(set(found))
                assert set(found) == table.members(region, s)

    @repeatable
    @given(binned_tables())
    def test_regions_take_every_record_once(self, table: Binned) -> None:
        histogram = table.histogram()
        taken = [np.zeros(len(records), dtype=int) for records in table.partitions]
        for region in table.plan.regions():
            starts, stops = locate_region(table.plan, region, histogram)
            for p, counts in enumerate(taken):
                for start, stop in zip(starts[p], stops[p], strict=True):
                    counts[start:stop] += 1
        assert all((counts == 1).all() for counts in taken)


class TestTree:
    @repeatable
    @given(st.integers(0, 4), st.integers(1, 5), st.integers(1, 4), seeds)
    def test_gives_every_leaf_its_share_of_every_subset(
        self, depth: int, n_subsets: int, share: int, seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        n_records = n_subsets * share * 2**depth
        numeric = np.array([rng.permutation(n_records) / n_records for _ in range(2)])
        nominal = np.zeros((1, n_records), dtype=np.int32)
        subsets = rng.permutation(np.repeat(np.arange(n_subsets), share * 2**depth))
        subsets = subsets.astype(np.int32)
        tree = grow_tree(numeric, nominal, 1, subsets, n_subsets, 2**depth)
        assert tree.n_leaves == 2**depth
        leaves = find_leaves(numeric, nominal, subsets, tree.axes, tree.thresholds)
        counts = np.zeros((n_subsets, 2**depth), dtype=int)
        np.add.at(counts, (subsets, leaves), 1)
        assert (counts == share).all()

    @repeatable
    @given(st.integers(1, 40).flatmap(quasi_identifiers), st.integers(1, 4), seeds)
    def test_cuts_each_subset_at_its_lower_median(
        self, columns: tuple[np.ndarray, np.ndarray, int], n_subsets: int, seed: int
    ) -> None:
        numeric, nominal, n_levels = columns
        rng = np.random.default_rng(seed)
        n_records = max(numeric.shape[1], nominal.shape[1])
        subsets = rng.integers(0, n_subsets, n_records, dtype=np.int32)
        tree = grow_tree(numeric, nominal, n_levels, subsets, n_subsets, 4)
        values = [*numeric, *nominal]
        members = {0: list(range(n_records))}
        for node in range(3):
            keys = values[tree.axes[node]]
            for s in range(n_subsets):
                rows = [i for i in members[node] if subsets[i] == s] or members[node]
                if rows:
                    assert tree.thresholds[s, node] == naive.lower_median([keys[i] for i in rows])
            goes_left = {i: keys[i] <= tree.thresholds[subsets[i], node] for i in members[node]}
            members[2 * node + 1] = [i for i in members[node] if goes_left[i]]
            members[2 * node + 2] = [i for i in members[node] if not goes_left[i]]

    def test_first_axis_is_the_widest(self) -> None:
        numeric = np.array([[0.0, 0.1, 0.0, 0.1], [0.0, 0.0, 1.0, 1.0]])
        nominal = np.empty((0, 4), np.int32)
        tree = grow_tree(numeric, nominal, 1, np.zeros(4, np.int32), 1, 4)
        assert tree.axes.tolist() == [1, 0, 0]
        assert tree.thresholds.tolist() == [[0.0, 0.0, 0.0]]

    def test_single_region_is_not_cut(self) -> None:
        subsets, _ = cut_subsets(3, distribution_of(range(9))[0], 9, 0)
        empty = np.empty((0, 0)), np.empty((0, 0), np.int32), 1
        tree = sample_leaves(subsets, np.empty(0, np.int64), *empty, n_regions=1)
        assert (tree.n_leaves, tree.thresholds.shape) == (1, (3, 0))

    @pytest.mark.parametrize(
        ("n_sampled", "n_regions", "n_leaves"),
        [
            (0, 4, 4),
            (3 * SAMPLE_PER_LEAF * 8 - 1, 4, 4),
            (3 * SAMPLE_PER_LEAF * 8, 4, 8),
            (3 * SAMPLE_PER_LEAF * 8, 2, 8),
            (3 * SAMPLE_PER_LEAF * 64, 2, 2 * LEAVES_PER_REGION),
        ],
    )
    def test_leaves_are_as_fine_as_the_sample_bears(
        self, n_sampled: int, n_regions: int, n_leaves: int
    ) -> None:
        rng = np.random.default_rng(0)
        table, codes = distribution_of([1, 2, 3] * 10_000)
        subsets, _ = cut_subsets(3, table, 30_000, 0)
        numeric, nominal = rng.random((1, n_sampled)), np.empty((0, n_sampled), np.int32)
        tree = sample_leaves(subsets, codes[:n_sampled], numeric, nominal, 1, n_regions)
        assert tree.n_leaves == n_leaves
        assert tree.thresholds.shape == (3, n_leaves - 1)

    def test_bins_are_subset_then_leaf(self) -> None:
        tree = CoarseTree(np.zeros(1, np.int32), np.array([[0.5], [0.25]]))
        domain = replace(make_domain(4, 2, first_bin=10), tree=tree)
        bins = bin_records(
            domain,
            np.array([0, 0, 1, 1], np.int32),
            np.array([[0.5, 0.6, 0.25, 0.3]]),
            np.empty((0, 4), np.int32),
        )
        assert bins.tolist() == [10, 11, 12, 13]
        assert bins.dtype == np.int64


class TestFeasibility:
    @repeatable
    @given(st.data())
    def test_distance_of_a_domain_is_exact(self, data: st.DataObject) -> None:
        counts = data.draw(
            st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40)
        )
        counts = [(a, a + b) for a, b in counts if a + b] or [(1, 2)]
        of_domain, of_table = np.array(counts).T
        assume(of_domain.any())
        emd = domain_emd(np.cumsum(of_domain), np.cumsum(of_table))
        assert emd == naive.ordered_emd(
            dict(enumerate(of_domain.tolist())), dict(enumerate(of_table.tolist()))
        )

    def test_distance_of_a_domain_counts_every_value(self) -> None:
        rng = np.random.default_rng(4)
        of_domain = rng.integers(0, 5, 1_000)
        of_table = of_domain + rng.integers(1, 5, 1_000)
        emd = domain_emd(np.cumsum(of_domain), np.cumsum(of_table))
        assert emd == naive.ordered_emd(
            dict(enumerate(of_domain.tolist())), dict(enumerate(of_table.tolist()))
        )

    def test_fewer_records_than_k(self) -> None:
        with pytest.raises(
            InfeasibleError,
            match=r"^partition sex=F: has 4 records, a class needs k = 5; lower privacy\.k to 4 ",
        ):
            check_feasible("partition sex=F", 4, 5, (), [], [])
        check_feasible("partition sex=F", 5, 5, (), [], [])

    def test_domain_above_t(self) -> None:
        columns = (confidential("income"), confidential("age"))
        emds, limits = [Fraction(1, 10), Fraction(1, 3)], [Fraction(1, 10), Fraction("0.25")]
        with pytest.raises(
            InfeasibleError,
            match=r"^the table: 'age' is at distance 0\.333333 from the whole table, above "
            r"t = 0\.25; some class of it is too, however it is cut\. "
            r"The smallest t that could work is 0\.333334$",
        ):
            check_feasible("the table", 9, 5, columns, emds, limits)
        check_feasible("the table", 9, 5, columns, emds, [Fraction(1, 10), Fraction("0.333334")])

    def test_limit_is_decided_exactly(self) -> None:
        columns, emd = (confidential("age"),), Fraction(1, 3)
        check_feasible("the table", 9, 5, columns, [emd], [emd])
        with pytest.raises(InfeasibleError, match="'age' is at distance"):
            check_feasible("the table", 9, 5, columns, [emd], [emd - TINY])

    @repeatable
    @given(st.lists(st.integers(0, 5), min_size=2, max_size=20), st.data())
    def test_some_class_of_a_far_domain_is_far(
        self, values: list[int], data: st.DataObject
    ) -> None:
        """The proof itself: of a domain's classes the farthest is no nearer than the domain."""
        rest = data.draw(st.lists(st.integers(0, 5), max_size=20))
        cut = data.draw(st.integers(1, len(values) - 1))
        table = values + rest
        parts = [naive.ordered_emd(part, table) for part in (values[:cut], values[cut:])]
        assert max(parts) >= naive.ordered_emd(values, table)

    def test_k_above_the_number_of_records(self) -> None:
        check_k(1_500, 1_500)
        with pytest.raises(PolicyError, match=r"privacy\.k: 1501 is more than the 1,500 records"):
            check_k(1_501, 1_500)

    def test_names(self) -> None:
        assert domain_name((), ()) == "the table"
        hard = (confidential("year"), confidential("site"))
        assert domain_name(hard, (2024, "A")) == "partition year=2024/site=A"


class TestDigest:
    def test_equal_plans_have_equal_digests(self) -> None:
        plans = [make_plan(make_domain(30, 4), make_domain(20, 3)) for _ in range(2)]
        assert plans[0] is not plans[1]
        assert plans[0].digest() == plans[1].digest()

    def test_any_difference_shows(self) -> None:
        domain = make_domain(31, 4, n_leaves=2)
        plan = make_plan(domain)
        moved = CoarseTree(domain.tree.axes, domain.tree.thresholds + 1e-9)
        doubled = replace(domain.subsets, take=domain.subsets.take * 2)
        others = [
            replace(plan, k=3),
            replace(plan, max_emds=(Fraction(1) - TINY,)),
            replace(plan, rows_per_file=999),
            replace(plan, encodings=(confidential("age"),)),
            replace(plan, confidential=(confidential("age"),)),
            make_plan(replace(domain, tree=moved)),
            make_plan(replace(domain, subsets=doubled)),
            make_plan(domain, domain),
        ]
        digests = {other.digest() for other in [plan, *others]}
        assert len(digests) == len(others) + 1
