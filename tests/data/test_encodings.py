"""Encodings: categories and their order, keys of confidential values, and scales."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from support.tables.column_kinds import COLUMNS, CONFIDENTIAL, ROWS, column
from tclose.data.encodings import make_encoding
from tclose.data.value_counts import ColumnSummary, confidential_keys, own_values
from tclose.errors import DataError
from tclose.methods.scaling import scale_columns
from tclose.model.column_terms import Distance, Kind


class TestEncodings:
    def test_nominal(self):
        found = ColumnSummary(categories=Counter({"m": 3, "f": 5, "x": 3}))
        encoding = make_encoding(COLUMNS[1], found)
        assert encoding.categories is not None
        assert encoding.priority is not None
        assert encoding.categories.to_pylist() == ["f", "m", "x"]
        assert encoding.priority.tolist() == [0, 1, 2]
        codes = encoding.encode(pa.array(["x", "f"]))
        assert encoding.decode(codes).to_pylist() == ["x", "f"]

    def test_ordinal(self):
        found = ColumnSummary(categories=Counter({"high": 3, "low": 5}))
        encoding = make_encoding(COLUMNS[3], found)
        codes = encoding.encode(pa.array(["high", "low"]))
        assert codes.tolist() == [2, 0]
        assert (encoding.low, encoding.high) == (0, 2)
        assert encoding.decode(codes).to_pylist() == ["high", "low"]
        table = pa.table({"grade": ["high", "low", "mid"]})
        assert confidential_keys(table, COLUMNS[3]).tolist() == [2, 0, 1]

    @pytest.mark.parametrize(
        ("keys", "expected"),
        [
            ({}, ["leek", "apple", "pear", "kiwi"]),
            ({"by_frequency": True}, ["leek", "apple", "pear", "kiwi"]),
            ({"taxonomy": ROWS}, ["pear", "apple", "leek", "kiwi"]),
            ({"taxonomy": ROWS, "distance": Distance.EQUAL}, ["pear", "apple", "leek", "kiwi"]),
            ({"taxonomy": ROWS, "by_frequency": True}, ["leek", "apple", "pear", "kiwi"]),
        ],
    )
    def test_nominal_confidential(self, keys, expected):
        """In the order of their subsets: the commonest, of equals the first; or the tree's."""
        found = ColumnSummary(categories=Counter({"kiwi": 1, "pear": 3, "apple": 3, "leek": 5}))
        encoding = make_encoding(column("taste", CONFIDENTIAL, pa.string(), **keys), found)
        assert encoding.texts == expected
        codes = encoding.encode(pa.array(expected[::-1]))
        assert codes.tolist() == [3, 2, 1, 0]
        assert encoding.decode(codes).to_pylist() == expected[::-1]

    def test_confidential_value_that_the_taxonomy_has_not(self):
        found = ColumnSummary(categories=Counter({"plum": 1, "pear": 3, "fig": 1}))
        of = column("taste", CONFIDENTIAL, pa.string(), taxonomy=ROWS)
        with pytest.raises(DataError, match="column 'taste': 2 of its values are not in") as error:
            make_encoding(of, found)
        assert "plum" not in str(error.value)

    @pytest.mark.parametrize(
        "values",
        [
            pa.array(["b", "a", "c", "a"]),
            pa.array(["b", "a", "c", "a"]).dictionary_encode(),
            pa.array(["b", "a", "c", "a"], pa.large_string()),
            pa.array([2, 1, 3, 1]),
            pa.array([0.5, -0.0, 1.5, 0.0]),
        ],
        ids=["text", "dictionary", "large", "integers", "floats"],
    )
    def test_keys_of_nominal_confidential_values_are_places_among_the_tables_own(self, values):
        of = column("taste", CONFIDENTIAL, values.type, kind=Kind.NOMINAL)
        table = pa.table({"taste": values})
        assert confidential_keys(table, of).tolist() == [1, 0, 2, 0]
        assert confidential_keys(table.slice(2), of).tolist() == [1, 0]
        assert confidential_keys(table.slice(0, 0), of).size == 0
        assert own_values(Counter({"b": 1, None: 3, "a": 2})) == ["a", "b"]

    def test_wide_range_is_refused_for_quasi_identifiers_only(self):
        found = ColumnSummary(low=0, high=2**62)
        with pytest.raises(DataError, match="'age': the range of its values is too wide"):
            make_encoding(COLUMNS[0], found)
        make_encoding(column("pay", CONFIDENTIAL, pa.int64()), found)

    def test_scaled_columns(self):
        encodings = [
            make_encoding(COLUMNS[0], ColumnSummary(low=0, high=10)),
            make_encoding(COLUMNS[1], ColumnSummary(categories=Counter("mfx"))),
        ]
        scaled = scale_columns(encodings, [np.array([0, 5]), np.array([2, 0])])
        assert scaled.numeric.tolist() == [[0, 0.5]]
        assert scaled.nominal.tolist() == [[2, 0]]
        assert scaled.n_levels == 3
        assert scaled.weights.tolist() == [1]
