"""Losses by one class, beside what releasing the mean or the mode of all records loses."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tables.column_kinds import COLUMNS, QUASI, ROWS, column
from tclose.data.column_scales import (
    RANGE_SCALE,
    choose_scale,
    lose_categories,
    lose_numbers,
    measure_scale,
)
from tclose.data.encodings import make_encoding
from tclose.data.value_counts import ColumnSummary
from tclose.methods.released_loss import by_ranges, released_weights
from tclose.methods.scaling import scale_columns
from tclose.model.column_terms import Kind, Scale


def mean_square(values: list[Fraction]) -> Fraction:
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((value - mean) ** 2 for value in values), Fraction(0)) / len(values)


@given(st.lists(st.integers(0, 1_000), min_size=2, max_size=40).filter(lambda v: len(set(v)) > 1))
def test_numbers_lose_what_their_mean_does(values: list[int]) -> None:
    low, span = min(values), max(values) - min(values)
    offsets = np.sort(np.array(values, dtype=np.float64) - low)
    found = lose_numbers(RANGE_SCALE, offsets, float(span))
    assert found is not None
    assert found.on_scale == found.by_range
    exact = mean_square([Fraction(value - low, span) for value in values])
    assert found.by_range == pytest.approx(float(exact), rel=1e-12)


def test_outliers_do_not_decide_what_all_others_count() -> None:
    offsets = np.append(np.arange(1_000.0), 1e9)
    by = choose_scale(offsets, 1e9)
    assert by.kind is Scale.TRIMMED
    found = lose_numbers(by, offsets, 1e9)
    assert found is not None
    assert found.on_scale == pytest.approx(1 / 12, rel=0.05)  # of values that fill their range
    assert found.by_range == pytest.approx(1e-3, rel=0.01)  # the outlier's own


@pytest.mark.parametrize("span", [1e9, 1e300])
def test_an_outlier_that_was_not_sampled_is_lost_by_one_class_all_the_same(span: float) -> None:
    offsets = np.arange(1_000.0)
    for by in (RANGE_SCALE, choose_scale(offsets, span)):
        found = lose_numbers(by, offsets, span)
        assert found is not None
        assert found.by_range == 0.5 / 1_000
        assert found.on_scale == pytest.approx(0.0005 if by is RANGE_SCALE else 1 / 12, rel=0.05)


@pytest.mark.parametrize("kind", [Scale.STD, Scale.IQR, Scale.RANGE])
def test_units_of_a_scale_make_no_difference(kind: Scale) -> None:
    offsets = np.sort(np.random.default_rng(1).integers(0, 900, 500)).astype(np.float64)
    span = float(offsets[-1])
    by = measure_scale(kind, offsets, span)
    found = lose_numbers(by, offsets, span)
    assert found is not None
    shares = by.divide(offsets, span) / np.sqrt(found.on_scale)
    assert float(np.var(shares)) == pytest.approx(1, rel=1e-9)


def test_a_column_of_one_value_has_no_share() -> None:
    assert lose_numbers(RANGE_SCALE, np.zeros(5), 3.0) is None
    assert lose_numbers(RANGE_SCALE, np.empty(0), 3.0) is None
    assert lose_categories(np.array([[0, 1]], np.int32), np.array([4, 0])) is None


@given(st.lists(st.integers(0, 50), min_size=2, max_size=9))
def test_categories_lose_by_the_mode_and_count_by_pairs(
    counts: list[int],
) -> None:
    levels = np.arange(len(counts), dtype=np.int32)[None, :]
    found = lose_categories(levels, np.array(counts))
    if sum(map(bool, counts)) < 2:
        assert found is None
        return
    assert found is not None
    exact = 1 - Fraction(max(counts), sum(counts))
    assert found.by_range == pytest.approx(float(exact), rel=1e-12)
    records = np.arange(len(counts)).repeat(counts)
    differs = np.count_nonzero(records[:, None] != records)
    assert found.on_scale == pytest.approx(differs / records.size**2 / 2, rel=1e-12)


def test_a_taxonomy_loses_the_mean_of_its_levels() -> None:
    of = column("taste", QUASI, pa.string(), taxonomy=ROWS)
    counts = Counter({"apple": 3, "pear": 4, "leek": 3})
    encoding = make_encoding(of, ColumnSummary(categories=counts), has_relative_loss=True)
    assert encoding.table_loss is not None
    assert encoding.table_loss.by_range == pytest.approx((0.6 + 0.3) / 2)
    differs = 1 - (0.3**2 + 0.4**2 + 0.3**2) + 1 - (0.7**2 + 0.3**2)  # of fruits, of plants
    assert encoding.table_loss.on_scale == pytest.approx(differs / 4)


@pytest.mark.parametrize(
    ("counts", "lost"), [({"apple": 3, "leek": 3}, 1), ({"apple": 9, "pear": 1}, 0.5)]
)
def test_an_ancestor_loses_all_below_it(counts: dict[str, int], lost: float) -> None:
    """Every record is as far from it as it is high, however rare what differs is."""
    of = column("taste", QUASI, pa.string(), taxonomy=ROWS, aggregate="ancestor")
    summary = ColumnSummary(categories=Counter(counts))
    encoding = make_encoding(of, summary, has_relative_loss=True)
    assert encoding.table_loss is not None
    assert encoding.table_loss.by_range == lost


def test_losses_of_one_class_are_one_of_each() -> None:
    """Of numbers, ranks, categories and ordinal values, as they are searched for and compared.

    One: in units of the least that one class loses of any.
    """
    rng = np.random.default_rng(2)
    ages, pays = np.sort(rng.integers(18, 90, 400)), np.sort(rng.lognormal(9, 2, 400))
    pay = column("pay", QUASI, pa.float64(), kind=Kind.NUMERIC, scale=Scale.RANK)
    number, nominal = COLUMNS[:2]
    ordinal = column("grade", QUASI, pa.string(), kind=Kind.ORDINAL, order=("low", "mid", "high"))
    grades = {"low": 200, "mid": 150, "high": 50}
    encodings = [
        make_encoding(
            number, ColumnSummary(low=18, high=int(ages[-1])), ages, has_relative_loss=True
        ),
        make_encoding(
            nominal, ColumnSummary(categories=Counter(m=300, f=100)), has_relative_loss=True
        ),
        make_encoding(ordinal, ColumnSummary(categories=Counter(grades)), has_relative_loss=True),
        make_encoding(
            pay,
            ColumnSummary(low=float(pays[0]), high=float(pays[-1])),
            pays,
            has_relative_loss=True,
        ),
    ]
    ranks = np.repeat([0, 1, 2], list(grades.values()))
    scaled = scale_columns(encodings, [ages, np.repeat([1, 0], [300, 100]), ranks, pays])
    unit = min(e.table_loss.on_scale for e in encodings if e.table_loss is not None)
    assert unit < 0.1
    for values in (scaled.numeric, by_ranges(scaled)):
        assert np.var(values, axis=1).tolist() == pytest.approx([unit] * 3)
    assert scaled.weights.tolist() == pytest.approx([unit * 16 / 3])  # by pairs
    assert released_weights(scaled).tolist() == pytest.approx([4 * unit])  # one in four is no mode
