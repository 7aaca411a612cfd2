"""Combinations of values as codes of a joint attribute, and the distance that they have."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.naive import naive_joint, naive_taxonomy
from support.naive import naive_kernels as naive
from support.tables.random_tables import class_sizes, repeatable, seeds, starts_of
from tclose.errors import DataError
from tclose.model.attributes import Attribute
from tclose.model.column_terms import Distance, Kind, Role
from tclose.model.distribution import make_distribution
from tclose.privacy.joint import (
    Joint,
    append_joint,
    encode_joint,
    joint_column,
    number_combinations,
    place_parts,
)
from tclose.privacy.t_closeness import class_distances, classes_above, with_metric

ATTRIBUTE = Attribute(
    "a with b",
    Role.CONFIDENTIAL,
    kind=Kind.NOMINAL,
    max_emd=Fraction(1, 4),
    distance=Distance.EQUAL,
    combines=("a", "b"),
)


@st.composite
def parts(draw: st.DrawFn, min_records: int = 1) -> np.ndarray:
    """Codes int64 (p, n): few values or many, one that rules, parts that follow one another."""
    n_parts, n_records = draw(st.integers(2, 4)), draw(st.integers(min_records, 50))
    rng = np.random.default_rng(draw(seeds))
    columns: list[np.ndarray] = []
    for _ in range(n_parts):
        shape = draw(st.sampled_from(["few", "many", "one rules", "follows"]))
        if shape == "few":
            column = rng.integers(0, 3, n_records)
        elif shape == "many":
            column = rng.integers(0, 10**6, n_records)
        elif shape == "one rules":
            column = np.where(rng.random(n_records) < 0.9, 0, rng.integers(0, 9, n_records))
        else:
            column = columns[-1] * 7 % 5 if columns else rng.integers(0, 2, n_records)
        columns.append(column)
    return np.array(columns, dtype=np.int64)


def widths_of(codes: np.ndarray) -> list[int]:
    return [int(row.max()) + 1 for row in codes]


def distribution_of(codes: np.ndarray):
    combinations, counts = number_combinations(codes, widths_of(codes))
    made = make_distribution(np.arange(counts.size), counts)
    return combinations, with_metric(made, joint_column(ATTRIBUTE), ())


class TestNumbers:
    @repeatable
    @given(parts())
    def test_are_places_among_all_combinations(self, codes: np.ndarray) -> None:
        combinations, counts = number_combinations(codes, widths_of(codes))
        places = naive_joint.number_combinations(codes.T.tolist())
        found = combinations.find(codes)
        assert found.tolist() == [places[tuple(row)] for row in codes.T.tolist()]
        assert counts.tolist() == np.bincount(found).tolist()
        assert combinations.parts().T.tolist() == [list(row) for row in sorted(places)]
        assert combinations.n_combinations == len(places)

    @repeatable
    @given(parts(min_records=2), st.integers(1, 5))
    def test_of_pieces_are_those_of_the_table(self, codes: np.ndarray, n_pieces: int) -> None:
        """As partitions count them, and the planner puts them together."""
        widths = widths_of(codes)
        pieces = []
        for piece in np.array_split(codes, n_pieces, axis=1):
            combinations, counts = number_combinations(piece, widths)
            pieces.append(np.vstack([combinations.parts(), counts]))
        rows = np.concatenate(pieces, axis=1)
        merged, counts = number_combinations(rows[:-1], widths, rows[-1])
        whole, expected = number_combinations(codes, widths)
        assert counts.tolist() == expected.tolist()
        assert merged.parts().tolist() == whole.parts().tolist()

    @repeatable
    @given(parts(), st.data())
    def test_a_combination_that_was_not_there_is_refused(self, codes, data) -> None:
        combinations, _ = number_combinations(codes, widths_of(codes))
        other = np.array([[data.draw(st.integers(0, w - 1))] for w in combinations.widths])
        assume(not (codes == other).all(axis=0).any())
        with pytest.raises(DataError, match="input changed"):
            combinations.find(other)

    def test_wide_parts_do_not_overflow(self) -> None:
        """Of five attributes of two billion values each, the keys of all would not fit 64 bits."""
        codes = np.array([[2**31 - 2, 2**31 - 3, 0]] * 5, dtype=np.int64)
        combinations, counts = number_combinations(codes, [2**31 - 1] * 5)
        assert counts.tolist() == [1, 1, 1]
        assert combinations.find(codes).tolist() == [2, 1, 0]
        assert combinations.parts()[:, 2].tolist() == [2**31 - 2] * 5

    def test_joint_attributes_come_after_the_others(self) -> None:
        codes = np.array([[0, 1, 1], [5, 6, 7], [2, 2, 0]])
        combinations, _ = number_combinations(codes[[2, 0]], [3, 2])
        joint = Joint(place_parts(ATTRIBUTE, ["b", "c", "a"]), combinations)
        assert joint.places == (2, 0)
        assert append_joint(codes, [joint]).tolist() == [*codes.tolist(), [1, 2, 0]]
        assert append_joint(codes, []) is codes

    def test_encoding_is_of_a_joint_attribute(self) -> None:
        column = encode_joint(ATTRIBUTE).column
        assert column.is_joint
        assert column.distance is Distance.EQUAL
        assert column.is_held_to_t


class TestDistance:
    @repeatable
    @given(parts(), st.data())
    def test_is_that_of_the_tuples(self, codes: np.ndarray, data: st.DataObject) -> None:
        """By the definition, exactly; and as the least work of any transport."""
        combinations, table = distribution_of(codes)
        starts = starts_of(data.draw(class_sizes(codes.shape[1])))
        joint = combinations.find(codes)
        found = class_distances(joint, starts, table)
        rows = [tuple(row) for row in codes.T.tolist()]
        exact = [naive_joint.joint_emd(rows[a:b], rows) for a, b in pairwise(starts)]
        assert found.tolist() == pytest.approx([float(emd) for emd in exact], abs=1e-12)
        by_work = naive_joint.transport(rows[starts[0] : starts[1]], rows)
        assert float(exact[0]) == pytest.approx(by_work, abs=1e-7)
        for limit in {*exact, Fraction(1, 3)}:
            above = classes_above(found, limit, joint, starts, table)
            assert above.tolist() == [i for i, emd in enumerate(exact) if emd > limit]

    @repeatable
    @given(parts(), st.data())
    def test_bounds_each_attributes_own(self, codes: np.ndarray, data: st.DataObject) -> None:
        """What the policy relies on where an attribute has no t of its own."""
        size = data.draw(st.integers(1, codes.shape[1]))
        rows = [tuple(row) for row in codes.T.tolist()]
        joint = naive_joint.joint_emd(rows[:size], rows)
        for column in codes.tolist():
            texts = [str(value) for value in column]
            assert naive_taxonomy.equal_emd(texts[:size], texts) <= joint
            assert naive.ordered_emd(column[:size], column) <= joint
