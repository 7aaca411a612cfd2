"""Columns of drawn tables: all types, ties and extremes, texts with every odd character."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

Rng = np.random.Generator

PLAIN = ["Bonn", "Köln", "Lyon", "São Paulo", "東京", "007", "1e5"]
ODD = [
    *("a, b", '"x"', "it's", "line\nbreak", " blank before", "blank after ", "tab\t", "[1, 2]"),
    *("{a, b}", "*", "..", "[..", "NaN", "null", "-", "true", "\U0001f600", "e\u0301", "x" * 70),
    *("a=b", "a/b", "50%", "\\", "#", "0x1", "<b>", "\u202eright to left", "2020-02-30"),
]
IN_PARQUET = ["zero\0", "\0", "a\0b", "zero", "bell\x07", "carriage\r\nreturn", "\ufeffmark"]


@dataclass(frozen=True)
class Drawn:
    """A column: its values, and the keys of a policy that go with them."""

    values: pa.Array
    keys: dict[str, Any] = field(default_factory=dict)

    @property
    def n_distinct(self) -> int:
        """Different values."""
        return len(self.values.unique())


def pick(rng: Rng, options: Sequence[Any]) -> Any:
    """One of some options, all as likely."""
    return options[int(rng.integers(len(options)))]


def draw_codes(rng: Rng, n: int, n_values: int) -> np.ndarray:
    """Positions among values: even, skewed, or almost all of one; each as far as it goes."""
    how = rng.integers(4)
    if how < 2:
        codes = rng.integers(0, n_values, n)
    elif how == 2:
        codes = np.minimum(rng.geometric(0.4, n) - 1, n_values - 1)
    else:
        codes = np.where(rng.random(n) < 0.5, 0, rng.integers(0, n_values, n))
    return codes.astype(np.int64)


def draw_integers(rng: Rng, n: int, in_csv: bool, n_values: int) -> pa.Array:
    """Small, large and extreme integers of every width."""
    codes = draw_codes(rng, n, n_values)
    if in_csv or rng.random() < 0.5:
        step = pick(rng, [1, 1, 3, 1000, 10**12])
        return pa.array((codes - n_values // 2) * step + pick(rng, [0, 0, 18, -(10**15)]))
    dtype = pick(rng, [pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32()])
    return pa.array(codes % 120).cast(dtype)


def draw_floats(rng: Rng, n: int, in_csv: bool, n_values: int) -> pa.Array:
    """Fractions that binary has and has not, tiny and huge ones, both zeros."""
    codes = draw_codes(rng, n, n_values)
    scale = pick(rng, [1 / 8, 0.1, 1e-300, 1e200, 1 / 3])
    values = (codes - n_values // 3) * scale
    if rng.random() < 0.3:
        values = np.where(codes == n_values // 3, rng.choice([0.0, -0.0], n), values)
    values = values + 0.125 if in_csv else values  # a CSV column of whole numbers has another type
    dtype = (
        pa.float32() if not in_csv and abs(scale) in (1 / 8, 0.1) and rng.random() < 0.4 else None
    )
    return pa.array(values, pa.float64()).cast(dtype or pa.float64())


def draw_decimals(rng: Rng, n: int, in_csv: bool, n_values: int) -> pa.Array:
    """Decimals of few and of many digits."""
    scale, digits = pick(rng, [(2, 7), (0, 5), (6, 18)])
    codes = draw_codes(rng, n, n_values) - n_values // 2
    return pa.array(
        [Decimal(int(c) * 25).scaleb(-scale) for c in codes], pa.decimal128(digits, scale)
    )


def draw_moments(rng: Rng, n: int, in_csv: bool, n_values: int) -> pa.Array:
    """Dates, times with and without a zone, times of day, durations."""
    codes = draw_codes(rng, n, n_values)
    if in_csv:
        if rng.random() < 0.5:
            return pa.array((codes * 31 + 18_000).astype(np.int32)).cast(pa.date32())
        return pa.array(codes * 86_399_999_999 + 5).cast(pa.timestamp("us"))
    dtype = pick(rng, MOMENTS)
    if pa.types.is_date32(dtype) or pa.types.is_time32(dtype):
        return pa.array((codes * 31).astype(np.int32)).cast(dtype)
    step = 86_400_000 if pa.types.is_date64(dtype) else pick(rng, [1, 61, 86_399])
    return pa.array(codes * step).cast(dtype)


MOMENTS = [
    *(pa.date32(), pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us")),
    *(pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns")),
    *(pa.timestamp("us", "UTC"), pa.timestamp("ms", "Europe/Berlin"), pa.time64("ns")),
    *(pa.duration("s"), pa.duration("us")),
]
NUMBERS: list[Callable[[Rng, int, bool, int], pa.Array]] = [
    draw_integers,
    draw_floats,
    draw_moments,
]


def draw_ordered(rng: Rng, n: int, in_csv: bool, n_values: int) -> Drawn:
    """A column whose values have an order: numbers, moments, ordinal texts, truth values."""
    how = int(rng.integers(8))
    if how < 5:
        draws = NUMBERS if in_csv else [*NUMBERS, draw_decimals]
        return Drawn(pick(rng, draws)(rng, n, in_csv, n_values))
    if how < 7:
        return draw_ordinal(rng, n, in_csv, min(n_values, 7))
    return Drawn(pa.array(draw_codes(rng, n, 2) == 1))


def draw_names(rng: Rng, in_csv: bool, n_values: int) -> list[str]:
    """Different texts: plain, odd, or with characters that only Parquet has."""
    pool = PLAIN if rng.random() < 0.4 else [*PLAIN[:2], *ODD]
    if not in_csv and rng.random() < 0.3:
        pool = [*PLAIN[:2], *IN_PARQUET]
    chosen = rng.permutation(len(pool))[: max(2, n_values)]
    return [pool[int(i)] for i in chosen]


def draw_texts(rng: Rng, n: int, in_csv: bool, names: list[str]) -> pa.Array:
    """Texts of some names, in all the ways that Arrow stores them."""
    codes = draw_codes(rng, n, len(names))
    values = pa.array([names[c] for c in codes], pa.string())
    if in_csv:
        return values
    how = pick(rng, ["plain", "plain", "large", "dictionary", "view"])
    if how == "dictionary":
        return values.dictionary_encode()
    return values.cast({"large": pa.large_string(), "view": pa.string_view()}.get(how, pa.string()))


def draw_ordinal(rng: Rng, n: int, in_csv: bool, n_values: int) -> Drawn:
    """Texts with an order, of which a value may not occur."""
    names = draw_names(rng, in_csv, n_values)
    order = [*names, "never"] if rng.random() < 0.3 else names
    return Drawn(draw_texts(rng, n, in_csv, names), {"type": "ordinal", "order": order})


def draw_nominal(rng: Rng, n: int, in_csv: bool, n_values: int, with_tree: bool) -> Drawn:
    """Texts without an order, with a taxonomy or without."""
    names = draw_names(rng, in_csv, n_values)
    values = draw_texts(rng, n, in_csv, names)
    if with_tree:
        return Drawn(values, {"taxonomy": draw_taxonomy(rng, names)})
    return Drawn(values, {"type": "nominal"} if in_csv or rng.random() < 0.5 else {})


def draw_taxonomy(rng: Rng, names: list[str]) -> dict[str, Any]:
    """A tree above the names, some of them directly below the root."""
    if rng.random() < 0.2:
        return {"any": list(names)}
    cut = int(rng.integers(1, len(names)))
    left: Any = names[:cut]
    if len(left) > 2 and rng.random() < 0.6:
        left = [{"deep, group": left[:2]}, *left[2:]]
    right: Any = (
        {"right": [*names[cut:], "no value"]} if rng.random() < 0.5 else {"right": names[cut:]}
    )
    return {"any": [{"left": left}, right]}


def with_gaps(rng: Rng, values: pa.Array, share: float) -> pa.Array:
    """The values, some of them missing."""
    mask = pa.array(rng.random(len(values)) < share)
    return (
        pa.array(
            [None if gone else value for gone, value in zip(mask.to_pylist(), values, strict=True)],
            values.type,
        )
        if not pa.types.is_dictionary(values.type)
        else with_gaps(rng, values.cast(values.type.value_type), share)
    )
