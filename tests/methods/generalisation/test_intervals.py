"""Interval hierarchies: every number in the interval that its name says, levels nested exactly."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.random_tables import repeatable
from tclose.errors import DataError, PolicyError
from tclose.methods.generalisation.intervals import IntervalTaxonomy, build_intervals

AGES = build_intervals([5, 10, 20])


@st.composite
def hierarchies(draw: st.DrawFn) -> IntervalTaxonomy:
    """Widths of whole numbers, tenths, or parts that floats do not hold."""
    narrow = draw(st.sampled_from(["1", "5", "0.1", "0.25", "1/3", "12.5", "1000"]))
    widths = [Fraction(narrow)]
    for factor in draw(st.lists(st.integers(2, 7), max_size=3)):
        widths.append(widths[-1] * factor)
    origin = draw(st.sampled_from(["0", "0.3", "-7", "1/7", "100"]))
    return build_intervals([str(width) for width in widths], origin)


class TestLevels:
    def test_names(self) -> None:
        keys = np.array([0, 4, 5, 19, 20, -1, 37])
        named = [
            [AGES.name(code, level) for code in AGES.generalise(keys, level)] for level in range(5)
        ]
        assert AGES.height == 4
        assert named[0] == ["0", "4", "5", "19", "20", "-1", "37"]
        assert named[1][3:] == ["[15, 20)", "[20, 25)", "[-5, 0)", "[35, 40)"]
        assert named[2][:3] == ["[0, 10)", "[0, 10)", "[0, 10)"]
        assert named[3][3:] == ["[0, 20)", "[20, 40)", "[-20, 0)", "[20, 40)"]
        assert named[4] == ["*"] * 7

    def test_names_of_fractions_and_an_origin(self) -> None:
        tenths = build_intervals([0.1, "0.2"], origin=0.05)
        assert tenths.name(tenths.generalise(np.array([0.3]), 1)[0], 1) == "[0.25, 0.35)"
        assert tenths.name(tenths.generalise(np.array([0.04]), 2)[0], 2) == "[-0.15, 0.05)"
        assert tenths.name(0.3, 0) == "0.3"

    @pytest.mark.parametrize("tenth", range(-30, 31))
    def test_a_bound_as_it_is_written_begins_its_interval(self, tenth: int) -> None:
        keys = np.array([tenth / 10, np.nextafter(tenth / 10, -np.inf)])
        assert build_intervals([0.1]).generalise(keys, 1).tolist() == [tenth, tenth - 1]

    @repeatable
    @given(hierarchies(), st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=30))
    def test_of_integers_are_those_of_exact_arithmetic(self, intervals, values) -> None:
        keys = np.array(values, dtype=np.int64)
        for level, width in enumerate(intervals.widths, start=1):
            expected = [(value - intervals.origin) // width for value in values]
            assert intervals.generalise(keys, level).tolist() == expected

    @repeatable
    @given(hierarchies(), st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30), st.data())
    def test_of_floats_lie_between_their_bounds(self, intervals, values, data) -> None:
        steps = data.draw(st.lists(st.integers(-(10**6), 10**6), max_size=10))
        bounds = [float(intervals.origin + step * intervals.widths[0]) for step in steps]
        keys = np.array([*values, *bounds, *np.nextafter(bounds, -np.inf)])
        for level, width in enumerate(intervals.widths, start=1):
            for key, code in zip(keys, intervals.generalise(keys, level), strict=True):
                low = intervals.origin + int(code) * width
                assert float(low) <= key < float(low + width)

    @repeatable
    @given(hierarchies(), st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30, unique=True))
    def test_are_unions_of_those_below(self, intervals, values) -> None:
        table = intervals.tabulate(np.sort(np.array(values)))
        assert table.shape == (intervals.height + 1, len(values))
        assert table[0].tolist() == list(range(len(values)))
        for fine, coarse in pairwise(table):
            assert len(set(zip(fine, coarse, strict=True))) == len(set(fine))
            assert (np.diff(coarse) >= 0).all()
        assert set(table[-1]) == {0}

    @pytest.mark.parametrize("level", [-1, 5])
    def test_beyond_everything_are_refused(self, level: int) -> None:
        with pytest.raises(PolicyError, match="0 to 4"):
            AGES.generalise(np.array([1]), level)


class TestRefused:
    @pytest.mark.parametrize("key", [np.nan, np.inf, -np.inf, 1e300, 2.0**49])
    def test_numbers_that_cannot_be_counted(self, key: float) -> None:
        with pytest.raises(DataError, match="not finite, or too far") as caught:
            AGES.generalise(np.array([1.0, key]), 1)
        assert str(key) not in str(caught.value)

    def test_integers_too_far_from_the_origin(self) -> None:
        with pytest.raises(DataError, match="larger unit"):
            AGES.generalise(np.array([2**62]), 2)

    @pytest.mark.parametrize("width", [1e-300, "1" + "0" * 400])
    def test_widths_beyond_exact_arithmetic(self, width: float | str) -> None:
        with pytest.raises(DataError, match="larger unit"):
            build_intervals([width]).generalise(np.array([1.0]), 1)

    @pytest.mark.parametrize(
        ("widths", "message"),
        [
            ([], "numbers above 0"),
            ([0], "numbers above 0"),
            ([-5, 5], "numbers above 0"),
            ([5, 12], "width 12 does not consist of whole intervals of 5"),
            ([5, 5], "make every width a multiple"),
            ([10, 5], "make every width a multiple"),
            ([0.2, 0.5], "width 0.5 does not"),
            (["wide"], "width has to be a finite number"),
            ([float("inf")], "width has to be a finite number"),
            ([True], "width has to be a finite number"),
        ],
    )
    def test_widths(self, widths: list, message: str) -> None:
        with pytest.raises(PolicyError, match=message):
            build_intervals(widths)

    def test_origins(self) -> None:
        with pytest.raises(PolicyError, match="origin has to be a finite number"):
            build_intervals([5], origin="1/0")
