"""Noise on columns of every type: what is refused before a draw, and the type that comes out."""

import datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tclose.errors import DataError, PolicyError
from tclose.methods.dp import noise as of_columns
from tclose.methods.dp.noise import add_noise, check_noise
from tclose.model.attributes import Attribute, Column, Noise
from tclose.model.column_terms import Kind, Role

ONE = Fraction(1)


def column_of(
    dtype: pa.DataType, kind: Kind = Kind.NUMERIC, order: tuple[str, ...] = (), **given: Any
) -> Column:
    made = Noise(**({"epsilon": ONE, "low": None, "high": None, "step": ONE, "values": ()} | given))
    return Column(Attribute("pay", Role.CONFIDENTIAL, kind, order, noise=made), kind, dtype)


def bounds(low: float | str, high: float | str, step: float | str = 1) -> dict[str, Any]:
    return {n: Fraction(v) for n, v in (("low", low), ("high", high), ("step", step))}


class TestCheck:
    @pytest.mark.parametrize(
        ("dtype", "given"),
        [
            (pa.uint8(), bounds(0, 255)),
            (pa.int8(), bounds(-128, 127)),
            (pa.uint64(), bounds(0, 2**31)),
            (pa.float32(), bounds(0, 1, "1/8")),
            (pa.float64(), bounds("-1/2", 1, "1/10")),
            (pa.dictionary(pa.int8(), pa.int64()), bounds(0, 5)),
        ],
        ids=str,
    )
    def test_numbers(self, dtype: pa.DataType, given: dict[str, Any]) -> None:
        check_noise(column_of(dtype, **given))

    @pytest.mark.parametrize(
        ("dtype", "given", "words"),
        [
            (pa.uint8(), bounds(0, 256), "beyond type uint8"),
            (pa.uint8(), bounds(-1, 25), "beyond type uint8"),
            (pa.int16(), bounds(0, 2**15), "beyond type int16"),
            (pa.int64(), bounds(0, 1, "1/2"), "whole low, high and step"),
            (pa.int64(), bounds("1/2", "3/2"), "whole low, high and step"),
            (pa.decimal128(5, 2), bounds(0, 1), "does not go with decimals"),
            (pa.float64(), bounds(1, 1), "noise: bounds: high must be above low"),
            (pa.float64(), {}, "needs low and high"),
            (pa.float64(), bounds(0, 1) | {"values": ("0", "1")}, "values does not go with numb"),
        ],
        ids=str,
    )
    def test_numbers_of_no_use(self, dtype: pa.DataType, given: Any, words: str) -> None:
        with pytest.raises(PolicyError, match=f"column 'pay'.*{words}"):
            check_noise(column_of(dtype, **given))

    @pytest.mark.parametrize(
        ("kind", "order", "given", "words"),
        [
            (Kind.NOMINAL, (), {}, "is nominal; noise goes with numbers"),
            (Kind.DATE, (), bounds(0, 1), "is date; noise.low and noise.high go with numbers"),
            (Kind.ORDINAL, ("a", "b"), {"values": ("a", "b")}, "does not go with an order"),
            (Kind.ORDINAL, ("a",), {}, "two values or more"),
            (Kind.NOMINAL, (), {"values": ("a", "a", "b")}, "each listed once"),
        ],
    )
    def test_lists_of_no_use(
        self, kind: Kind, order: tuple[str, ...], given: Any, words: str
    ) -> None:
        with pytest.raises(PolicyError, match=f"column 'pay': .*{words}"):
            check_noise(column_of(pa.string(), kind, order, **given))

    def test_values_of_another_type(self) -> None:
        with pytest.raises(PolicyError, match="not of type date32"):
            check_noise(column_of(pa.date32(), Kind.DATE, values=("2020-01-01", "soon")))


class TestDraws:
    """Draws replaced by what can be told: one step up, or the next value of the list."""

    @pytest.fixture(autouse=True)
    def without_noise(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def next_step(steps: np.ndarray, n_steps: int, epsilon: Fraction) -> np.ndarray:
            assert epsilon == ONE
            return np.minimum(steps + 1, n_steps)

        def next_code(codes: np.ndarray, n_codes: int, epsilon: Fraction) -> np.ndarray:
            return (codes + 1) % n_codes

        monkeypatch.setattr(of_columns, "draw_steps", next_step)
        monkeypatch.setattr(of_columns, "draw_codes", next_code)

    @pytest.mark.parametrize("dtype", [pa.uint8(), pa.int64(), pa.float32(), pa.float64()], ids=str)
    def test_numbers_keep_their_type(self, dtype: pa.DataType) -> None:
        values = pa.array([0, 5, 9, 30, 200], dtype)
        made = add_noise(values, column_of(dtype, **bounds(5, 45, 10)))
        assert made.type == dtype
        assert made.to_pylist() == [15, 15, 15, 45, 45]

    def test_wide_grids_of_floats(self) -> None:
        """Steps that single precision does not tell apart are no error."""
        column = column_of(pa.float32(), **bounds(0, 2**30))
        made = add_noise(pa.array([2.0**29], pa.float32()), column)
        assert made.to_pylist() == [2.0**29]

    def test_tenths_are_tenths(self) -> None:
        made = add_noise(pa.array([0.0, 0.2, 9]), column_of(pa.float64(), **bounds(0, 1, "1/10")))
        assert made.to_pylist() == [0.1, 0.3, 1.0]

    def test_ordinal_values_go_along_their_order(self) -> None:
        column = column_of(pa.string(), Kind.ORDINAL, ("lo", "mid", "hi"))
        assert add_noise(pa.array(["hi", "lo"]), column).to_pylist() == ["hi", "mid"]

    @pytest.mark.parametrize(
        ("values", "kind", "listed"),
        [
            (pa.array(["b", "a"]), Kind.NOMINAL, ("a", "b", "c")),
            (pa.array([2, 1]), Kind.NOMINAL, ("1", "2", "3")),
            (pa.array([True, False]), Kind.BOOLEAN, ("false", "true")),
            (
                pa.array([datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)]),
                Kind.DATE,
                ("2020-01-01", "2020-01-02", "2020-01-03"),
            ),
        ],
        ids=["texts", "numbers", "truth", "days"],
    )
    def test_listed_values_keep_their_type(
        self, values: pa.Array, kind: Kind, listed: tuple[str, ...]
    ) -> None:
        column = column_of(values.type, kind, values=listed)
        check_noise(column)
        made = add_noise(values, column)
        assert made.type == values.type
        assert made.cast(pa.string()).to_pylist() == [listed[2 % len(listed)], listed[1]]

    def test_values_that_are_not_listed_are_counted_not_shown(self) -> None:
        column = column_of(pa.string(), Kind.NOMINAL, values=("a", "b"))
        with pytest.raises(
            DataError, match="column 'pay': 2 values that the policy does"
        ) as raised:
            add_noise(pa.array(["a", "secret", "secret"]), column)
        assert "secret" not in str(raised.value)
