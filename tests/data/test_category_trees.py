"""Quasi-identifiers with a taxonomy: columns, common ancestors and distances by the definitions."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_taxonomy
from support.naive.naive_taxonomy import Tree
from support.tables.random_tables import repeatable, seeds, starts_of
from tclose.data.category_trees import tree_of
from tclose.data.columns import resolve_column
from tclose.data.encodings import make_encoding
from tclose.data.keys import Encoding
from tclose.data.value_counts import ColumnSummary
from tclose.errors import DataError
from tclose.methods.scaling import scale_columns
from tclose.model.attributes import ANCESTOR, Attribute
from tclose.model.column_terms import Kind, Role
from tclose.passes.microaggregate.losses import measure_aggregation
from tclose.passes.microaggregate.release_classes import aggregate_column

PLACES = (
    ("Bern", "Switzerland", "Europe", "World"),
    ("Basel", "Switzerland", "Europe", "World"),
    ("Rome", "Italy", "Europe", "World"),
    ("Lima", "Peru", "World"),
)


def encoding_of(
    rows: tuple[tuple[str, ...], ...], values: list, aggregate: str | None = None
) -> Encoding:
    attribute = Attribute("place", Role.QUASI_IDENTIFIER, Kind.NOMINAL, aggregate=aggregate)
    attribute = Attribute(**(vars(attribute) | {"taxonomy": rows}))
    column = resolve_column(attribute, pa.array(values).type)
    return make_encoding(column, ColumnSummary(categories=Counter(values)))


@st.composite
def tables(draw: st.DrawFn) -> tuple[Tree, list[str]]:
    """A tree with inner nodes, and values that are some of its leaves."""
    tree = draw(naive_taxonomy.trees())
    leaves = naive_taxonomy.leaves(tree)
    return tree, draw(st.lists(st.sampled_from(leaves), min_size=1, max_size=20))


def rows_of(tree: Tree) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(row) for row in naive_taxonomy.to_rows(tree))


def named(tree: Tree, name: str) -> Tree:
    """The subtree of that name."""
    around = (naive_taxonomy.ancestors(tree, leaf) for leaf in naive_taxonomy.leaves(tree))
    return next(node for path in around for node in path if naive_taxonomy.name_of(node) == name)


class TestColumns:
    @repeatable
    @given(tables())
    def test_sum_to_the_hierarchical_distance(self, case: tuple[Tree, list[str]]) -> None:
        tree, values = case
        encoding = encoding_of(rows_of(tree), values)
        scaled = scale_columns([encoding], [encoding.encode(pa.array(values))])
        height = naive_taxonomy.height(tree)
        assert scaled.nominal.shape == (height, len(values))
        assert scaled.weights.tolist() == [1 / height] * height
        assert scaled.nominal.min() >= 0
        assert scaled.nominal.max() < scaled.n_levels
        for i, a in enumerate(values):
            for j, b in enumerate(values):
                n_apart = int(np.count_nonzero(scaled.nominal[:, i] != scaled.nominal[:, j]))
                assert Fraction(n_apart, height) == naive_taxonomy.distance(tree, a, b)

    @repeatable
    @given(tables())
    def test_are_in_one_order_at_all_levels(self, case: tuple[Tree, list[str]]) -> None:
        """Cuts along the lowest column keep branches together."""
        tree, values = case
        encoding = encoding_of(rows_of(tree), values)
        nominal = scale_columns([encoding], [encoding.encode(pa.array(values))]).nominal
        ranked = nominal[:, np.argsort(nominal[0], kind="stable")]
        assert (np.diff(ranked, axis=1) >= 0).all()

    @repeatable
    @given(tables(), st.randoms(use_true_random=False))
    def test_do_not_depend_on_how_the_taxonomy_is_listed(self, case, random) -> None:
        tree, values = case
        rows = list(rows_of(tree))
        random.shuffle(rows)
        found = [tree_of(encoding_of(tuple(r), values)) for r in (rows_of(tree), rows)]
        assert found[0] is not None
        assert found[1] is not None
        assert found[0].columns().tolist() == found[1].columns().tolist()

    @pytest.mark.parametrize("order", ["cba", "bac"])
    def test_of_height_one_are_those_without_a_taxonomy(self, order: str) -> None:
        values = ["c", "a", "b", "a"]
        keys = [np.array([0, 2, 1])]
        flat = scale_columns([encoding_of(tuple((v, "any") for v in order), values)], keys)
        plain = scale_columns([encoding_of((), values)], keys)
        assert flat.nominal.tolist() == plain.nominal.tolist() == [[0, 2, 1]]
        assert flat.weights.tolist() == plain.weights.tolist() == [1]
        assert (flat.n_levels, plain.n_levels) == (3, 3)

    def test_beside_others(self) -> None:
        values = ["Bern", "Basel", "Rome", "Lima"]
        encodings = [encoding_of((), ["x", "y"]), encoding_of(PLACES, values)]
        places = encodings[1].encode(pa.array(["Basel", "Rome", "Lima"]))
        scaled = scale_columns(encodings, [np.array([1, 0, 1]), places])
        assert scaled.weights.tolist() == [1, 1 / 3, 1 / 3, 1 / 3]
        # Basel and Bern are first by name, then what is in Europe; Lima stays Lima at level 0.
        assert scaled.nominal[:2].tolist() == [[1, 0, 1], [0, 2, 3]]


class TestAncestors:
    @repeatable
    @given(tables(), st.data())
    def test_are_the_lowest_above_a_classs_values(self, case, data: st.DataObject) -> None:
        tree, values = case
        encoding = encoding_of(rows_of(tree), values, ANCESTOR)
        keys = encoding.encode(pa.array(values))
        rng = np.random.default_rng(data.draw(seeds))
        order = rng.permutation(len(values))
        ends = sorted({0, len(values), *rng.integers(0, len(values) + 1, 3).tolist()})
        released = aggregate_column(encoding, keys, order, np.array(ends))
        assert released.dtype == np.int64
        names = encoding.decode(released).to_pylist()
        for name, a, b in zip(names, ends[:-1], ends[1:], strict=True):
            members = [values[i] for i in order[a:b]]
            common = set.intersection(
                *({naive_taxonomy.name_of(n) for n in naive_taxonomy.ancestors(tree, m)}
                  for m in members)
            )  # fmt: skip
            lowest = min(common, key=lambda one: naive_taxonomy.height(named(tree, one)))
            assert name == lowest

    @repeatable
    @given(tables(), st.sampled_from(["mode", ANCESTOR]), seeds)
    def test_lose_what_the_distance_says(self, case, aggregate: str, seed: int) -> None:
        """Of an inner node above a value, its own height; of all values, that of what is common."""
        tree, values = case
        encoding = encoding_of(rows_of(tree), values, aggregate)
        keys = encoding.encode(pa.array(values))
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(values))
        starts = starts_of([len(values)])
        of_class = rng.integers(0, len(encoding.texts), 1)
        losses = measure_aggregation((encoding,), [keys], [of_class], (order, starts)).squares
        released = named(tree, encoding.texts[of_class[0]])
        below = set(naive_taxonomy.leaves(released))
        expected = Fraction(0)
        for value in values:
            path = naive_taxonomy.ancestors(tree, value)
            common = [node for node in path if below <= set(naive_taxonomy.leaves(node))][-1]
            heights = max(naive_taxonomy.height(n) for n in (common, released))
            expected += Fraction(heights, naive_taxonomy.height(tree))
        assert losses[0] == pytest.approx(float(expected), abs=1e-12)

    @pytest.mark.parametrize(
        ("members", "name", "loss"),
        [
            (["Bern", "Bern"], "Bern", 0),
            (["Bern", "Basel"], "Switzerland", 2 / 3),
            (["Bern", "Rome", "Rome"], "Europe", 2),
            (["Lima", "Lima", "Rome"], "World", 3),
        ],
    )
    def test_of_places(self, members: list[str], name: str, loss: float) -> None:
        encoding = encoding_of(PLACES, [row[0] for row in PLACES], ANCESTOR)
        keys = encoding.encode(pa.array(members))
        order, starts = np.arange(len(members)), starts_of([len(members)])
        released = aggregate_column(encoding, keys, order, starts)
        assert encoding.decode(released).to_pylist() == [name]
        losses = measure_aggregation((encoding,), [keys], [released], (order, starts)).squares
        assert losses[0] == pytest.approx(loss, abs=1e-12)

    def test_released_node_is_at_its_height_from_all_below(self) -> None:
        encoding = encoding_of(PLACES, [row[0] for row in PLACES], ANCESTOR)
        names = ["Europe", "Bern", "Rome", "Lima"]
        scaled = scale_columns([encoding], [encoding.encode(pa.array(names))])
        apart = (scaled.nominal[:, :1] != scaled.nominal[:, 1:]).sum(axis=0)
        assert apart.tolist() == [2, 2, 3]

    @repeatable
    @given(tables())
    def test_values_below_each_node_are_those_that_it_is_above(self, case) -> None:
        tree, values = case
        encoding = encoding_of(rows_of(tree), values, ANCESTOR)
        below = tree_of(encoding).list_below()
        for node, name in enumerate(encoding.texts):
            covered = {encoding.texts[i] for i in below[node].tolist()}
            assert covered == set(values) & set(naive_taxonomy.leaves(named(tree, name)))

    def test_names_are_sorted_with_the_values(self) -> None:
        """So that the order of released rows says nothing."""
        encoding = encoding_of(PLACES, ["Bern", "Rome"], ANCESTOR)
        assert encoding.texts == ["Bern", "Europe", "Italy", "Rome", "Switzerland", "World"]
        assert encoding_of(PLACES, ["Bern", "Rome"]).texts == ["Bern", "Rome"]

    def test_of_numbers_are_texts(self) -> None:
        rows = (("8001", "80..", "any"), ("8002", "80..", "any"), ("4051", "any"))
        encoding = encoding_of(rows, [8001, 8002, 4051], ANCESTOR)
        keys = encoding.encode(pa.array([8001, 8002]))
        released = aggregate_column(encoding, keys, np.arange(2), starts_of([1, 1]))
        assert encoding.decode(released).to_pylist() == ["8001", "8002"]
        assert encoding.release_type == pa.string()
        both = aggregate_column(encoding, keys, np.arange(2), starts_of([2]))
        assert encoding.decode(both).to_pylist() == ["80.."]


class TestRefusals:
    @pytest.mark.parametrize("aggregate", [None, "mode", ANCESTOR])
    def test_values_that_the_taxonomy_does_not_have(self, aggregate: str | None) -> None:
        with pytest.raises(DataError, match="'place': 2 of its values are not in its taxonomy"):
            encoding_of(PLACES, ["Bern", "Oslo", "Oslo", "Kyiv"], aggregate)

    def test_names_of_nodes_are_no_values(self) -> None:
        with pytest.raises(DataError, match="1 of its values is not in its taxonomy"):
            encoding_of(PLACES, ["Bern", "Europe"], ANCESTOR)

    def test_ancestor_without_a_taxonomy(self) -> None:
        with pytest.raises(DataError, match="can be mode or representative, not ancestor"):
            encoding_of((), ["Bern"], ANCESTOR)
