"""Levels of full-domain generalisation: what each value becomes, spelled so that it is true."""

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.tables.value_encodings import encode
from tclose.errors import DataError, PolicyError
from tclose.methods.generalisation.full_domain import FullDomain
from tclose.methods.generalisation.notation import parse_set
from tclose.methods.incognito.incognito_method import generalise_fully
from tclose.model.column_terms import Kind

WAYS = (("Bonn", "DE", "any"), ("Köln", "DE", "any"), ("St. Jean, Var", "FR, south", "any"))


def levels_of(values: list[Any] | pa.Array, needed: int = 1, **given: Any) -> FullDomain:
    """The levels at which every class has ``needed`` records, of one quasi-identifier."""
    array = values if isinstance(values, pa.Array) else pa.array(values)
    encoding, keys = encode(array, **given)
    return generalise_fully((encoding,), [keys], lambda _, starts: np.diff(starts) >= needed)


def texts_at(found: FullDomain, level: int) -> list[str]:
    return found.hierarchies[0].texts[level].tolist()


class TestHierarchies:
    def test_without_one_the_value_or_everything(self) -> None:
        found = levels_of(["b", "a", "b, c"])
        assert texts_at(found, 0) == ["a", "b", '"b, c"']
        assert texts_at(found, 1) == ["*"] * 3
        assert found.hierarchies[0].spans.tolist() == [[0, 0, 0], [1, 1, 1]]

    def test_days_and_ranks_have_two_levels(self) -> None:
        days = pa.array([datetime.date(2020, 2, 29), datetime.date(2020, 3, 1)])
        assert texts_at(levels_of(days), 0) == ["2020-02-29", "2020-03-01"]
        ranked = levels_of(["hi", "lo"], kind=Kind.ORDINAL, order=("lo", "mid", "hi"))
        assert texts_at(ranked, 0) == ["lo", "hi"]
        assert ranked.hierarchies[0].lows[1].tolist() == [0, 0]
        assert ranked.hierarchies[0].highs[1].tolist() == [2, 2]

    def test_taxonomy(self) -> None:
        found = levels_of(["Köln", "St. Jean, Var", "Bonn"], taxonomy=WAYS)
        assert texts_at(found, 0) == ["Bonn", "Köln", '"St. Jean, Var"']
        assert texts_at(found, 1) == ["DE", "DE", '"FR, south"']
        assert texts_at(found, 2) == ["any"] * 3
        assert found.hierarchies[0].spans.tolist() == [[0, 0, 0], [0.5, 0.5, 0], [1, 1, 1]]
        for level in range(3):
            assert all(len(parse_set(text)) == 1 for text in texts_at(found, level))

    def test_spans_count_the_values_that_occur(self) -> None:
        found = levels_of(["Köln", "Bonn"], taxonomy=WAYS)
        assert found.hierarchies[0].spans.tolist() == [[0, 0], [1, 1], [1, 1]]

    def test_values_beyond_the_taxonomy_are_refused(self) -> None:
        with pytest.raises(DataError, match="1 of its values is not in its taxonomy"):
            levels_of(["Köln", "Oslo"], taxonomy=WAYS)

    def test_intervals(self) -> None:
        found = levels_of([-1, 0, 4, 5, 12], intervals=(("5", "10"), "0"))
        assert texts_at(found, 0) == ["-1", "0", "4", "5", "12"]
        assert texts_at(found, 1) == ["[-5, 0)", "[0, 5)", "[0, 5)", "[5, 10)", "[10, 15)"]
        assert texts_at(found, 2) == ["[-10, 0)", "[0, 10)", "[0, 10)", "[0, 10)", "[10, 20)"]
        assert texts_at(found, 3) == ["*"] * 5
        # What they lose is measured within the range of the values, -1 to 12.
        assert found.hierarchies[0].lows[1].tolist() == [-1, 0, 0, 5, 10]
        assert found.hierarchies[0].highs[1].tolist() == [0, 5, 5, 10, 12]
        assert found.hierarchies[0].spans[2] == pytest.approx(np.array([1, 10, 10, 10, 2]) / 13)

    def test_intervals_of_floats_and_an_origin(self) -> None:
        found = levels_of([0.1, 0.3, 0.7], intervals=(("0.2",), "0.1"))
        assert texts_at(found, 1) == ["[0.1, 0.3)", "[0.3, 0.5)", "[0.7, 0.9)"]

    @pytest.mark.parametrize(
        "dtype", [pa.decimal128(5, 2), pa.decimal64(9, 1), pa.decimal128(9, 4)]
    )
    def test_intervals_of_decimals_are_in_units_of_the_values(self, dtype: pa.DataType) -> None:
        values = [Decimal(text) for text in ("-0.5", "0.0", "2.4", "2.5", "11.0")]
        found = levels_of(pa.array(values, dtype), intervals=(("2.5", "5"), "0"))
        assert texts_at(found, 1) == [
            "[-2.5, 0)", "[0, 2.5)", "[0, 2.5)", "[2.5, 5)", "[10, 12.5)"
        ]  # fmt: skip
        assert texts_at(found, 2) == ["[-5, 0)", "[0, 5)", "[0, 5)", "[0, 5)", "[10, 15)"]
        assert found.hierarchies[0].spans[1] == pytest.approx(np.array([5, 25, 25, 25, 10]) / 115)

    @pytest.mark.parametrize(
        ("values", "intervals", "words"),
        [
            ([1, 2], (("2", "3"), "0"), r"attributes\.x\.intervals: width 3 does not consist"),
            ([1, 2], ((), "0"), r"attributes\.x\.intervals: widths have to be"),
            (["a", "b"], (("2",), "0"), r"attributes\.x: is nominal; intervals go with numbers"),
        ],
    )
    def test_intervals_of_no_use(self, values: list[Any], intervals: Any, words: str) -> None:
        with pytest.raises(PolicyError, match=words):
            levels_of(values, intervals=intervals)


class TestChoice:
    def test_the_least_general_level_that_holds(self) -> None:
        ages = [1, 2, 11, 12, 21, 22]
        for needed, node in [(1, 0), (2, 1), (3, 2), (6, 2)]:
            found = levels_of(ages, needed, intervals=(("10",), "0"))
            assert found.node == (node,)
            sizes = np.bincount(found.labels)
            assert sizes.min() >= needed
            assert sizes.size == {0: 6, 1: 3, 2: 1}[node]

    def test_released_by_class(self) -> None:
        encoding, keys = encode(pa.array([22, 1, 12, 2, 21, 11]), intervals=(("10",), "0"))
        found = generalise_fully((encoding,), [keys], lambda _, starts: np.diff(starts) >= 2)
        order = np.argsort(found.labels, kind="stable")
        starts = np.array([0, 2, 4, 6])
        made = found.release(0, keys, order, starts)
        assert made.texts.tolist() == ["[0, 10)", "[10, 20)", "[20, 30)"]
        assert made.low.tolist() == [1, 10, 20]
        assert made.high.tolist() == [10, 20, 22]
