"""Scales of quasi-identifiers: what they divide by, where they fall back, and how ranks are cut."""

from collections import Counter
from statistics import pstdev

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.column_kinds import QUASI, column
from support.tables.random_tables import repeatable
from tclose.data.column_scales import MAX_KNOTS, RANGE_SCALE, measure_scale
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
    assert scaled(Scale.RANK, keys).tolist() == [0.1, 0.3, 0.5, 0.7, 0.9]
    assert scaled(Scale.RANK, [7, 7, 7, 9]).tolist() == [0.375, 0.375, 0.375, 0.875]


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


@pytest.mark.parametrize("kind", [Scale.STD, Scale.IQR, Scale.RANK])
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


@pytest.mark.parametrize("kind", [Scale.STD, Scale.IQR])
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
