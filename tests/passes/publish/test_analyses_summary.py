"""Measures of associations and errors, beside those of pandas and scipy."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from scipy.stats.contingency import association

from support.tables.random_tables import repeatable, seeds
from tclose.passes.publish.analyses_summary import (
    measure_correlation_ratio,
    measure_cramers_v,
    measure_errors,
)


@repeatable
@given(seeds)
def test_cramers_v_is_that_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 9, rng.integers(2, 6, 2)) + np.eye(6, dtype=int)[0, 0]
    v = association(table, method="cramer")
    assert measure_cramers_v(table) == pytest.approx(v, abs=1e-12)
    padded = np.pad(table, 1)  # categories that nobody has
    assert measure_cramers_v(padded) == pytest.approx(v, abs=1e-12)


def test_categories_of_one_value_have_no_association() -> None:
    assert np.isnan(measure_cramers_v(np.array([[3, 4], [0, 0]])))
    assert measure_cramers_v(np.array([[3, 0], [0, 5]])) == pytest.approx(1)
    assert np.isnan(measure_correlation_ratio(np.array([3, 0]), np.array([1.0, 0.0]), 5.0))
    assert np.isnan(measure_correlation_ratio(np.array([3, 2]), np.array([0.0, 0.0]), 0.0))


@repeatable
@given(seeds)
def test_the_correlation_ratio_is_that_of_pandas(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"c": rng.integers(0, 5, 60), "x": rng.normal(1e6, 3, 60)})
    means = frame.groupby("c")["x"].transform("mean")
    expected = means.std(ddof=0) / frame["x"].std(ddof=0)
    groups = frame.assign(x=frame["x"] - 999_990).groupby("c")["x"]
    total = 60 * frame["x"].var(ddof=0)
    found = measure_correlation_ratio(
        groups.size().to_numpy(), groups.sum().to_numpy(), float(total)
    )
    assert found == pytest.approx(expected, rel=1e-6)


def test_errors_have_a_floor() -> None:
    counts = np.array([[0, 100, 200, 10], [5, 90, 200, 40]])
    errors = measure_errors(counts, 20_000)
    assert errors is not None
    assert (errors.queries, errors.floor) == (4, 20)
    assert errors.median_error == pytest.approx((0.1 + 0.25) / 2)
    assert errors.ninth_tenth_error == 1.5
    assert measure_errors(counts[:, :0], 20_000) is None
    few = measure_errors(counts, 300)
    assert few is not None
    assert few.floor == 10
