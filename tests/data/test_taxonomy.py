"""Taxonomies: trees as they are written, their levels and distances, and what is refused."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.naive import naive_taxonomy as naive
from support.tables.random_tables import repeatable
from tclose.data.taxonomy import Taxonomy, build_from_mapping, build_from_rows
from tclose.errors import DataError, PolicyError

PLACES = {"any": {"Europe": ["France", "Spain"], "Asia": {"East": ["Japan"], "West": ["Iran"]}}}


@pytest.fixture
def places() -> Taxonomy:
    return build_from_mapping(PLACES)


class TestTree:
    def test_leaves_come_first_in_depth_first_order_and_the_root_last(self, places) -> None:
        assert places.leaves == ("France", "Spain", "Japan", "Iran")
        assert places.names == (*places.leaves, "Europe", "East", "West", "Asia", "any")
        assert places.heights.tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 3]
        assert places.parents.tolist() == [4, 4, 5, 6, 8, 7, 7, 8, -1]
        assert places.paths.tolist() == [[0, 4, 8, -1], [1, 4, 8, -1], [2, 5, 7, 8], [3, 6, 7, 8]]
        assert places.height == 3
        assert places.name(7) == "Asia"

    @repeatable
    @given(naive.trees())
    def test_rows_and_mappings_make_the_same(self, tree: naive.Tree) -> None:
        a, b = build_from_mapping(naive.to_document(tree)), build_from_rows(naive.to_rows(tree))
        assert a.names == b.names
        assert a.leaves == tuple(naive.leaves(tree))
        again = build_from_rows(a.rows)
        for one, other in ((a, b), (a, again)):
            assert one.names == other.names
            assert one.parents.tolist() == other.parents.tolist()
            assert one.heights.tolist() == other.heights.tolist()
            assert one.paths.tolist() == other.paths.tolist()

    @repeatable
    @given(naive.trees(), st.randoms(use_true_random=False))
    def test_the_order_of_rows_changes_neither_levels_nor_distances(self, tree, random) -> None:
        rows = naive.to_rows(tree)
        random.shuffle(rows)
        taxonomy = build_from_rows(rows)
        check_levels(taxonomy, tree)
        check_distances(taxonomy, tree)

    def test_a_repeated_name_fills_a_level_that_a_branch_does_not_have(self) -> None:
        rows = [["Rome", "Rome", "Italy", "*"], ["Nice", "Cote", "France", "*"]]
        taxonomy = build_from_rows([*rows, ["Oslo", "*", "*", "*"]])
        assert taxonomy.heights[
            [taxonomy.names.index(n) for n in ("Italy", "France")]
        ].tolist() == [
            1,
            2,
        ]
        named = [[taxonomy.name(n) for n in level] for level in taxonomy.levels]
        assert named == [
            ["Rome", "Nice", "Oslo"],
            ["Italy", "Cote", "Oslo"],
            ["Italy", "France", "Oslo"],
            ["*", "*", "*"],
        ]

    def test_arrays_are_read_only(self, places) -> None:
        for array in (places.parents, places.heights, places.paths, places.levels):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0

    def test_whole_numbers_are_texts(self) -> None:
        assert build_from_mapping({"*": {"low": [1, 2], "high": 10}}).leaves == ("1", "2", "10")


def check_levels(taxonomy: Taxonomy, tree: naive.Tree) -> None:
    leaves = naive.leaves(tree)
    codes = taxonomy.encode(leaves, "c")
    assert taxonomy.height == naive.height(tree)
    for level in range(taxonomy.height + 1):
        found = [taxonomy.name(node) for node in taxonomy.generalise(codes, level)]
        assert found == [naive.generalised(tree, leaf, level) for leaf in leaves]


def check_distances(taxonomy: Taxonomy, tree: naive.Tree) -> None:
    pairs = list(product(naive.leaves(tree), repeat=2))
    a, b = (taxonomy.encode([pair[i] for pair in pairs], "c") for i in (0, 1))
    common = [taxonomy.name(node) for node in taxonomy.lowest_common(a, b)]
    assert common == [naive.name_of(naive.lowest_common(tree, *pair)) for pair in pairs]
    expected = [float(naive.distance(tree, *pair)) for pair in pairs]
    assert taxonomy.distance(a, b).tolist() == expected


class TestLevels:
    @repeatable
    @given(naive.trees())
    def test_are_the_highest_nodes_up_to_each_height(self, tree: naive.Tree) -> None:
        check_levels(build_from_mapping(naive.to_document(tree)), tree)

    @repeatable
    @given(naive.trees())
    def test_are_unions_of_those_below(self, tree: naive.Tree) -> None:
        levels = build_from_mapping(naive.to_document(tree)).levels
        for fine, coarse in pairwise(levels):
            assert len(set(zip(fine, coarse, strict=True))) == len(set(fine))
        assert len(set(levels[-1])) == 1

    @pytest.mark.parametrize("level", [-1, 4])
    def test_beyond_the_root_are_refused(self, places, level: int) -> None:
        with pytest.raises(PolicyError, match="0 to 3"):
            places.generalise(np.array([0]), level)


class TestDistance:
    @repeatable
    @given(naive.trees())
    def test_is_the_height_of_the_lowest_common_node(self, tree: naive.Tree) -> None:
        check_distances(build_from_mapping(naive.to_document(tree)), tree)


class TestHoles:
    def test_are_found_by_position(self, places) -> None:
        assert places.restrict(["Japan", "Peru", "France", "Asia", "Peru"]).tolist() == [1, 3, 4]

    def test_are_counted_and_never_named(self, places) -> None:
        with pytest.raises(DataError, match=r"column 'c': 2 of its values .* add them") as caught:
            places.encode(["Japan", "Peru", "Chad", "Peru"], "c")
        assert "Peru" not in str(caught.value)

    def test_codes_are_leaves(self, places) -> None:
        assert places.encode(["Iran", "France", "Iran"], "c").tolist() == [3, 0, 3]


class TestRefusedRows:
    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([], "no values"),
            ([["a"], ["b", "*"]], "row 1: a value with nothing above"),
            ([["a", "a"]], "row 1: a value with nothing above"),
            ([["a", "x", "*"], ["b", " ", "*"]], "row 2: a level without a name"),
            ([["a", "", "*"]], "row 1: a level without a name"),
            ([["a", "*"], []], "row 2: a value with nothing above"),
            ([["a", "x", "y", "x"]], "row 1: a name is its own ancestor"),
            ([["a", "x", "a"]], "row 1: a name is its own ancestor"),
            (
                [["a", "x", "y", "*"], ["b", "y", "x", "*"]],
                "row 2: 'y' has two parents, '\\*' and 'x'",
            ),
            ([["a", "x", "*"], ["b", "*", "x"]], "2 roots"),
            ([["a", "x"], ["b", "y"], ["c", "z"]], "3 roots; put one above"),
            (
                [["a", "x", "y", "*"], ["b", "x", "z", "*"]],
                "row 2: 'x' has two parents, 'y' and 'z'",
            ),
            ([["a", "x", "*"], ["b", "*"], ["a", "y", "*"]], "row 3: .* another parent row 1"),
            ([["a", "x", "*"], ["b", "*"], ["a", "x", "*"]], "row 3: a value that appears twice"),
            ([["a", "x", "*"], ["x", "*"]], "row 2: a value has the name of a group"),
        ],
    )
    def test_say_where_and_what_to_do(self, rows: list, message: str) -> None:
        with pytest.raises(PolicyError, match=message):
            build_from_rows(rows)

    def test_places_have_the_names_they_are_given(self) -> None:
        with pytest.raises(PolicyError, match=r"^line 7: a value that appears twice"):
            build_from_rows([["a", "*"], ["a", "*"]], ["line 3", "line 7"])


class TestRefusedMappings:
    @pytest.mark.parametrize(
        ("document", "message"),
        [
            (None, "at the top: nothing"),
            ("a", "at the top: a value with nothing above"),
            ({}, "at the top: an empty branch"),
            ({"*": {"x": []}}, "below 'x': an empty branch"),
            ({"*": {"x": None}}, "below 'x': nothing where"),
            ({"*": ["a", ""]}, "below '\\*': a level without a name"),
            ({"*": ["a", False]}, "below '\\*': a name that YAML does not read as text"),
            ({"*": ["a", 1.5]}, "put it in quotes"),
            ({"x": ["a"], "y": ["b"]}, "2 roots"),
            (
                {"*": {"x": ["a", "b"], "y": ["b"]}},
                "below 'y': a value has another parent below 'x'",
            ),
            ({"*": {"x": ["a", "a"]}}, "below 'x': a value that appears twice"),
            ({"*": {"x": {"y": ["a"]}, "y": ["b"]}}, "'y' has two parents, 'x' and"),
            ({"*": {"x": {"*": ["a"]}}}, "a name is its own ancestor"),
        ],
    )
    def test_say_where_and_what_to_do(self, document: object, message: str) -> None:
        with pytest.raises(PolicyError, match=message):
            build_from_mapping(document)

    def test_branches_below_themselves(self) -> None:
        loop: list[object] = ["a"]
        loop.append({"x": loop})
        with pytest.raises(PolicyError, match="below 'x': a branch that appears elsewhere too"):
            build_from_mapping({"*": loop})
