"""What generalised values of other tools cover, as they write them."""

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.value_encodings import encode
from tclose.assess.over_time.other_notations import find_other_covered, read_other_ends
from tclose.errors import DataError
from tclose.model.column_terms import Kind

AGES = pa.array([18, 35, 90])
ZIPS = pa.array(["04103", "04105", "12345", "a|b", "*x"])


def ends(values: pa.Array, *texts: str, **given: Any) -> list[tuple[float, float]]:
    low, high = read_other_ends(encode(values, **given)[0], np.array(texts))
    return list(zip(low.tolist(), high.tolist(), strict=True))


def covered(values: pa.Array, text: str, **given: Any) -> set[str]:
    encoding, _ = encode(values, **given)
    [row] = find_other_covered(encoding, [text])
    return {encoding.texts[i] for i in np.flatnonzero(row)}


class TestIntervals:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("35", (35, 35)),
            ("35.0", (35, 35)),
            ("[20, 40]", (20, 40)),
            ("[20,40]", (20, 40)),
            ("[20, 40[", (20, 39)),
            ("[20,40)", (20, 39)),
            ("(20,40]", (21, 40)),
            ("]20;40]", (21, 40)),
            ("(19.5, 24.5]", (20, 24)),
            ("(-Inf,20]", (18, 20)),
            ("[65, ∞)", (65, 90)),
            ("20-40", (20, 40)),
            ("20 - 40", (20, 40)),
            ("20\N{EN DASH}40", (20, 40)),
            ("20~40", (20, 40)),
            ("20..40", (20, 40)),
            ("20 to 40", (20, 40)),
            ("-5-10", (-5, 10)),
            ("-10--5", (-10, -5)),
            ("<20", (18, 19)),
            ("<= 20", (18, 20)),
            (">65", (66, 90)),
            ("≥65", (65, 90)),
            ("65+", (65, 90)),
            ("0-1e30", (0, 2**63 - 1)),
            ("2*", (20, 29)),
            ("1**", (100, 199)),
            ("**", (18, 90)),
            (" * ", (18, 90)),
        ],
    )
    def test_of_integers(self, text: str, expected: tuple[int, int]) -> None:
        assert ends(AGES, text) == [expected]

    def test_of_other_types(self) -> None:
        days = pa.array([date(2024, 1, 1), date(2024, 12, 31)])
        first, last = (date(2024, m, 1).toordinal() - date(1970, 1, 1).toordinal() for m in (2, 3))
        assert ends(days, "2024-02-01") == [(first, first)]
        assert ends(days, "2024-02-01-2024-03-01", "[2024-02-01, 2024-03-01)") == [
            (first, last),
            (first, last - 1),
        ]
        below = float(np.nextafter(2.5, -np.inf))
        assert ends(pa.array([0.5, 9.0]), "1.5-2.5", "[1.5, 2.5)") == [(1.5, 2.5), (1.5, below)]
        decimals = pa.array(["0.50", "9.25"]).cast(pa.decimal128(6, 2))
        assert ends(decimals, "1.5-2.5", "(1.50,2.50)") == [(150, 250), (151, 249)]

    def test_of_ranks(self) -> None:
        order = "low", "mid-high", "high"
        texts = "mid-high", "low-mid-high", "low-high"
        found = ends(pa.array(list(order)), *texts, order=order, kind=Kind.ORDINAL)
        assert found == [(1, 1), (0, 1), (0, 2)]

    @given(st.integers(-99, 99), st.integers(0, 99), st.integers(-120, 120))
    def test_signs_and_brackets_agree(self, low: int, width: int, value: int) -> None:
        """What a notation covers is what its definition says, for any value."""
        high = low + width + 2
        notations = {
            f"[{low}, {high}]": low <= value <= high,
            f"]{low}, {high}[": low < value < high,
            f"[{low}, {high})": low <= value < high,
            f"({low}, {high}]": low < value <= high,
            f"{low}-{high}": low <= value <= high,
            f"<{high}": value < high,
            f">={low}": value >= low,
        }
        for (first, last), is_covered in zip(
            ends(pa.array([-120, 120]), *notations), notations.values(), strict=True
        ):
            assert (first <= value <= last) == is_covered

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "young",
            "40-20",
            "35.5",
            "[5, 3]",
            "1-2-3",
            "1/3",
            "0-1e999999999",
            "[20 40]",
            "2*3",
            "nan",
        ],
    )
    def test_others_are_refused(self, text: str) -> None:
        with pytest.raises(
            DataError, match=r"column 'x': 1 different values .* write intervals as"
        ):
            ends(AGES, "35", text)


class TestSets:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("04103", {"04103"}),
            ("{04103, 12345}", {"04103", "12345"}),
            ("{04103,12345}", {"04103", "12345"}),
            ("04103|12345", {"04103", "12345"}),
            ("04103; 12345", {"04103", "12345"}),
            ("04103|12345|99999", {"04103", "12345"}),
            ("{04103, 99999}", {"04103"}),
            ("0410*", {"04103", "04105"}),
            ("04***", {"04103", "04105"}),
            ("04*", {"04103", "04105"}),
            ("*4***", {"04103", "04105"}),
            ("***3*", set()),
            ("a|b", {"a|b"}),
            ("*x", {"*x"}),
            ("*", set(ZIPS.to_pylist())),
        ],
    )
    def test_of_texts(self, text: str, expected: set[str]) -> None:
        if not expected:
            with pytest.raises(DataError, match="column 'x': 1 different values"):
                covered(ZIPS, text)
        else:
            assert covered(ZIPS, text) == expected

    def test_of_nodes(self) -> None:
        tree = (("a", "north", "all"), ("b", "north", "all"), ("c", "south", "all"))
        values = pa.array(["a", "b", "c"])
        assert covered(values, "north", taxonomy=tree) == {"a", "b"}
        assert covered(values, "{north, c}", taxonomy=tree) == {"a", "b", "c"}
