"""Changes against the originals are handed out where they tell no single record's value."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.cases.people import Released, people, policy_for, release, write_parquet
from tclose.passes.microaggregate.analyses.untold_changes import measure_shares
from tclose.passes.microaggregate.utility import measure_moments

pytestmark = pytest.mark.usefixtures("small_regions")

N = 1_000
KEYS = {"name", "release_id", "published_at", "files", "documents"}


@pytest.mark.parametrize("farthest", [1, 4, 6, 7, 8, 100])
def test_shares_of_squares(farthest: int) -> None:
    """Beside their definition in fractions."""
    values = np.r_[np.tile([-1, 1], N // 2), farthest]
    mean = Fraction(int(values.sum()), values.size)
    squares = [(int(value) - mean) ** 2 for value in values]
    moments = measure_moments(values[None, :].astype(float))
    found = measure_shares(moments, [(float(values.min()), float(values.max()))])
    assert found == pytest.approx([float(max(squares) / sum(squares))])


def test_shares_of_columns_without_a_spread_or_beyond_floats() -> None:
    values = np.array([[3.0, 3.0], [0.0, 1e200], [0.0, 1.0]])
    ends = [(3.0, 3.0), (0.0, 1e200), (np.nan, np.nan)]
    found = measure_shares(measure_moments(values), ends)
    np.testing.assert_array_equal(found, [0.0, np.nan, np.nan])


def make(folder: Path, name: str, pay: Any, **changes: Any) -> Released:
    folder = folder / name
    folder.mkdir()
    rng = np.random.default_rng(4)
    age, weight = rng.integers(18, 90, N), rng.integers(40, 120, N)
    table = people(N, age=changes.pop("age", age), weight=weight, pay=pay)
    source = write_parquet(folder / "in.parquet", table)
    attributes = {"age": "quasi-identifier", "weight": "quasi-identifier", "sex": "identifier"}
    attributes["pay"] = changes.pop("of_pay", "confidential")
    return release(policy_for(source, attributes=attributes, **changes))


def changes_of(made: Released) -> Any:
    return made.manifest["figures"]["changes"]


def test_nothing_is_said_of_an_outlier(tmp_path: Path) -> None:
    """By the correlation of her column with the income three of five incomes were not hers."""
    pay = np.random.default_rng(2).permutation(N) * 60
    age = np.random.default_rng(4).integers(18, 90, N)
    plain = changes_of(make(tmp_path, "plain", pay))
    assert plain["variances"].keys() == plain["correlations"].keys() == {"age", "weight"}
    assert "untold" not in plain
    age[17] = 1_000_000
    odd = changes_of(make(tmp_path, "odd", pay, age=age))
    assert all(of.keys() == {"weight"} for of in odd.values())
    assert odd["untold"] == {"weight": ["age"]}
    pay[17] = 10**9
    alone = changes_of(make(tmp_path, "alone", pay, age=age))
    assert alone["variances"].keys() == {"weight"}
    assert alone["correlations"] == alone["attenuations"] == {}


def test_nothing_is_said_of_what_two_far_values_make_up(tmp_path: Path) -> None:
    """Neither column is dominated, but one record is far in both: its product is."""
    rng = np.random.default_rng(4)
    age, pay = rng.integers(18, 90, N), np.random.default_rng(2).permutation(N) * 60
    age[17], pay[17] = 165, 125_000
    both = changes_of(make(tmp_path, "both", pay, age=age))
    assert both["variances"].keys() == {"age", "weight"}
    assert both["untold"] == {"age": ["pay"]}
    assert both["correlations"]["age"] == both["correlations"]["weight"] < 0.01


def test_noise_bounds_all_that_is_handed_out(tmp_path: Path) -> None:
    """The public manifest of tables with other values of a column with noise is the same.

    Correlations of the values before the noise stood in it, by which one value was ruled out whose
    probability epsilon bounds.
    """
    pytest.importorskip("opendp")
    noise = {"role": "confidential", "noise": {"epsilon": 0.1, "low": 1, "high": 99}}
    how = {"method": {"name": "dp-confidential"}, "privacy": {"k": 3}, "of_pay": noise}
    rng = np.random.default_rng(2)
    one, other = (
        make(tmp_path, name, pa.array(rng.integers(1, 60, N)), **how).manifest for name in "ab"
    )
    assert other["figures"]["changes"]["correlations"].keys() == {"age", "weight"}
    assert {k: v for k, v in one.items() if k not in KEYS} == {
        k: v for k, v in other.items() if k not in KEYS
    }
