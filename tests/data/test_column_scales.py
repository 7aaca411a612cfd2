"""Scales of quasi-identifiers: what they divide by, where they fall back, and how ranks are cut."""

from collections import Counter
from statistics import pstdev
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.column_kinds import QUASI, column
from support.tables.random_tables import repeatable
from tclose.data.column_scales import (
    FARTHEST,
    HEAVY_TAILS,
    MAX_KNOTS,
    RANGE_SCALE,
    choose_scale,
    measure_scale,
)
from tclose.data.encodings import make_encoding
from tclose.data.keys import Keys
from tclose.data.value_counts import ColumnSummary
from tclose.methods.scaling import scale_columns
from tclose.model.array_types import Float64
from tclose.model.column_terms import Kind, Scale


def scaled(kind: Scale, keys: list[int], weight: float = 1.0) -> Float64:
    """Keys of a column on its scale, times the root of its weight."""
    of = column("x", QUASI, pa.int64(), scale=kind, weight=weight)
    sample: Keys = np.sort(np.array(keys, dtype=np.int64))
    encoding = make_encoding(of, ColumnSummary(low=min(keys), high=max(keys)), sample)
    return scale_columns([encoding], [np.array(keys)]).numeric[0]


def test_each_scale_by_hand() -> None:
    keys = [10, 20, 30, 40, 110]
    assert scaled(Scale.RANGE, keys).tolist() == [0, 0.1, 0.2, 0.3, 1]
    assert scaled(Scale.STD, keys) == pytest.approx((np.array(keys) - 10) / pstdev(keys))
    assert scaled(Scale.IQR, keys).tolist() == [0, 0.5, 1, 1.5, 5]
    hundred = [*range(1, 101), 1_000]
    assert scaled(Scale.TRIMMED, hundred)[:3].tolist() == [0, 1 / 98, 2 / 98]
    assert scaled(Scale.RANK, keys).tolist() == [0.1, 0.3, 0.5, 0.7, 0.9]
    assert scaled(Scale.RANK, [7, 7, 7, 9]).tolist() == [0.375, 0.375, 0.375, 0.875]


@pytest.mark.parametrize("outlier", [-(10**15), 10**15])
def test_an_outlier_leaves_digits_for_the_others(outlier: int) -> None:
    """Their squares less one another are exact to a millionth, as without it."""
    keys = [*range(1, 201), outlier]
    found = scaled(Scale.TRIMMED, keys)
    assert abs(found[-1]) == FARTHEST
    others = found[:-1]
    assert np.diff(others) == pytest.approx(1 / 196)
    assert np.abs(others).max() < 1.1
    near = scaled(Scale.TRIMMED, [*range(1, 201), 10_000])
    assert near.max() == pytest.approx(9_999 / 196)  # no farther than it is


def test_what_is_far_but_common_keeps_its_differences() -> None:
    """Quartiles that are nearly equal, of keys of which a fifth are large."""
    keys = [*range(80), *(10**6 * i for i in range(1, 21))]
    far = scaled(Scale.IQR, keys)[80:]
    assert far.min() > FARTHEST
    assert np.diff(far) == pytest.approx(far[0])


@pytest.mark.parametrize("kind", list(Scale))
def test_a_weight_counts_in_squares(kind: Scale) -> None:
    keys = [10, 20, 30, 40, 110]
    assert scaled(kind, keys, weight=4).tolist() == (2 * scaled(kind, keys)).tolist()


def test_a_weight_of_a_nominal_column() -> None:
    found = ColumnSummary(categories=Counter("mfx"))
    plain = make_encoding(column("sex", QUASI, pa.string(), weight=3), found)
    rows = (("m", "a", "any"), ("f", "a", "any"), ("x", "any"))
    tree = make_encoding(column("sex", QUASI, pa.string(), weight=3, taxonomy=rows), found)
    assert scale_columns([plain], [np.array([0])]).weights.tolist() == [3]
    assert scale_columns([tree], [np.array([0])]).weights.tolist() == [1.5, 1.5]


@pytest.mark.parametrize("kind", [Scale.STD, Scale.IQR, Scale.TRIMMED, Scale.RANK])
def test_ordinal_values_are_counted(kind: Scale) -> None:
    order = ("low", "mid", "high")
    of = column("grade", QUASI, pa.string(), kind=Kind.ORDINAL, order=order, scale=kind)
    counts = Counter({"low": 4, "mid": 1, "high": 3})
    encoding = make_encoding(of, ColumnSummary(categories=counts))
    ranks = sorted(order.index(value) for value in counts.elements())
    expected = measure_scale(kind, np.array(ranks, dtype=float), 2.0)
    keys = np.array([0, 1, 2])
    assert encoding.scale(keys).tolist() == expected.divide(keys, 2.0).tolist()
    assert encoding.by.kind is kind


@pytest.mark.parametrize("kind", [Scale.STD, Scale.IQR, Scale.TRIMMED])
def test_the_range_stands_in_where_the_scale_is_0(kind: Scale) -> None:
    assert measure_scale(kind, np.zeros(9), 5.0) is RANGE_SCALE
    assert measure_scale(kind, np.empty(0), 5.0) is RANGE_SCALE


def test_large_values_stay_finite() -> None:
    scale = measure_scale(Scale.STD, np.array([0.0, 1e299, 2e299]), 2e299)
    assert np.isfinite(scale.spread)
    assert scale.spread == pytest.approx(pstdev([0, 1, 2]) * 1e299)


@repeatable
@given(st.lists(st.integers(0, 9_000), min_size=1, max_size=50), st.integers(0, 9_000))
def test_ranks_rise_with_the_values(sampled: list[int], key: int) -> None:
    """Also of keys that the sample does not have, between the ends of the table."""
    scale = measure_scale(Scale.RANK, np.sort(np.array(sampled, dtype=float)), 9_000.0)
    keys = np.sort(np.array([0, *sampled, key, 9_000]))
    ranks = scale.divide(keys, 9_000.0)
    assert (np.diff(ranks) >= 0).all()
    assert ranks[0] >= 0
    assert ranks[-1] <= 1


def test_many_values_have_few_knots() -> None:
    values = np.sort(np.random.default_rng(5).lognormal(0, 3, 60_000))
    scale = measure_scale(Scale.RANK, values, float(values[-1]))
    assert scale.knots.size <= MAX_KNOTS + 2
    exact = (np.arange(values.size) + 0.5) / values.size
    assert np.abs(scale.divide(values, 1.0) - exact).max() < 2 / MAX_KNOTS


def with_largest(largest: float) -> Float64:
    """The numbers 0 to 999 and a larger one."""
    return np.append(np.arange(1_000.0), largest)


def test_tails_are_heavy_from_20_times_on() -> None:
    trimmed = measure_scale(Scale.TRIMMED, with_largest(1e4), 1e4).spread
    for factor, kind in [(1, Scale.RANGE), (1 + 1e-9, Scale.TRIMMED), (50, Scale.TRIMMED)]:
        largest = HEAVY_TAILS * trimmed * factor
        assert choose_scale(with_largest(largest), largest).kind is kind


def test_tails_of_one_value_are_not_heavy() -> None:
    """As of amounts that are 0 for 99 of 100."""
    values = np.append(np.zeros(9_999), 1e6)
    assert choose_scale(values, 1e6) is RANGE_SCALE


@pytest.mark.parametrize(
    ("keys", "kind", "aggregate"),
    [
        ({}, Scale.TRIMMED, "low-median"),
        ({"aggregate": "mean"}, Scale.TRIMMED, "mean"),
        ({"scale": Scale.RANGE}, Scale.RANGE, "mean"),
        ({"scale": Scale.RANK}, Scale.RANK, "mean"),
    ],
)
def test_what_the_policy_says_stays(keys: dict[str, Any], kind: Scale, aggregate: str) -> None:
    of = column("x", QUASI, pa.float64(), **keys)
    found = ColumnSummary(low=0.0, high=1e6)
    encoding = make_encoding(of, found, with_largest(1e6))
    assert (encoding.by.kind, encoding.column.aggregate) == (kind, aggregate)


def test_other_columns_keep_the_range() -> None:
    found = ColumnSummary(low=0, high=10**6)
    plain = make_encoding(column("x", QUASI, pa.int64()), found)
    assert (plain.by, plain.column.aggregate) == (RANGE_SCALE, "mean")
    order = tuple(map(str, range(50)))
    ordinal = column("x", QUASI, pa.string(), kind=Kind.ORDINAL, order=order)
    counts = Counter({"0": 990, "1": 20, "49": 1})
    assert make_encoding(ordinal, ColumnSummary(categories=counts)).by is RANGE_SCALE
