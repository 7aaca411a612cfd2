"""The plan: regions, proofs that there is none, and a digest that any difference changes."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.naive import naive_kernels as naive
from support.tables.random_tables import repeatable
from support.tables.small_plans import make_plan, make_release_partition
from tclose.data.keys import Encoding
from tclose.errors import InfeasibleError, PolicyError
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Kind, Role
from tclose.model.distribution import make_distribution
from tclose.passes.plan.coarse_tree import CoarseTree
from tclose.passes.plan.feasibility import check_feasible, check_k, check_k_over_time
from tclose.passes.plan.plan import partition_name
from tclose.privacy.t_closeness import partition_distance

TINY = Fraction(1, 10**18)


def confidential(name: str) -> Encoding:
    return Encoding(Column(Attribute(name, Role.CONFIDENTIAL), Kind.NUMERIC, pa.int64()))


class TestRegions:
    @repeatable
    @given(st.integers(2, 60), st.integers(2, 60), st.integers(1, 9), st.integers(1, 9))
    def test_share_out_all_clusters_evenly(
        self, n_first: int, n_second: int, regions_first: int, regions_second: int
    ) -> None:
        plan = make_plan(
            make_release_partition(n_first, 2, n_regions=regions_first),
            make_release_partition(n_second, 2, n_regions=regions_second),
        )
        regions = plan.regions()
        assert plan.n_records == n_first + n_second
        for d, release_partition in enumerate(plan.release_partitions):
            of_partition = [region for region in regions if region.release_partition == d]
            sizes = [region.n_clusters for region in of_partition]
            assert len(sizes) == min(release_partition.n_regions, release_partition.n_clusters)
            assert max(sizes) - min(sizes) <= 1
            assert (of_partition[0].first_cluster, of_partition[-1].last_cluster) == (
                0,
                release_partition.n_clusters,
            )
            assert all(a.last_cluster == b.first_cluster for a, b in pairwise(of_partition))


def check_partition_distance(of_partition: np.ndarray, of_table: np.ndarray) -> None:
    """The distance of these counts of values to those of the table is exact."""
    emd = partition_distance(
        make_distribution(np.arange(of_partition.size), of_partition),
        make_distribution(np.arange(of_table.size), of_table),
    )
    assert emd == naive.ordered_emd(
        dict(enumerate(of_partition.tolist())), dict(enumerate(of_table.tolist()))
    )


class TestFeasibility:
    @repeatable
    @given(st.data())
    def test_distance_of_a_release_partition_is_exact(self, data: st.DataObject) -> None:
        counts = data.draw(
            st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40)
        )
        counts = [(a, a + b) for a, b in counts if a + b] or [(1, 2)]
        of_partition, of_table = np.array(counts).T
        assume(of_partition.any())
        check_partition_distance(of_partition, of_table)

    def test_distance_of_a_release_partition_counts_every_value(self) -> None:
        rng = np.random.default_rng(4)
        of_partition = rng.integers(0, 5, 1_000)
        of_table = of_partition + rng.integers(1, 5, 1_000)
        check_partition_distance(of_partition, of_table)

    def test_fewer_records_than_k(self) -> None:
        with pytest.raises(
            InfeasibleError,
            match=r"^partition sex=F: has 4 records, a class needs k = 5; lower privacy\.k to 4 ",
        ):
            check_feasible("partition sex=F", 4, 5, (), [], [])
        check_feasible("partition sex=F", 5, 5, (), [], [])

    def test_release_partition_above_t(self) -> None:
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
    def test_some_class_of_a_far_release_partition_is_far(
        self, values: list[int], data: st.DataObject
    ) -> None:
        """The proof itself: the farthest of its classes is no nearer than the release partition."""
        rest = data.draw(st.lists(st.integers(0, 5), max_size=20))
        cut = data.draw(st.integers(1, len(values) - 1))
        table = values + rest
        parts = [naive.ordered_emd(part, table) for part in (values[:cut], values[cut:])]
        assert max(parts) >= naive.ordered_emd(values, table)

    def test_k_above_the_number_of_records(self) -> None:
        check_k(1_500, 1_500)
        with pytest.raises(PolicyError, match=r"privacy\.k: 1501 is more than the 1,500 records"):
            check_k(1_501, 1_500)
        check_k_over_time(1_500, 1_500)
        with pytest.raises(PolicyError, match=r"over_time\.k: 1501 is more than the 1,500 persons"):
            check_k_over_time(1_501, 1_500)

    def test_names(self) -> None:
        assert partition_name((), ()) == "the table"
        partition_columns = (confidential("year"), confidential("site"))
        assert partition_name(partition_columns, (2024, "A")) == "partition year=2024/site=A"


class TestDigest:
    def test_equal_plans_have_equal_digests(self) -> None:
        plans = [
            make_plan(make_release_partition(30, 4), make_release_partition(20, 3))
            for _ in range(2)
        ]
        assert plans[0] is not plans[1]
        assert plans[0].digest() == plans[1].digest()

    def test_any_difference_shows(self) -> None:
        release_partition = make_release_partition(31, 4, n_leaves=2)
        plan = make_plan(release_partition)
        moved = CoarseTree(release_partition.tree.axes, release_partition.tree.thresholds + 1e-9)
        doubled = replace(release_partition.subsets, take=release_partition.subsets.take * 2)
        others = [
            replace(plan, k=3),
            replace(plan, max_emds=(Fraction(1) - TINY,)),
            replace(plan, rows_per_file=999),
            replace(plan, encodings=(confidential("age"),)),
            replace(plan, confidential=(confidential("age"),)),
            make_plan(replace(release_partition, tree=moved)),
            make_plan(replace(release_partition, subsets=doubled)),
            make_plan(release_partition, release_partition),
        ]
        digests = {other.digest() for other in [plan, *others]}
        assert len(digests) == len(others) + 1
