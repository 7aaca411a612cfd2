"""Full-domain generalisation: the pruned search finds what looking at every node finds."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_taxonomy as naive
from support.tables.random_tables import repeatable, seeds
from tclose.data.taxonomy import build_from_mapping, build_from_rows
from tclose.errors import DataError, InfeasibleError, PolicyError
from tclose.kernels.emd.tree import tree_emds, tree_exceeds
from tclose.methods.generalisation.intervals import build_intervals
from tclose.methods.incognito.lattice_search import Predicate, find_generalisations


@st.composite
def domains(draw: st.DrawFn) -> tuple[np.ndarray, list[np.ndarray]]:
    """Codes of one to four attributes, and levels that group them at random; the last may not be
    one for all."""
    rng = np.random.default_rng(draw(seeds))
    n_records, n_attributes = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    tables = []
    for _ in range(n_attributes):
        levels = [rng.permutation(draw(st.integers(1, 6)))]
        for _ in range(draw(st.integers(0, 3))):
            levels.append(rng.integers(0, draw(st.integers(1, 4)), 10)[levels[-1]])
        tables.append(np.array(levels))
    codes = np.array([rng.integers(0, table.shape[1], n_records) for table in tables])
    return codes, tables


def at_least(k: int) -> Predicate:
    return lambda order, starts: np.diff(starts) >= k


def diverse(k: int, n_values: int, confidential: np.ndarray) -> Predicate:
    """Classes with k records and with different confidential values."""

    def holds(order: np.ndarray, starts: np.ndarray) -> np.ndarray:
        classes = np.split(order, starts[1:-1])
        return np.array(
            [c.size >= k and np.unique(confidential[c]).size >= n_values for c in classes]
        )

    return holds


PATIENTS = [
    ("1/21/76", "male", "53715"),
    ("4/13/86", "female", "53715"),
    ("2/28/76", "male", "53703"),
    ("1/21/76", "male", "53703"),
    ("4/13/86", "female", "53706"),
    ("2/28/76", "female", "53706"),
]


class TestPatients:
    """The patients of LeFevre et al. and their hierarchies: 2-anonymity, worked out by hand."""

    TAXONOMIES = (
        build_from_mapping({"*": ["1/21/76", "4/13/86", "2/28/76"]}),
        build_from_mapping({"person": ["male", "female"]}),
        build_from_mapping({"537**": {"5371*": ["53715"], "5370*": ["53703", "53706"]}}),
    )

    def codes(self) -> np.ndarray:
        columns = zip(*PATIENTS, strict=True)
        return np.array(
            [t.encode(values, "c") for t, values in zip(self.TAXONOMIES, columns, strict=True)]
        )

    def test_minimal_generalisations(self) -> None:
        found = find_generalisations(self.codes(), [t.levels for t in self.TAXONOMIES], at_least(2))
        assert found.minimal == ((0, 1, 2), (1, 0, 2), (1, 1, 0))
        # All cost two whole levels; three classes of two discern less than two of three.
        assert found.chosen == (0, 1, 2)
        assert found.classes.sizes.tolist() == [2, 2, 2]

    def test_of_two_attributes(self) -> None:
        found = find_generalisations(
            self.codes()[1:], [t.levels for t in self.TAXONOMIES[1:]], at_least(2)
        )
        assert found.minimal == ((0, 2), (1, 0))


class TestMinimal:
    @repeatable
    @given(domains(), st.integers(1, 8))
    def test_with_k(self, domain: tuple, k: int) -> None:
        codes, tables = domain
        expected = naive.minimal_generalisations(
            codes, tables, lambda classes: all(len(c) >= k for c in classes)
        )
        self.check(codes, tables, at_least(k), expected)

    @repeatable
    @given(domains(), st.integers(1, 5), st.integers(1, 3), seeds)
    def test_with_k_and_diversity(self, domain: tuple, k: int, n_values: int, seed: int) -> None:
        codes, tables = domain
        confidential = np.random.default_rng(seed).integers(0, 4, codes.shape[1])
        expected = naive.minimal_generalisations(
            codes,
            tables,
            lambda classes: all(
                len(c) >= k and len({int(confidential[i]) for i in c}) >= n_values for c in classes
            ),
        )
        self.check(codes, tables, diverse(k, n_values, confidential), expected)

    @repeatable
    @given(domains(), st.fractions(0, 1), st.data())
    def test_with_t(self, domain: tuple, limit: Fraction, data: st.DataObject) -> None:
        codes, tables = domain
        tree = data.draw(naive.trees())
        leaves = naive.leaves(tree)
        picks = st.lists(st.sampled_from(leaves), min_size=codes.shape[1], max_size=codes.shape[1])
        values = data.draw(picks)
        taxonomy = build_from_mapping(naive.to_document(tree))
        leaf_codes = taxonomy.encode(values, "c")
        metric = taxonomy.metric(np.bincount(leaf_codes, minlength=len(leaves)))

        def holds(order: np.ndarray, starts: np.ndarray) -> np.ndarray:
            members, close = leaf_codes[order], np.ones(starts.size - 1, dtype=bool)
            emds = tree_emds(members, starts, metric.paths, metric.weights, metric.below)
            close[tree_exceeds(emds, limit, members, starts, metric)] = False
            return close

        expected = naive.minimal_generalisations(
            codes,
            tables,
            lambda classes: all(
                naive.hierarchical_emd(tree, [values[i] for i in c], values) <= limit
                for c in classes
            ),
        )
        self.check(codes, tables, holds, expected)

    def check(self, codes: np.ndarray, tables: list, holds: Predicate, expected: list) -> None:
        if not expected:
            with pytest.raises(InfeasibleError, match="not even their highest levels"):
                find_generalisations(codes, tables, holds)
            return
        found = find_generalisations(codes, tables, holds)
        assert list(found.minimal) == expected
        assert found.chosen in expected
        by_class = np.split(found.classes.order, found.classes.starts[1:-1])
        assert sorted(sorted(c.tolist()) for c in by_class) == sorted(
            naive.classes_at(codes, tables, found.chosen)
        )


class TestSearch:
    @repeatable
    @given(domains(), st.integers(1, 6))
    def test_tests_true_classes_and_no_node_twice(self, domain: tuple, k: int) -> None:
        codes, tables = domain
        seen = Counter[str]()
        wholes = self.classes_of_all_nodes(codes, tables)

        def holds(order: np.ndarray, starts: np.ndarray) -> np.ndarray:
            assert sorted(order.tolist()) == list(range(codes.shape[1]))
            classes = frozenset(frozenset(c.tolist()) for c in np.split(order, starts[1:-1]))
            seen[str(sorted(map(sorted, classes)))] += 1
            return np.diff(starts) >= k

        try:
            n_checked = find_generalisations(codes, tables, holds).n_checked
        except InfeasibleError:
            n_checked = sum(seen.values())
        assert n_checked == sum(seen.values())
        assert all(count <= wholes[classes] for classes, count in seen.items())

    @staticmethod
    def classes_of_all_nodes(codes: np.ndarray, tables: list) -> Counter:
        """How many nodes, of the lattices of all subsets, have the same classes."""
        found = Counter[str]()
        n = len(tables)
        for chosen in range(1, 2**n):
            subset = [a for a in range(n) if chosen >> a & 1]
            part = [tables[a] for a in subset]
            for node in np.ndindex(*(len(table) for table in part)):
                found[str(sorted(map(sorted, naive.classes_at(codes[subset], part, node))))] += 1
        return found

    def test_stops_at_the_bottom_where_that_holds(self) -> None:
        table = np.array([[0, 1, 2], [0, 0, 0]])
        codes = np.array([[0, 1, 2, 0], [0, 0, 1, 1], [2, 1, 0, 0], [1, 1, 1, 2]])
        found = find_generalisations(codes, [table] * 4, at_least(1))
        assert found.minimal == ((0, 0, 0, 0),)
        assert found.n_checked == 2**4 - 1

    def test_leaves_out_what_fails_with_fewer_attributes(self) -> None:
        """The first attribute holds at its top alone: nothing below that is tested with others."""
        tables = [np.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]]), np.array([[0, 1], [0, 0]])]
        codes = np.array([[0, 1, 0, 1, 2], [0, 0, 0, 0, 0]])
        found = find_generalisations(codes, tables, at_least(2))
        assert found.minimal == ((2, 0),)
        assert found.n_checked == 3 + 1 + 1

    def test_of_keys_beyond_64_bits(self) -> None:
        """The first attribute's place in a key would be 2**65: it alone tells one record apart."""
        n_values = 2**13
        table = np.stack([np.arange(n_values), np.zeros(n_values, dtype=np.int64)])
        codes = np.stack([np.repeat(np.arange(n_values), 3)] * 6)
        assert find_generalisations(codes, [table] * 6, at_least(2)).minimal == ((0,) * 6,)
        codes[0, 0] = 1
        found = find_generalisations(codes, [table] * 6, at_least(2))
        assert found.minimal == ((0, 1, 1, 1, 1, 1), (1, 0, 0, 0, 0, 0))

    def test_takes_taxonomies_and_intervals_together(self) -> None:
        ages = np.array([21, 23, 34, 36, 52, 58])
        distinct, age_codes = np.unique(ages, return_inverse=True)
        intervals = build_intervals([5, 10, 20])
        towns = build_from_rows([["a", "x", "*"], ["b", "x", "*"], ["c", "*"]])
        codes = np.array([age_codes, towns.encode(list("abaacc"), "town")])
        found = find_generalisations(
            codes, [intervals.tabulate(distinct), towns.levels], at_least(2)
        )
        assert found.minimal == ((2, 1),)
        assert found.chosen == (2, 1)


class TestChoice:
    CODES = np.array([[0, 0, 0, 1, 1], [0, 1, 1, 0, 0]])
    TABLES = (np.array([[0, 1], [0, 0]]), np.array([[0, 1], [0, 0]]))

    def test_is_the_least_discernibility_of_equal_costs(self) -> None:
        codes = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 0, 0, 1, 0]])
        found = find_generalisations(codes, self.TABLES, at_least(2))
        assert found.minimal == ((0, 1), (1, 0))
        assert found.chosen == (0, 1)  # 9 + 9 against 16 + 4
        turned = find_generalisations(codes[::-1], self.TABLES, at_least(2))
        assert turned.chosen == (1, 0)

    def test_is_the_first_of_equals(self) -> None:
        codes = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
        assert find_generalisations(codes, self.TABLES, at_least(2)).chosen == (0, 1)

    def test_weighs_a_level_by_the_height_of_its_attribute(self) -> None:
        """One of three levels is less loss than one of one, whatever it discerns."""
        tall = np.array([[0, 1], [0, 0], [0, 0], [0, 0]])
        codes = np.array([[0, 1, 0, 0, 1, 0], [0, 0, 0, 1, 1, 1]])
        found = find_generalisations(codes[::-1], [self.TABLES[0], tall], at_least(2))
        assert found.minimal == ((0, 1), (1, 0))
        assert found.chosen == (0, 1)
        found = find_generalisations(codes, [tall, self.TABLES[0]], at_least(2))
        assert found.chosen == (1, 0)


class TestRefused:
    def test_no_records(self) -> None:
        with pytest.raises(DataError, match="no records"):
            find_generalisations(np.empty((1, 0), np.int64), [np.array([[0]])], at_least(1))

    def test_levels_that_are_not_nested(self) -> None:
        table = np.array([[0, 1, 2], [0, 0, 1], [0, 1, 1]])
        with pytest.raises(PolicyError, match="quasi-identifier 2: level 2 parts values that"):
            find_generalisations(np.zeros((2, 3), np.int64), [table[:2], table], at_least(1))

    def test_too_many_nodes(self) -> None:
        table = np.zeros((10, 1), np.int64)
        with pytest.raises(PolicyError, match="fewer levels"):
            find_generalisations(np.zeros((8, 3), np.int64), [table] * 8, at_least(1))

    @pytest.mark.parametrize("code", [-1, 3])
    def test_codes_beyond_the_table(self, code: int) -> None:
        with pytest.raises(ValueError, match="columns of their attribute's table"):
            find_generalisations(np.array([[0, code]]), [np.array([[0, 1, 2]])], at_least(1))

    @pytest.mark.parametrize("answer", [np.empty(0, bool), np.array(True), np.ones(2)])
    def test_answers_that_leave_classes_open(self, answer: np.ndarray) -> None:
        codes, table = np.array([[0, 1, 0, 1]]), np.array([[0, 1]])
        with pytest.raises(ValueError, match="one bool for each class"):
            find_generalisations(codes, [table], lambda order, starts: answer)
